import { ArcusError } from '@arcus/client/calls'
import type { Settlement } from '@arcus/client/terms'
import type { TryInput } from '@arcus/protocol/answers/try'
import { skipToken, useQuery, useQueryClient } from '@tanstack/react-query'
import { describeError } from '../../../wallet/wallet-error.js'
import { type CalledEndpoint, callByPage, callByService } from './call.js'
import {
  type Payer,
  type Reply,
  type ShownTerms,
  type SignedPayment,
  settlementOf,
  signPayment,
  termsOf,
} from './payment.js'

/** One try of an endpoint: the present one, or the last. */
export interface Attempt {
  step: 'idle' | 'asking' | 'signing' | 'paying'
  /** The reason why nothing was signed. */
  refusal?: { title: string; text: string }
  signed?: SignedPayment
  /** The answer to a whole call: after the payment, or without one where none was asked for. */
  reply?: Reply
  /** Unix milliseconds of the answer to the payment. */
  repliedAt?: number
  settlement?: Settlement | undefined
  /** Whether the payment has reached nobody but the service, which refused to pass it on. */
  isUnsent?: boolean
}

const idle: Attempt = { step: 'idle' }

/**
 * Keeps the attempt of an endpoint for the life of the page, so that a payment is not forgotten when the panel is closed.
 * Returns it with the function that calls, signs once within the shown terms, and calls with the payment.
 */
export function useAttempt(called: CalledEndpoint) {
  const client = useQueryClient()
  const queryKey = ['try', called.merchantId, called.endpoint.state.id]
  const { data: attempt = idle } = useQuery<Attempt>({
    queryKey,
    queryFn: skipToken,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  })
  const start = async (input: TryInput, payer: () => Promise<Payer>, shown: ShownTerms) => {
    const { step } = client.getQueryData<Attempt>(queryKey) ?? idle
    if (step !== 'idle') return
    const set = (next: Attempt) => client.setQueryData(queryKey, next)
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

async function payOnce({ called, input, payer, shown }: Try, set: (next: Attempt) => void) {
  const refuse = (title: string, text: string) => set({ step: 'idle', refusal: { title, text } })
  set({ step: 'asking' })
  const first = await ask(called, input)
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
  const direct = first.by === 'page' ? await callByPage(called, input, header) : undefined
  // The same payment goes through the service where the page could not send it, or got no answer.
  const reply = direct ?? (await callByService(called, input, header))
  removeEventListener('beforeunload', warn)
  const settlement = reply.ok ? settlementOf(reply) : undefined
  const isUnsent = first.by === 'service' && !reply.ok && !reply.wasSent
  set({ step: 'idle', signed, reply, settlement, repliedAt: Date.now(), isUnsent })
}

/** Asks before the tab is closed or left. Browsers show words of their own. */
function warn(event: BeforeUnloadEvent): void {
  event.preventDefault()
}

async function ask(called: CalledEndpoint, input: TryInput): Promise<Reply> {
  const direct = await callByPage(called, input)
  // Terms in a header that the host does not expose are read through the service.
  const isReadable = direct?.status !== 402 || termsOf(direct) !== undefined
  return direct !== undefined && isReadable ? direct : callByService(called, input)
}
