import { ArcusError } from '@arcus/client/calls'
import type { SettleResponse } from '@arcus/client/terms'
import type { MerchantEndpoint } from '@arcus/protocol/answers/listings'
import type { TryAnswer, TryInput } from '@arcus/protocol/answers/try'
import { toHttpCall } from '@arcus/protocol/x402/calls'
import { defined } from '@arcus/protocol/x402/json'
import { skipToken, useQuery, useQueryClient } from '@tanstack/react-query'
import { sendJson } from '../../../api/http.js'
import { describeError } from '../../../wallet/wallet-error.js'
import {
  bytesOf,
  type EndpointReply,
  type Payer,
  type ShownTerms,
  type SignedPayment,
  settlementOf,
  signPayment,
  termsOf,
  waits,
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

async function ask(called: CalledEndpoint, input: TryInput): Promise<EndpointReply> {
  const direct = await callByPage(called, input)
  // Terms in a header that the host does not expose are read through the service.
  const isReadable = direct?.status !== 402 || termsOf(direct) !== undefined
  return direct !== undefined && isReadable ? direct : callByService(called, input)
}

/** An endpoint that is called from the console. */
interface CalledEndpoint {
  merchantId: string
  endpoint: Pick<MerchantEndpoint, 'url' | 'method' | 'example'> & {
    state: Pick<MerchantEndpoint['state'], 'id'>
  }
}

const MAX_BYTES = 1024 * 1024

/** Calls by the page itself; `undefined` when the host does not allow it, or there is no whole answer. */
async function callByPage(
  { endpoint }: CalledEndpoint,
  input: TryInput,
  payment?: string,
): Promise<(EndpointReply & { ok: true }) | undefined> {
  const { pathParams = {}, queryParams = {}, body, headers = {} } = input
  const { bodyType } = endpoint.example
  const filled = { pathParams, queryParams, body, ...(bodyType && { bodyType }) }
  const call = toHttpCall(endpoint, filled)
  try {
    const response = await fetch(call.url, {
      method: call.method,
      mode: 'cors',
      credentials: 'omit',
      redirect: 'error',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
      headers: {
        ...headers,
        ...defined({ 'content-type': call.contentType, 'payment-signature': payment }),
      },
      ...defined({ body: call.body }),
      signal: AbortSignal.timeout(payment === undefined ? waits.unpaid : waits.paid),
    })
    const bytes = await readBytes(response)
    return {
      ok: true,
      status: response.status,
      headers: Object.fromEntries(response.headers),
      bytes,
      by: 'page',
    }
  } catch {
    return undefined
  }
}

async function readBytes(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let length = 0
  const reader = response.body?.getReader()
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done || value === undefined) break
    length += value.length
    if (length > MAX_BYTES) {
      await reader?.cancel()
      throw new RangeError('The answer is too long.')
    }
    chunks.push(value)
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer())
}

/** Calls through the service. Never rejects. */
async function callByService(
  { merchantId, endpoint }: CalledEndpoint,
  input: TryInput,
  payment?: string,
): Promise<EndpointReply> {
  const body = { merchantId, endpointId: endpoint.state.id, input, payment }
  try {
    const signal = AbortSignal.timeout(waits.service)
    const answer = await sendJson<TryAnswer>('POST', '/api/try', body, { signal })
    if (answer.outcome === 'unanswered') return { ok: false, ...answer }
    const { status, headers } = answer
    return { ok: true, status, headers, bytes: bytesOf(answer.body), by: 'service' }
  } catch (error) {
    // A refusal of the service came before the call; without an answer nobody knows.
    const wasSent = !(error instanceof ArcusError && error.status > 0 && error.status < 500)
    const message = error instanceof ArcusError ? error.message : 'No answer came in time.'
    return { ok: false, message, wasSent }
  }
}
