import type { Validation } from '../../../../api/discovery.js'
import { parametersIn } from '../../../../x402/calls.js'
import { sendJson } from '../../../api/http.js'
import type { EndpointDraft, LiveValidation, Method } from './draft.js'

export interface Quote extends Validation {
  method: Method
}

/** Tells whether the endpoint answers with a 402 that can be listed. */
export function isLive(quote: Quote): quote is Quote & LiveValidation {
  return quote.listing !== null
}

interface Asked {
  method?: Method
  toolName?: string
  /** The JSON text of the parameters. */
  example?: string
  /** The other members of the example. */
  beside?: EndpointDraft['beside']
  signal?: AbortSignal | undefined
}

/** Statuses with which frameworks answer a call with the wrong method. */
const OTHER_METHOD = [400, 404, 405, 415, 422, 501]

/**
 * Has the service probe an endpoint and returns what its 402 quotes. Without a method it tries GET, then POST if the
 * endpoint does not know GET. Of an MCP server without the name of a tool it returns the tools. Rejects with `ArcusError`.
 */
export async function readQuote(url: string, asked: Asked): Promise<Quote> {
  const first = await validate(url, { method: 'GET', ...asked })
  const mayBePost =
    asked.method === undefined &&
    first.verdict === 'not_402' &&
    OTHER_METHOD.includes(Number(first.seen.status))
  if (!mayBePost) return first
  const second = await validate(url, { method: 'POST', signal: asked.signal })
  return second.verdict === 'live' ? second : first
}

async function validate(
  url: string,
  { method, toolName = '', example = '', beside, signal }: Asked & { method: Method },
): Promise<Quote> {
  const values = parse(example)
  const { queryParams, bodyType } = beside ?? {}
  const wanted = {
    url,
    method,
    ...(toolName === '' ? {} : { toolName }),
    ...(queryParams === undefined ? {} : { queryParams }),
    ...(bodyType === undefined ? {} : { bodyType }),
    ...(values === undefined ? {} : { [parametersIn(method)]: values }),
  }
  const answer = await sendJson<Validation>('POST', '/discovery/validate', wanted, { signal })
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
