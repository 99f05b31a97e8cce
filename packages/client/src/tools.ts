import { isObject, memberOf } from '@arcus/protocol/x402/json'
import {
  type McpConversation,
  McpError,
  type McpTransport,
  openConversation,
  requiredIn,
} from '@arcus/protocol/x402/mcp'
import { ArcusError } from './calls.js'
import {
  type Item,
  type PaymentPayload,
  type Seller,
  type SellerCall,
  type SellerReply,
  send,
  urlOf,
} from './sellers.js'
import { readOffer } from './terms.js'

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
  const url = urlOf(target)
  let session: McpConversation | undefined

  const transport: McpTransport = async ({ body, headers, isWhole }) => {
    const request = { url: url.href, method: 'POST', headers, body }
    const response = await send(fetch, request, call.signal)
    const { status } = response
    const sessionId = response.headers.get('mcp-session-id')
    if (isWhole === undefined) {
      await response.body?.cancel()
      return { status, sessionId, body: '' }
    }
    const text = await readBody(response, isWhole).catch((cause) => {
      if (call.signal?.aborted) throw cause
      const error = new ArcusError('unreachable', `${url.host} ended its answer early.`)
      error.cause = cause
      throw error
    })
    return { status, sessionId, body: text }
  }

  return {
    route: { url: url.href, toolName: name },
    async ask(payment?: PaymentPayload): Promise<SellerReply> {
      const params = { name, arguments: call.arguments ?? {} }
      const paid = payment && { _meta: { 'x402/payment': payment } }
      try {
        session ??= await openConversation(transport, '@arcus/client', call.headers)
        const { result, error } = await session.request('tools/call', { ...params, ...paid })
        return readResult(result, error)
      } catch (error) {
        if (!(error instanceof McpError)) throw error
        const { status } = error
        const code = status >= 500 || status === 429 ? 'unreachable' : 'not_mcp'
        throw new ArcusError(code, `${url.host} ${error.message}.`, status)
      }
    },
    close(): void {
      const headers = session?.headers
      if (headers?.['mcp-session-id'] === undefined) return
      // A server that keeps the session for a while longer does no harm.
      send(fetch, { url: url.href, method: 'DELETE', headers })
        .then((response) => response.body?.cancel())
        .catch(() => {})
    },
  }
}

function readResult(result: unknown, error: unknown): SellerReply {
  if (!isObject(result)) {
    // Older servers ask by an error.
    const data = memberOf(error, 'data')
    const required = memberOf(data, 'x402') ?? data
    const offer = readOffer(required, undefined)
    const isAsking = offer.required !== undefined
    return { response: jsonOf({ error }, isAsking ? 402 : 500), isAsking, ...offer }
  }
  // A tool that succeeds may name the terms of others.
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

/** Reads a body until the message is whole: a server may leave its stream of events open after it. */
async function readBody({ body }: Response, isWhole: (part: string) => boolean): Promise<string> {
  const decoder = new TextDecoder()
  const reader = body?.getReader()
  let text = ''
  for (let bytes = 0; bytes <= MAX_BYTES; ) {
    const chunk = await reader?.read()
    if (chunk === undefined || chunk.done) return text + decoder.decode()
    bytes += chunk.value.byteLength
    const part = decoder.decode(chunk.value, { stream: true })
    text += part
    if (!isWhole(part)) continue
    await reader?.cancel()
    return text
  }
  await reader?.cancel()
  return ''
}
