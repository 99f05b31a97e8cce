import type { Validation } from '@arcus/protocol/answers/discovery'
import { type CallMethod, parametersIn } from '@arcus/protocol/x402/calls'
import { sendJson } from '../../../api/http.js'
import type { EndpointValues, LiveValidation } from './form.js'

export interface Quote extends Validation {
  method: CallMethod
}

/** Returns whether the API answers with a 402 that can be listed. */
export function isLive(quote: Quote): quote is Quote & LiveValidation {
  return quote.listing !== null
}

type Asked = Partial<Pick<EndpointValues, 'method' | 'toolName' | 'example' | 'kept'>>

/** Statuses with which frameworks answer a call with the wrong method. */
const OTHER_METHOD = [400, 404, 405, 406, 415, 422, 501]

/**
 * Has the service call an API without payment and returns what its 402 asks for. Without a method it tries GET, and if the
 * API does not know that, POST and then an MCP server, of which it returns the tools. Rejects with `ArcusError`.
 */
export async function readQuote(url: string, asked: Asked = {}): Promise<Quote> {
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
  { method, toolName = '', example = '', kept }: Asked & { method: CallMethod },
): Promise<Quote> {
  const values = parse(example)
  const { queryParams, bodyType } = kept?.example ?? {}
  const answer = await sendJson<Validation>('POST', '/discovery/validate', {
    url,
    method,
    ...(toolName === '' ? {} : { toolName }),
    ...(queryParams === undefined ? {} : { queryParams }),
    ...(bodyType === undefined ? {} : { bodyType }),
    ...(values === undefined ? {} : { [parametersIn(method)]: values }),
  })
  return { ...answer, method }
}

/** Returns nothing for text that is not JSON: the form reports it, and the check goes without an example. */
function parse(text: string): unknown {
  try {
    return text.trim() === '' ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
