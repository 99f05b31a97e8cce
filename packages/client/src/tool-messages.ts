import { isObject, memberOf } from '../../../src/x402/json.js'

/*
 * Messages of the Model Context Protocol as strangers send them. The probe of the service reads them by these rules too.
 */

/** Version of the protocol that is offered to servers. */
export const MCP_VERSION = '2025-06-18'
/** The form of a session id and of the name of a tool. */
export const VISIBLE = /^[\x21-\x7e]{1,512}$/

/** Finds the answer to a request in a body of JSON, or of server-sent events with JSON. */
export function findMessage(body: string, id: number): Record<string, unknown> | undefined {
  const texts = /^\s*[[{]/.test(body) ? [body] : eventsOf(body)
  const messages = texts.flatMap((text) => [parseJson(text)].flat())
  return messages.find((it) => isObject(it) && it.id === id && ('result' in it || 'error' in it)) as
    | Record<string, unknown>
    | undefined
}

/** Returns the data of each whole event. */
function eventsOf(body: string): string[] {
  const events = body.split(/\r\n\r\n|\n\n|\r\r/)
  return events.map((event) =>
    event
      .split(/\r\n|\n|\r/)
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice('data:'.length))
      .join('\n'),
  )
}

/** Returns what may be a PaymentRequired: the structured content of the result, or else its first text. */
export function requiredIn(result: unknown): unknown {
  const structured = memberOf(result, 'structuredContent')
  if (isObject(structured) && 'accepts' in structured) return structured
  const required = memberOf(result, 'paymentRequired')
  if (isObject(required)) return required
  const content = memberOf(result, 'content')
  const text = Array.isArray(content) ? memberOf(content[0], 'text') : undefined
  return typeof text === 'string' ? parseJson(text) : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
