import type { Validation } from '../../../../api/discovery.js'
import { sendJson } from '../../../api/http.js'
import type { Method } from './draft.js'

export interface Quote extends Validation {
  method: Method
}

/** Statuses with which frameworks answer a call with the wrong method. */
const OTHER_METHOD = [400, 404, 405, 415, 422, 501]

/**
 * Has the service probe an endpoint and returns what its 402 quotes. Without a method it tries GET, then POST if the
 * endpoint does not know GET. `example` is the JSON text of the parameters or the body. Rejects with `ArcusError`.
 */
export async function readQuote(
  url: string,
  { method, example = '' }: { method?: Method; example?: string },
): Promise<Quote> {
  const first = await validate(url, method ?? 'GET', example)
  const mayBePost =
    method === undefined &&
    first.verdict === 'not_402' &&
    OTHER_METHOD.includes(Number(first.seen.status))
  if (!mayBePost) return first
  const second = await validate(url, 'POST', '')
  return second.verdict === 'live' ? second : first
}

async function validate(url: string, method: Method, example: string): Promise<Quote> {
  const values = parse(example)
  const given =
    values === undefined ? {} : method === 'GET' ? { queryParams: values } : { body: values }
  const answer = await sendJson<Validation>('POST', '/discovery/validate', {
    url,
    method,
    ...given,
  })
  return { ...answer, method }
}

/** Returns nothing for text that is not JSON: the form reports it, and the probe goes without an example. */
function parse(text: string): unknown {
  try {
    return text.trim() === '' ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
