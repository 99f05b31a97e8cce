import { ArcusError } from '@arcus/client/calls'
import type { MerchantEndpoint } from '@arcus/protocol/answers/listings'
import type { TryAnswer, TryInput } from '@arcus/protocol/answers/try'
import { toHttpCall } from '@arcus/protocol/x402/calls'
import { defined } from '@arcus/protocol/x402/json'
import { sendJson } from '../../../api/http.js'
import { bytesOf, type Reply, waits } from './payment.js'

/** An endpoint that is called from the console. */
export interface CalledEndpoint {
  merchantId: string
  endpoint: Pick<MerchantEndpoint, 'url' | 'method' | 'example'> & {
    state: Pick<MerchantEndpoint['state'], 'id'>
  }
}

const MAX_BYTES = 1024 * 1024

/** Calls by the page itself; `undefined` when the host does not allow it, or there is no whole answer. */
export async function callByPage(
  { endpoint }: CalledEndpoint,
  input: TryInput,
  payment?: string,
): Promise<(Reply & { ok: true }) | undefined> {
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
export async function callByService(
  { merchantId, endpoint }: CalledEndpoint,
  input: TryInput,
  payment?: string,
): Promise<Reply> {
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
