import type { Validation } from '@arcus/protocol/answers/discovery'
import { type CallMethod, parametersIn, parseJson } from '@arcus/protocol/x402/calls'
import { sendJson } from '../../../api/http.js'
import type { EndpointValues, LiveValidation } from './form.js'

export interface ApiQuote extends Validation {
  method: CallMethod
}

/** Returns whether the API answers with a 402 that can be listed. */
export function isLive(quote: ApiQuote): quote is ApiQuote & LiveValidation {
  return quote.listing !== null
}

type AskedEndpoint = Partial<Pick<EndpointValues, 'method' | 'toolName' | 'example' | 'kept'>>

/** Statuses with which frameworks answer a call with the wrong method. */
const OTHER_METHOD = [400, 404, 405, 406, 415, 422, 501]

/**
 * Has the service call an API without payment and returns what its 402 asks for. Without a method it tries GET, and if the
 * API does not know that, POST and then an MCP server, of which it returns the tools. Rejects with `ArcusError`.
 */
export async function readQuote(url: string, asked: AskedEndpoint = {}): Promise<ApiQuote> {
  const first = await validate(url, { method: 'GET', ...asked })
  const isKnown =
    asked.method !== undefined ||
    first.verdict !== 'not_402' ||
    !OTHER_METHOD.includes(Number(first.seen.status))
  if (isKnown) return first
  const posted = await validate(url, { method: 'POST' })
  if (posted.verdict === 'live') return posted
  const served = await validate(url, { method: 'MCP' })
  return served.tools === undefined ? first : served
}

async function validate(
  url: string,
  { method, toolName = '', example = '', kept }: AskedEndpoint & { method: CallMethod },
): Promise<ApiQuote> {
  // The form reports text that is not JSON, and the check goes without an example.
  const values = parseJson(example)
  const { queryParams, bodyType } = kept?.example ?? {}
  const answer = await sendJson<Validation>('POST', '/discovery/validate', {
    url,
    method,
    ...(toolName !== '' && { toolName }),
    queryParams,
    bodyType,
    [parametersIn(method)]: values,
  })
  return { ...answer, method }
}
