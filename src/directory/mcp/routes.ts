import '../../http/operation.js'
import { parseJson } from '@arcus/protocol/x402/calls'
import { isDeeperThan, MAX_JSON_DEPTH } from '@arcus/protocol/x402/json'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { deepBodyFault, httpFault, RequestFault } from '../../http/errors.js'
import type { CatalogTools } from './tools.js'

interface McpRoutesOptions {
  tools: CatalogTools
  /** The origins whose pages may call; programs send no origin. */
  allowedOrigins: readonly string[]
}

/** Larger than any call of a tool needs. */
const MAX_BODY_BYTES = 64 * 1024
const PREFLIGHT_MAX_AGE_SECONDS = 86_400

/**
 * Serves `POST /mcp`: the Model Context Protocol over streamable HTTP, without sessions; each answer is one JSON message.
 * GET and DELETE, which are for sessions and their streams, are answered with 405 as the protocol says.
 */
export async function mcpRoutes(app: FastifyInstance, options: McpRoutesOptions): Promise<void> {
  const { tools, allowedOrigins } = options
  const cors = {
    origin: [...allowedOrigins],
    methods: ['POST'],
    allowedHeaders: ['content-type', 'accept', 'mcp-protocol-version', 'mcp-session-id'],
    exposedHeaders: ['Retry-After'],
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
  }

  // The protocol's own server parses the body and reports its faults.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))

  // A page whose own host name points at this service (DNS rebinding) must not read it through its visitor's browser.
  app.addHook('onRequest', async ({ headers: { origin } }) => {
    if (origin === undefined || allowedOrigins.includes(origin)) return
    throw new RequestFault({
      statusCode: 403,
      code: 'origin_not_allowed',
      message:
        'Pages of this origin may not call; the operator names origins in MCP_ALLOWED_ORIGINS.',
    })
  })

  app.options('/mcp', { config: { cors } }, (_request, reply) => reply.callNotFound())

  app.post<{ Body: string | undefined }>(
    '/mcp',
    { bodyLimit: MAX_BODY_BYTES, config: { cors, family: 'mcp' } },
    async (request, reply) => {
      const text = request.body ?? ''
      if (/^\s*\[/.test(text)) {
        const text = 'Send one message a request: MCP has no batches since 2025-06-18.'
        throw httpFault('invalid_request', text)
      }
      // A body that is no JSON is answered by the protocol's own server.
      if (isDeeperThan(MAX_JSON_DEPTH, parseJson(text))) throw deepBodyFault('mcp')
      // Loaded at the first call: a facilitator without agents need not hold these 25 MB.
      const { answerMessage } = await import('./server.js')
      const { ip, log } = request
      const response = await answerMessage(toWebRequest(request, text), { tools, ip, log })
      reply.header('cache-control', 'no-store')
      return reply.send(response)
    },
  )
}

function toWebRequest(request: FastifyRequest, body: string): Request {
  const headers = new Headers()
  for (const name of ['accept', 'content-type', 'mcp-protocol-version']) {
    const value = request.headers[name]
    if (typeof value === 'string') headers.set(name, value)
  }
  return new Request('http://localhost/mcp', { method: 'POST', headers, body })
}
