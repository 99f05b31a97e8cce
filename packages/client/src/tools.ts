import { isObject, memberOf } from '../../../src/x402/json.js'
import { ArcusError } from './calls.js'
import {
  type Item,
  type PaymentPayload,
  type Reply,
  readOffer,
  type Seller,
  type SellerCall,
  send,
  urlOf,
} from './sellers.js'
import { findMessage, MCP_VERSION, requiredIn, VISIBLE } from './tool-messages.js'

/** Bytes of an answer that are read. */
const MAX_BYTES = 8 * 1_024 * 1_024

/**
 * Prepares the call of a tool: the Model Context Protocol over streamable HTTP, with the payment as x402 has it for MCP.
 * Throws `ArcusError` if the tool cannot be called so.
 */
export function createToolSeller(
  fetch: typeof globalThis.fetch,
  target: string | Item,
  call: SellerCall,
): Seller {
  const input = typeof target === 'string' ? undefined : target.metadata.input
  const name = call.toolName ?? input?.toolName
  if (name === undefined || input?.transport === 'sse') {
    const message = 'The tool is not at a server of streamable HTTP, and pay calls no other.'
    throw new ArcusError('not_payable', message)
  }
  const session = createSession(fetch, urlOf(target).href, call)
  let isOpen = false

  return {
    async ask(payment?: PaymentPayload): Promise<Reply> {
      if (!isOpen) await session.open()
      isOpen = true
      const params = { name, arguments: call.arguments ?? {} }
      const paid = payment && { _meta: { 'x402/payment': payment } }
      const { result, error } = await session.request('tools/call', { ...params, ...paid })
      return readResult(result, error)
    },
    close: () => session.close(),
  }
}

function readResult(result: unknown, error: unknown): Reply {
  if (!isObject(result)) {
    // Older servers ask by an error.
    const data = memberOf(error, 'data')
    const required = memberOf(data, 'x402') ?? data
    const offer = readOffer(required, undefined)
    const isAsking = offer.required !== undefined
    return { response: jsonOf({ error }, isAsking ? 402 : 500), isAsking, ...offer }
  }
  // A tool that succeeds may tell of the terms of others.
  const hasFailed = result.isError === true
  const settlement = memberOf(memberOf(result, '_meta'), 'x402/payment-response')
  const offer = readOffer(hasFailed ? requiredIn(result) : undefined, settlement)
  const isAsking = offer.required !== undefined
  const status = isAsking ? 402 : hasFailed ? 500 : 200
  return { response: jsonOf(result, status), isAsking, ...offer }
}

function jsonOf(value: unknown, status: number): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json' },
  })
}

/** Creates a conversation with an MCP server. */
function createSession(fetch: typeof globalThis.fetch, url: string, call: SellerCall) {
  const headers: Record<string, string> = {
    ...call.headers,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  }
  const { host } = new URL(url)
  let lastId = 0

  function post(message: object): Promise<Response> {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    return send(fetch, { url, method: 'POST', headers: { ...headers }, body }, call.signal)
  }

  async function request(method: string, params: object): Promise<Record<string, unknown>> {
    const id = ++lastId
    const response = await post({ id, method, params })
    const sessionId = response.headers.get('mcp-session-id')
    if (sessionId !== null && VISIBLE.test(sessionId)) headers['mcp-session-id'] = sessionId
    const message = await readMessage(response, id).catch((cause) => {
      if (call.signal?.aborted) throw cause
      const error = new ArcusError('unreachable', `${host} ended its answer early.`)
      error.cause = cause
      throw error
    })
    if (message !== undefined) return message
    const answered = `answered ${method} with ${response.status} and no JSON-RPC`
    const passes = response.status >= 500 || response.status === 429
    const sentence = `${host} ${answered}.`
    throw new ArcusError(passes ? 'unreachable' : 'not_mcp', sentence, response.status)
  }

  return {
    request,
    async open(): Promise<void> {
      const { result } = await request('initialize', {
        protocolVersion: MCP_VERSION,
        capabilities: {},
        clientInfo: { name: 'arcus-client', version: '1' },
      })
      const version = memberOf(result, 'protocolVersion')
      if (typeof version !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(version)) {
        throw new ArcusError('not_mcp', `${host} refused initialize.`)
      }
      headers['mcp-protocol-version'] = version
      const response = await post({ method: 'notifications/initialized' })
      await response.body?.cancel()
    },
    close(): void {
      if (headers['mcp-session-id'] === undefined) return
      // A server that keeps the session for a while longer does no harm.
      send(fetch, { url, method: 'DELETE', headers })
        .then((response) => response.body?.cancel())
        .catch(() => {})
    },
  }
}

/** Reads an answer until the message is whole: a server may leave its stream of events open after it. */
async function readMessage(
  { body, headers }: Response,
  id: number,
): Promise<Record<string, unknown> | undefined> {
  const isStream = headers.get('content-type')?.startsWith('text/event-stream')
  const decoder = new TextDecoder()
  const reader = body?.getReader()
  let text = ''
  let tail = ''
  for (let bytes = 0; bytes <= MAX_BYTES; ) {
    const chunk = await reader?.read()
    if (chunk === undefined || chunk.done) return findMessage(text + decoder.decode(), id)
    bytes += chunk.value.byteLength
    const part = decoder.decode(chunk.value, { stream: true })
    text += part
    // Only whole events are looked into, and each of them once, so that many small chunks cost no more than a large one.
    const hasEnded = isStream && /\n\n|\n\r\n|\r\r/.test(tail + part)
    tail = (tail + part).slice(-3)
    if (!hasEnded) continue
    const end = Math.max(...['\n\n', '\n\r\n', '\r\r'].map((it) => text.lastIndexOf(it)))
    const message = findMessage(text.slice(0, end), id)
    text = text.slice(end)
    if (message === undefined) continue
    await reader?.cancel()
    return message
  }
  await reader?.cancel()
  return undefined
}
