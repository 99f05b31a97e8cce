import cors from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import './operation.js'

/** The headers of every answer, unless its route sets its own: no guessed types, no frames, no loads, no referrer. */
export const securityHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

/** One year. Browsers require that much to remember a site. */
const STRICT_TRANSPORT = 'max-age=31536000'

/** Sets the headers before anything else answers. `isSecure`: callers come over https. Call it first. */
export function installSecurityHeaders(app: FastifyInstance, isSecure: boolean): void {
  const headers = isSecure
    ? { ...securityHeaders, 'strict-transport-security': STRICT_TRANSPORT }
    : securityHeaders
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers)
    done()
  })
}

/**
 * The paths that pages of any origin may call: public reads, and writes that carry a signature. `/verify` and `/settle`
 * are for servers and stay closed, whatever the method. Reads of a session, and calls of
 * endpoints, are for the directory's own pages.
 */
const publicPaths =
  /^\/(supported|health|\.well-known\/x402|openapi\.json|payments\/.*|discovery\/.*|api\/(?!session|try|merchants\/[^/]+\/activity).*)\/?$/

const PREFLIGHT_MAX_AGE_SECONDS = 86_400
const exposedHeaders = [
  'EXTENSION-RESPONSES',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'ETag',
  'X-Request-Id',
]

/** The headers by which pages of any origin may read an answer. */
export const openHeaders = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposedHeaders.join(', '),
} as const

/** Returns whether pages of any origin may read the answers at an address. */
function isOpen(url: string): boolean {
  return publicPaths.test(url.split('?', 1)[0] ?? '')
}

/** Opens the public reads to any origin. Await it before the rate limit, so that browsers can read a 429 too. */
export async function installCors(app: FastifyInstance): Promise<void> {
  app.addHook('onRoute', (route) => {
    if (route.config?.isForwarded) return
    if (route.url !== '*' && !publicPaths.test(route.url) && !route.config?.cors) {
      route.config = { ...route.config, cors: false }
    }
  })
  const isClosed = ({ url, routeOptions: { config } }: FastifyRequest) =>
    !isOpen(url) && !config.cors && !config.isForwarded
  // The plugin answers preflights of every path, so those of closed paths must not reach it.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'OPTIONS' && isClosed(request)) reply.callNotFound()
    else done()
  })
  await app.register(cors, {
    origin: '*',
    methods: ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE'],
    allowedHeaders: ['content-type', 'if-none-match', 'idempotency-key', 'x-request-id'],
    exposedHeaders,
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
    strictPreflight: false,
  })
  // The other server says who may read its answers. This is for refusals of our own.
  app.addHook('onRequest', ({ url, routeOptions: { config } }, reply, done) => {
    if (config.isForwarded && isOpen(url)) reply.headers(openHeaders)
    done()
  })
  // A method that a closed path does not have is answered by the page of unknown paths, which is open.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404 && isClosed(request)) {
      reply.removeHeader('access-control-allow-origin')
      reply.removeHeader('access-control-expose-headers')
    }
    done()
  })
}
