import { ArcusError } from '@arcus/client/calls'
import type { SettleResponse } from '@arcus/client/terms'
import type { MerchantEndpoint } from '@arcus/protocol/answers/listings'
import type { TryAnswer, TryInput } from '@arcus/protocol/answers/try'
import { skipToken, useQuery, useQueryClient } from '@tanstack/react-query'
import { sendJson } from '../../../api/http.js'
import { describeError } from '../../../wallet/wallet-error.js'
import {
  ANSWER_MS,
  bytesOf,
  type EndpointReply,
  type Payer,
  type ShownTerms,
  type SignedPayment,
  settlementOf,
  signPayment,
  termsOf,
} from './payment.js'

/** One try of an endpoint: the present one, or the last. */
export interface TryAttempt {
  step: 'idle' | 'asking' | 'signing' | 'paying'
  /** The reason why nothing was signed. */
  refusal?: { title: string; text: string }
  signed?: SignedPayment
  /** The answer to a whole call: after the payment, or without one where none was asked for. */
  reply?: EndpointReply
  /** Unix milliseconds of the answer to the payment. */
  repliedAt?: number
  settlement?: SettleResponse | undefined
  /** Whether the payment has reached nobody but the service, which refused to pass it on. */
  isUnsent?: boolean
}

const idle: TryAttempt = { step: 'idle' }

/**
 * Keeps the attempt of an endpoint for the life of the page, so that a payment is not forgotten when the panel is closed.
 * Returns it with the function that calls, signs once within the shown terms, and calls with the payment.
 */
export function useAttempt(called: CalledEndpoint) {
  const client = useQueryClient()
  const queryKey = ['try', called.merchantId, called.endpoint.state.id]
  const { data: attempt = idle } = useQuery<TryAttempt>({
    queryKey,
    queryFn: skipToken,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  })
  const start = async (input: TryInput, payer: () => Promise<Payer>, shown: ShownTerms) => {
    const { step } = client.getQueryData<TryAttempt>(queryKey) ?? idle
    if (step !== 'idle') return
    const set = (next: TryAttempt) => client.setQueryData(queryKey, next)
    await payOnce({ called, input, payer, shown }, set)
  }
  return [attempt, start] as const
}

interface Try {
  called: CalledEndpoint
  input: TryInput
  /** Loads the wallet with play money, or returns the visitor's. */
  payer: () => Promise<Payer>
  shown: ShownTerms
}

async function payOnce({ called, input, payer, shown }: Try, set: (next: TryAttempt) => void) {
  const refuse = (title: string, text: string) => set({ step: 'idle', refusal: { title, text } })
  set({ step: 'asking' })
  const first = await call(called, input)
  if (!first.ok)
    return refuse(
      first.wasSent ? 'The API did not answer, and nothing was signed' : 'The API was not called',
      first.message,
    )
  if (first.status !== 402) return set({ step: 'idle', reply: first })
  let payment: Awaited<ReturnType<typeof signPayment>>
  try {
    payment = await signPayment(termsOf(first), await payer(), shown, () =>
      set({ step: 'signing' }),
    )
  } catch (error) {
    const isOther = error instanceof ArcusError && error.code === 'not_payable'
    return refuse(
      'Nothing was signed, nothing was paid',
      `${describeError(error)}${isOther ? ' A program can pay this: copy the code below.' : ''}`,
    )
  }
  const { signed, header } = payment
  set({ step: 'paying', signed })
  addEventListener('beforeunload', warn)
  const reply = await call(called, input, header)
  removeEventListener('beforeunload', warn)
  const settlement = reply.ok ? settlementOf(reply) : undefined
  const isUnsent = !reply.ok && !reply.wasSent
  set({ step: 'idle', signed, reply, settlement, repliedAt: Date.now(), isUnsent })
}

/** Asks before the tab is closed or left. Browsers show words of their own. */
function warn(event: BeforeUnloadEvent): void {
  event.preventDefault()
}

/** An endpoint that is called from the console. */
interface CalledEndpoint {
  merchantId: string
  endpoint: { state: Pick<MerchantEndpoint['state'], 'id'> }
}

/** Has the service call the endpoint. Never rejects. */
async function call(
  { merchantId, endpoint }: CalledEndpoint,
  input: TryInput,
  payment?: string,
): Promise<EndpointReply> {
  const body = { merchantId, endpointId: endpoint.state.id, input, payment }
  try {
    const signal = AbortSignal.timeout(ANSWER_MS)
    const answer = await sendJson<TryAnswer>('POST', '/api/try', body, { signal })
    if (answer.outcome === 'unanswered') return { ok: false, ...answer }
    const { status, headers, missing } = answer
    return { ok: true, status, headers, bytes: bytesOf(answer.body), missing }
  } catch (error) {
    // A refusal of the service came before the call; without an answer nobody knows.
    const wasSent = !(error instanceof ArcusError && error.status > 0 && error.status < 500)
    const message = error instanceof ArcusError ? error.message : 'No answer came in time.'
    return { ok: false, message, wasSent }
  }
}
