import { sendJson } from '../../../api/http.js'
import type { Method, Validation } from '../../../api/types.js'

export interface Quote extends Validation {
  method: Method
}

/** Answers of an endpoint that is there but was called the wrong way: frameworks differ in how they say so. */
const OTHER_METHOD = [400, 404, 405, 415, 422, 501]

/**
 * Asks the service what an endpoint's 402 says. Without a method in mind a GET is tried, and a POST where the endpoint
 * does not know GET. `example` is the JSON text of the parameters or the body. Rejects with `ApiError`.
 */
export async function lookUpQuote(
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

/** What is not JSON is told by the form; a look goes without it. */
function parse(text: string): unknown {
  try {
    return text.trim() === '' ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
