import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { costOf, routeCosts } from '@arcus/protocol/answers/costs'
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { type Dispatcher, Pool } from 'undici'
import { httpFault, RequestFault, rateLimitFault } from './errors.js'
import { openHeaders } from './headers.js'
import { chargeAnswer, chargeBody, MADE_BYTES } from './rate-limit.js'
import { FORWARDED_FOR, REQUEST_ID } from './server.js'

interface ForwarderOptions {
  /** Path of the Unix socket, or name of the pipe on Windows, at which the other server listens. */
  socketPath: string
  /** The longest body of any route there. */
  bodyLimitBytes: number
  /** The time after which an answer that does not begin, or stops, is given up. */
  timeoutMs: number
  /** Sentence of the 503 while the other server is away. */
  away: string
}

export interface Forwarder {
  /** Sends a request on, and its answer back. Both stream. */
  forward(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
  close(): Promise<void>
}

/** Each takes a connection of its own. Past this a request is refused, so that a crowd of slow callers ends somewhere. */
const MAX_FORWARDED = 5_000
/** A server that starts again is there within seconds. */
const RETRY_AFTER_SECONDS = 2

/** Headers of one connection (RFC 9110 sec. 7.6.1). */
const hopHeaders = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * Creates the way to a server of the same process. It gets every request as it came: path, headers, and body byte for byte,
 * with the caller's address and the id that this server gave it. A caller who leaves ends the request there too.
 *
 * `@fastify/reply-from` is not used: it does not end the request of a caller who leaves before the answer, repeats a GET
 * that was answered 503, and writes paths anew.
 */
export function createForwarder(options: ForwarderOptions): Forwarder {
  const { socketPath, bodyLimitBytes, timeoutMs } = options
  const pool = new Pool('http://localhost', {
    socketPath,
    connections: MAX_FORWARDED,
    pipelining: 1,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  })
  let underWay = 0

  async function forward(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (underWay >= MAX_FORWARDED) throw httpFault('busy', 'Too many requests at once.', 1)
    if (Number(request.headers['content-length'] ?? 0) > bodyLimitBytes) {
      throw bodyTooLarge(bodyLimitBytes)
    }
    const leaving = new AbortController()
    underWay++
    whenOver(request, reply, () => {
      underWay--
      if (!reply.raw.writableFinished) leaving.abort()
    })
    const answer = await pool
      .request({
        method: request.method as Dispatcher.HttpMethod,
        path: request.raw.url ?? '/',
        headers: headersFor(request),
        body: hasBody(request) ? Readable.from(boundedBody(request, bodyLimitBytes)) : null,
        signal: leaving.signal,
      })
      .catch((error) => {
        if (error instanceof RequestFault) throw error
        request.log.debug({ err: error }, 'a request could not be forwarded')
        throw httpFault('unavailable', options.away, RETRY_AFTER_SECONDS)
      })
    // The other server says by itself who may read its answers.
    for (const name of Object.keys(openHeaders)) reply.removeHeader(name)
    const { [MADE_BYTES]: madeBytes, ...headers } = endToEnd(answer.headers)
    chargeAnswer(request, Number(madeBytes ?? 0))
    reply.headers(headers)
    reply.code(answer.statusCode).send(answer.body)
    // The head goes out before the first byte of the body, so that whatever breaks off after it cuts the connection.
    if (!reply.raw.headersSent) reply.raw.flushHeaders()
    return reply
  }

  return { forward, close: () => pool.destroy() }
}

/**
 * Calls back once an answer is sent or can no longer be. Node reports nothing of an answer that waits behind another one
 * on a connection that closes.
 */
function whenOver({ raw: { socket } }: FastifyRequest, { raw }: FastifyReply, onOver: () => void) {
  function end(): void {
    raw.off('close', end)
    socket.off('close', end)
    onOver()
  }
  if (socket.destroyed) return onOver()
  // Any number may wait on one connection.
  socket.setMaxListeners(0)
  raw.once('close', end)
  socket.once('close', end)
}

function hasBody({ raw: { headers } }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Passes a body on as it arrives, and ends with a fault where it is too long. */
async function* boundedBody(request: FastifyRequest, limitBytes: number) {
  let bytes = 0
  // Leaving the loop early must not break the connection on which the answer goes back.
  const parts = request.raw.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>
  for await (const part of parts) {
    bytes += part.length
    if (bytes > limitBytes) throw bodyTooLarge(limitBytes)
    yield part
  }
  if (request.headers['content-length'] === undefined) chargeBody(request, bytes)
}

function bodyTooLarge(limitBytes: number): RequestFault {
  return httpFault('body_too_large', `The body must be at most ${limitBytes} bytes.`)
}

/** Returns the headers as they came, with what this server knows of the caller. */
function headersFor(request: FastifyRequest): IncomingHttpHeaders {
  return {
    ...endToEnd(request.raw.headers),
    [FORWARDED_FOR]: request.ip,
    'x-forwarded-host': request.host,
    'x-forwarded-proto': request.protocol,
    [REQUEST_ID]: request.id,
  }
}

/** Returns the headers that are sent on: all but those of the connection, and those that it names. */
function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = new Set((headers.connection ?? '').toLowerCase().split(/[\s,]+/))
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !hopHeaders.has(name) && !named.has(name)),
  )
}

/**
 * Makes the handler of requests that no route matches. They were counted like all others, but for preflights, which no
 * rule for other origins answered: those count here, before anything is sent on.
 */
export function createForwardRest({ forward }: Pick<Forwarder, 'forward'>): Forwarder['forward'] {
  return async (request, reply) => {
    const { limiter } = request.server
    const allowance = request.method === 'OPTIONS' ? limiter?.consume(request) : undefined
    if (allowance?.limited) throw rateLimitFault(allowance.resetSeconds)
    return forward(request, reply)
  }
}

/**
 * Forwards every path that `isOwn` does not find to be below a route of this server, and `pages`, which are forwarded in any
 * case. Call it after all other routes.
 */
export async function forwardRoutes(
  app: FastifyInstance,
  {
    forward,
    isOwn,
    pages = [],
  }: Pick<Forwarder, 'forward'> & { isOwn: (path: string) => boolean; pages?: readonly string[] },
): Promise<void> {
  await app.register(async (scope) => {
    // Bodies are not read here.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    const handler = async (request: FastifyRequest, reply: FastifyReply) =>
      isOwn(pathOf(request)) ? reply.callNotFound() : forward(request, reply)
    const config = { cors: false, isForwarded: true } as const
    // OPTIONS that no rule for other origins answers comes by `installNotFound`.
    const method: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH']
    for (const name of Object.keys(routeCosts)) {
      const { verb, url } = readRoute(name)
      if (url === '/mcp' || app.hasRoute({ method: verb, url })) continue
      const verbs: HTTPMethods[] = verb === 'GET' ? ['GET', 'HEAD'] : [verb]
      scope.route({ method: verbs, url, config: { ...config, cost: costOf(name) }, handler })
    }
    const mcp = { ...config, family: 'mcp', cost: costOf('POST /mcp') } as const
    scope.route({ method, url: '/mcp', config: mcp, handler })
    scope.route({ method, url: '/*', config, handler })
    for (const url of pages) scope.route({ method, url, config, handler: forward })
  })
}

/** Turns `GET /path/{name}` into a route as Fastify takes it. */
function readRoute(name: string): { verb: HTTPMethods; url: string } {
  const [verb = '', path = ''] = name.split(' ')
  return { verb: verb as HTTPMethods, url: path.replace(/\{(\w+)\}/g, ':$1') }
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? ''
}
