import { createParser } from 'eventsource-parser'
import { parseJson } from './calls.js'
import { isObject, memberOf } from './json.js'

/*
 * The Model Context Protocol over streamable HTTP, as a client speaks it. The buyer and the probe of the service hold the
 * same conversation, each over its own transport.
 */

const MCP_VERSION = '2025-06-18'
/** The form of a session id and of the name of a tool. */
export const VISIBLE = /^[\x21-\x7e]{1,512}$/

export type Message = Record<string, unknown>

export interface McpRequest {
  /** JSON-RPC. */
  body: string
  headers: Record<string, string>
  /** Takes each part of the answer as it comes, and says when no more is needed. Absent where no message answers. */
  isWhole?: (part: string) => boolean
  /** Longest answer, where it is not the usual one of the transport. */
  maxBytes?: number | undefined
}

/** Sends a POST. It bounds the answer, and throws where there is none. */
export type McpTransport = (request: McpRequest) => Promise<{
  status: number
  sessionId: string | null | undefined
  /** The answer so far as it was read. */
  body: string
}>

/** An answer that is none of the protocol. */
export class McpError extends Error {
  /** Status of the HTTP answer. */
  readonly status: number

  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

export interface McpConversation {
  /** Returns the message that answers, which has a result or an error. */
  request(method: string, params: object, maxBytes?: number): Promise<Message>
  /** Those of the session; `mcp-session-id` is among them if the server keeps one. */
  headers: Record<string, string>
}

/** Greets a server. Throws `McpError`, and what the transport throws. */
export async function openConversation(
  transport: McpTransport,
  clientName: string,
  given: Record<string, string> = {},
): Promise<McpConversation> {
  const headers: Record<string, string> = {
    ...given,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  }
  const write = (message: object) => JSON.stringify({ jsonrpc: '2.0', ...message })
  let lastId = 0

  async function request(method: string, params: object, maxBytes?: number): Promise<Message> {
    const id = ++lastId
    const { status, sessionId, body } = await transport({
      body: write({ id, method, params }),
      headers: { ...headers },
      isWhole: createReader(id).take,
      maxBytes,
    })
    if (typeof sessionId === 'string' && VISIBLE.test(sessionId)) {
      headers['mcp-session-id'] = sessionId
    }
    const reader = createReader(id)
    reader.take(body)
    const message = reader.end()
    if (message === undefined) {
      throw new McpError(`answered ${method} with ${status} and no JSON-RPC`, status)
    }
    return message
  }

  const { result } = await request('initialize', {
    protocolVersion: MCP_VERSION,
    capabilities: {},
    clientInfo: { name: clientName, version: '1' },
  })
  const version = memberOf(result, 'protocolVersion')
  if (typeof version !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(version)) {
    throw new McpError('refused initialize', 0)
  }
  headers['mcp-protocol-version'] = version
  await transport({ body: write({ method: 'notifications/initialized' }), headers: { ...headers } })
  return { request, headers }
}

/** Lines of a stream that are no field of server-sent events. The parser makes an error of each, at some cost. */
const MAX_STRANGE_LINES = 64

/**
 * Creates what finds the answer to a request in a body of JSON, or of server-sent events with JSON. Each event is looked
 * into once, so that a server which sends many small parts costs no more than another.
 */
function createReader(id: number) {
  let start = ''
  let isJson: boolean | undefined
  let message: Message | undefined
  let strangeLines = 0
  let isAfterReturn = false
  let isBroken = false

  function find(text: string): void {
    message ??= [parseJson(text)].flat().find((it) => isAnswer(it, id))
  }
  const parser = createParser({
    onEvent: ({ data }) => find(data),
    onError() {
      if (++strangeLines > MAX_STRANGE_LINES) throw new Error('These are no events.')
    },
  })

  function feed(part: string): void {
    // In a text with carriage returns the parser looks for the end of each line up to the end of the text.
    const rest = isAfterReturn && part.startsWith('\n') ? part.slice(1) : part
    isAfterReturn = part.endsWith('\r')
    try {
      if (!isBroken) parser.feed(rest.replace(/\r\n?/g, '\n'))
    } catch {
      isBroken = true
    }
  }

  return {
    /** Returns whether the answer has come, or cannot come any more. A body of JSON ends by itself, and a stream of events may stay open. */
    take(part: string): boolean {
      if (isJson === undefined) {
        start = part.trimStart()
        if (start !== '') isJson = /^[[{]/.test(start)
        if (isJson === false) feed(start)
      } else if (isJson) start += part
      else feed(part)
      return message !== undefined || isBroken
    },
    end(): Message | undefined {
      if (isJson === true) find(start)
      // The last event of a stream may lack its end.
      if (isJson === false) feed('\n\n')
      return message
    },
  }
}

function isAnswer(it: unknown, id: number): it is Message {
  return isObject(it) && it.id === id && ('result' in it || 'error' in it)
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
