import type { IncomingMessage } from 'node:http'
import { isIP, isIPv4, type Socket } from 'node:net'
import {
  type ConnectionError,
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  fastify,
  LogController,
} from 'fastify'
import ipaddr from 'ipaddr.js'
import { securityHeaders } from './headers.js'

const rawHeaders = Object.entries(securityHeaders)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('')

/** The time a caller has to send a whole request. Settling comes after and does not count. */
const REQUEST_TIMEOUT_MS = 10_000
const HEADERS_TIMEOUT_MS = 5_000
/** Each takes a file descriptor and some 20 kB; the unit and the image of `deploy` allow 65,536. */
const MAX_CONNECTIONS = 10_000
/** Interval at which Node checks the two limits above (its default is 30 s). */
const TIMEOUT_CHECK_MS = 1_000
/** Above the 60 s after which common load balancers drop an idle connection, so that they close first. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000
/** The time a silent connection gets beyond the longest settle. By then the answer is sent, or the caller is gone. */
const IDLE_MARGIN_MS = 35_000
/** Longest path segment: a nonce has 66 characters. */
const MAX_PARAM_CHARS = 200

export interface ServerOptions {
  logger: FastifyBaseLogger
  bodyLimitBytes: number
  settleWaitSeconds: number
  /** A number counts the proxies in front. Callers must have no way around them. */
  trustProxy: boolean | number | readonly string[]
  /** For tests; `MAX_CONNECTIONS` otherwise. */
  maxConnections?: number
  /** For tests; `REQUEST_TIMEOUT_MS` and `HEADERS_TIMEOUT_MS` otherwise. */
  timeouts?: { requestMs: number; headersMs: number; checkMs: number }
}

/** Makes the HTTP server with its limits, without routes; `installErrorHandling` and `installNotFound` belong to it. */
export function createServer(options: ServerOptions): FastifyInstance {
  const timeouts = options.timeouts ?? {
    requestMs: REQUEST_TIMEOUT_MS,
    headersMs: HEADERS_TIMEOUT_MS,
    checkMs: TIMEOUT_CHECK_MS,
  }
  const app = fastify({
    loggerInstance: options.logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: createRequestIds(),
    childLoggerFactory: (logger, { reqId }) => createRequestLogger(logger, { requestId: reqId }),
    http: { headersTimeout: timeouts.headersMs, connectionsCheckingInterval: timeouts.checkMs },
    requestTimeout: timeouts.requestMs,
    connectionTimeout: options.settleWaitSeconds * 1_000 + IDLE_MARGIN_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    // Fastify's own 503 has no family's shape, so `installErrorHandling` answers instead.
    return503OnClosing: false,
    bodyLimit: options.bodyLimitBytes,
    // Known members are read one by one as own members and all others ignored, so there is nothing to poison and no
    // body must be searched for such names.
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
    exposeHeadRoutes: true,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAM_CHARS },
    trustProxy: toTrustProxy(options.trustProxy),
    frameworkErrors: answerBadUrl,
    clientErrorHandler: answerBrokenRequest,
  })
  // A body that is not JSON must be a 415, not a string that a route takes for one.
  app.removeContentTypeParser('text/plain')
  boundConnections(app, options.maxConnections ?? MAX_CONNECTIONS)
  if (options.trustProxy !== false) readForwardedFirst(app)
  answerRequestIds(app)
  logRequests(app)
  return app
}

/** Closes new connections at once past the bound, and idle ones to make room. */
function boundConnections({ server }: FastifyInstance, maxConnections: number): void {
  server.maxConnections = maxConnections
  server.on('drop', () => server.closeIdleConnections())
}

/** Brings `X-Forwarded-For` into one form, before anything asks for the address of the caller. */
function readForwardedFirst(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw
    const given = headers[FORWARDED_FOR]
    if (typeof given === 'string') headers[FORWARDED_FOR] = readForwarded(given).join(', ')
    done()
  })
}

/** Fastify trusts nobody if given a number, so the hops are counted here. */
function toTrustProxy(
  trust: ServerOptions['trustProxy'],
): NonNullable<FastifyServerOptions['trustProxy']> {
  if (typeof trust === 'boolean') return trust
  if (typeof trust === 'number') return (_address, hop) => hop < trust
  return [...trust]
}

/** Logs one line a request, at debug, with the route instead of the URL that the caller wrote. */
function logRequests(app: FastifyInstance): void {
  app.addHook('onResponse', (request, reply, done) => {
    // The server that answers a forwarded request logs it, with its route.
    if (request.routeOptions.config.isForwarded) return done()
    request.log.debug(
      {
        method: request.method,
        route: request.routeOptions.url ?? 'unknown',
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
      },
      'request',
    )
    done()
  })
}

/** Answers a path that cannot be decoded, or with an endless segment. */
function answerBadUrl(_error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  void reply
    .code(400)
    .headers(securityHeaders)
    .header(REQUEST_ID, request.id)
    .send({ error: 'invalid_request', message: 'The URL is malformed.' })
}

/** Answers bytes that are not HTTP, too large headers and requests that never end, below Fastify. */
function answerBrokenRequest(this: FastifyInstance, error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  this.log.debug({ code: error.code }, 'broken request')
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const [status, code, message] = brokenRequestAnswer(error.code)
  const body = JSON.stringify({ error: code, message })
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n${rawHeaders}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    // Half-closed is not closed: a caller that goes on sending would hold the connection.
    () => socket.destroy(),
  )
}

function brokenRequestAnswer(code: string): [string, string, string] {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return ['408 Request Timeout', 'request_timeout', 'The request took too long to arrive.']
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return [
      '431 Request Header Fields Too Large',
      'headers_too_large',
      'The headers are too large.',
    ]
  }
  return ['400 Bad Request', 'invalid_request', 'The request is not valid HTTP.']
}

/** The header that names a request, in both directions. */
export const REQUEST_ID = 'x-request-id'

/** An id of a caller: at most 128 visible ASCII characters, so that it can stand in a log and in a header. */
const wellFormed = /^[\x21-\x7e]{1,128}$/

/** Takes the id that a caller gave if it is well formed, and makes one that is unique within a process otherwise. */
function createRequestIds(): (request: Pick<IncomingMessage, 'headers'>) => string {
  const start = Date.now().toString(36)
  let count = 0
  return ({ headers }) => {
    const given = headers[REQUEST_ID]
    if (typeof given === 'string' && wellFormed.test(given)) return given
    return `${start}-${(++count).toString(36)}`
  }
}

/** Names the request in every answer. */
function answerRequestIds(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header(REQUEST_ID, request.id)
    done()
  })
}

/** The members of pino that a logger of a request passes lines to. */
interface Parent extends FastifyBaseLogger {
  isLevelEnabled?(level: string): boolean
}

/**
 * Makes a logger that names its request in each line. The child logger is made with the first line that is written,
 * because making one costs more than checking a body, and most requests write nothing.
 */
function createRequestLogger(parent: Parent, bindings: object): FastifyBaseLogger {
  return new RequestLogger(parent, bindings)
}

class RequestLogger implements FastifyBaseLogger {
  readonly #parent: Parent
  readonly #bindings: object
  #own: FastifyBaseLogger | undefined

  constructor(parent: Parent, bindings: object) {
    this.#parent = parent
    this.#bindings = bindings
  }

  get level(): string {
    return this.#parent.level
  }

  trace(...line: unknown[]): void {
    this.#write('trace', line)
  }

  debug(...line: unknown[]): void {
    this.#write('debug', line)
  }

  info(...line: unknown[]): void {
    this.#write('info', line)
  }

  warn(...line: unknown[]): void {
    this.#write('warn', line)
  }

  error(...line: unknown[]): void {
    this.#write('error', line)
  }

  fatal(...line: unknown[]): void {
    this.#write('fatal', line)
  }

  silent(): void {}

  child(bindings: object): FastifyBaseLogger {
    return new RequestLogger(this.#parent, { ...this.#bindings, ...bindings })
  }

  #write(level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal', line: unknown[]): void {
    if (this.#parent.isLevelEnabled?.(level) === false) return
    this.#own ??= this.#parent.child(this.#bindings)
    this.#own[level](...(line as Parameters<FastifyBaseLogger['info']>))
  }
}

export const FORWARDED_FOR = 'x-forwarded-for'

/** Reads an address as proxies write it: with a port, in brackets, with a zone, or mapped into IPv6. `undefined` if it is none. */
function readAddress(text: string): string | undefined {
  const [, bracketed, withPort] = /^\s*(?:\[([^\]]+)\](?::\d+)?|([\d.]+):\d+)\s*$/.exec(text) ?? []
  const [address = ''] = (bracketed ?? withPort ?? text.trim()).split('%', 1)
  if (isIP(address) === 0 || (bracketed !== undefined && isIPv4(address))) return undefined
  return ipaddr.process(address).toString()
}

/**
 * Returns the addresses of an `X-Forwarded-For` in its order, each in one form. The last ones were written by the nearest
 * proxies, so what stands before a text that is no address could be anybody's word and is left out with it: the caller
 * counts as the proxy that wrote it.
 */
function readForwarded(header: string): string[] {
  const addresses: string[] = []
  for (const text of header.split(',').reverse()) {
    const address = readAddress(text)
    if (address === undefined) break
    addresses.unshift(address)
  }
  return addresses
}

/** The form of `X-Forwarded-For` as it arrives, which `/health` shows for `arcus doctor`. */
type ForwardedForm = 'none' | 'addresses' | 'unreadable'

/** Reads the form of the header as it arrived, also where no proxy is trusted. */
export function formOfForwarded({ rawHeaders }: IncomingMessage): ForwardedForm {
  const given = rawHeaders.filter(
    (_, index) => rawHeaders[index - 1]?.toLowerCase() === FORWARDED_FOR,
  )
  if (given.length === 0) return 'none'
  return readForwarded(given.join(',')).length === 0 ? 'unreadable' : 'addresses'
}
