import { type ErrorAnswer, httpCodes, type RouteFamily } from '@arcus/protocol/answers/errors'
import { isDeeperThan, MAX_JSON_DEPTH } from '@arcus/protocol/x402/json'
import { readNetwork, readPayer } from '@arcus/protocol/x402/parse-request'
import { reasons } from '@arcus/protocol/x402/reasons'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { getAddress } from 'viem'
import './operation.js'

interface RequestFaultOptions {
  statusCode: number
  /** Wire code, for `error`, `invalidReason` or `errorReason`. */
  code: string
  /** One sentence that may be shown to anybody. */
  message: string
  headers?: Readonly<Record<string, string>>
  /** The same for programs, where there is more to say; only routes of the plain family answer it. */
  details?: Readonly<Record<string, unknown>> | undefined
}

/** A request that cannot be served as it was made. Routes and hooks throw it; it is answered and not logged. */
export class RequestFault extends Error {
  override readonly name = 'RequestFault'
  readonly statusCode: number
  readonly code: string
  readonly headers: Readonly<Record<string, string>>
  readonly details: RequestFaultOptions['details']

  constructor({ statusCode, code, message, headers = {}, details }: RequestFaultOptions) {
    super(message)
    this.statusCode = statusCode
    this.code = code
    this.headers = headers
    this.details = details
  }
}

/** Returns a fault with a code of `httpCodes` and its status. */
export function httpFault(
  code: keyof typeof httpCodes,
  message: string,
  retryAfterSeconds?: number,
): RequestFault {
  const headers = retryAfter(retryAfterSeconds)
  return new RequestFault({ statusCode: httpCodes[code].status, code, message, headers })
}

/** Returns the header `Retry-After`; none where no time is given. */
export function retryAfter(seconds: number | undefined): Record<string, string> {
  return seconds === undefined ? {} : { 'retry-after': String(seconds) }
}

export function rateLimitFault(retryAfterSeconds: number): RequestFault {
  const text = `Too many requests from this address; try again in ${retryAfterSeconds} seconds.`
  return httpFault('rate_limited', text, retryAfterSeconds)
}

/** An error before it has the shape of a route family. */
interface RequestProblem {
  code: string
  /** One sentence that may be shown to anybody. */
  message: string
  details?: RequestFaultOptions['details']
}

/** Fastify's errors about bodies, with messages for the caller. Its other 4xx get the fallback. */
const bodyFaults: Record<string, string> = {
  FST_ERR_CTP_EMPTY_JSON_BODY: 'The body is empty; send a JSON object.',
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON.',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'The body must be sent as Content-Type: application/json.',
}

const encodedBody =
  'The body has a Content-Encoding, and this service reads none; send it as plain JSON.'

const internalError = {
  code: 'internal_error',
  message: 'The request met a fault on our side; try again.',
}

/** Fixed sentences, because the text of a failure belongs into the log only. */
const failures: Record<RouteFamily, RequestProblem> = {
  verify: {
    code: reasons.unexpectedVerifyError.code,
    message: 'The payment could not be checked because of a fault on our side; try again.',
  },
  settle: {
    code: reasons.unexpectedSettleError.code,
    message: 'Settling met a fault on our side; send the same payment again to learn its state.',
  },
  mcp: internalError,
  plain: internalError,
}

/** Messages for a chain that could not be read. */
const chainFailures: Partial<Record<RouteFamily, string>> = {
  verify: 'The chain could not be read, so the payment was not checked; try again in a moment.',
  settle:
    'The chain could not be read; settle the same payment again in a moment, it is paid once at most.',
}

const CLOSING = 'The service is stopping and did nothing with this request; try again.'

interface ErrorHandlingOptions {
  /** Returns whether an error means that the database cannot be reached or waits. */
  isStoreGone?: (error: unknown) => boolean
  /** Returns whether an error means that the chain could not be read. */
  isChainUnread?: (error: unknown) => boolean
}

const ANSWERS_ERRORS = 'answersErrors'

/**
 * Answers every error of every route in the shape of its family, and logs failures once. A request that still arrives
 * over a kept-alive connection while the server closes gets 503. Call it before the first route; where an outer scope has
 * it, it does nothing.
 */
export function installErrorHandling(
  app: FastifyInstance,
  { isStoreGone = () => false, isChainUnread = () => false }: ErrorHandlingOptions = {},
): void {
  if (app.hasDecorator(ANSWERS_ERRORS)) return
  app.decorate(ANSWERS_ERRORS, true)
  refuseDeepBodies(app)
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
  })
  app.addHook('onRequest', (request, _reply, done) => {
    const family = request.routeOptions.config.family ?? 'plain'
    done(isClosing ? unavailableFault(family, CLOSING) : undefined)
  })
  app.setErrorHandler((error: FastifyError, request, reply) => {
    if (isAbortedUpload(error, request)) {
      request.log.debug('caller left before the body was complete')
      return reply.code(400).send()
    }
    const family = request.routeOptions.config.family ?? 'plain'
    const isGone = isStoreGone(error)
    if (isGone) request.log.error({ err: error, route: request.routeOptions.url }, 'database gone')
    const fault = isGone ? storeFault(family) : toRequestFault(error, family, request)
    if (fault === undefined) {
      request.log.error({ err: error, route: request.routeOptions.url }, 'request failed')
      const { code, message } = failures[family]
      const shown = isChainUnread(error) ? (chainFailures[family] ?? message) : message
      return reply.code(500).send(errorAnswer(family, { code, message: shown }, request.body))
    }
    if (fault.statusCode < 500) keepConnection(request, reply)
    return reply
      .code(fault.statusCode)
      .headers(fault.headers)
      .send(errorAnswer(family, fault, request.body))
  })
}

/** Refuses bodies that nest so deep that whatever walks them by recursion would run out of stack. */
function refuseDeepBodies(app: FastifyInstance): void {
  app.addHook('preValidation', (request, _reply, done) => {
    const family = request.routeOptions.config.family ?? 'plain'
    done(isDeeperThan(MAX_JSON_DEPTH, request.body) ? deepBodyFault(family) : undefined)
  })
}

/**
 * Puts an error into the shape of the route family. `body` is the parsed body if there is one: payer and network are
 * echoed from it if they can be read (x402 v2 clients demand `network` of a settle).
 */
function errorAnswer(family: RouteFamily, problem: RequestProblem, body: unknown): ErrorAnswer {
  const { code, message, details } = problem
  if (family === 'plain') return { error: code, message, ...(details && { details }) }
  if (family === 'mcp') {
    // JSON-RPC has numbers. Those from -32000 on are for servers to choose.
    const number = code === 'invalid_request' ? -32600 : -32000
    return { jsonrpc: '2.0', id: null, error: { code: number, message, data: { error: code } } }
  }
  if (family === 'verify') {
    return { isValid: false, invalidReason: code, invalidMessage: message, ...payerOf(body) }
  }
  return {
    success: false,
    errorReason: code,
    errorMessage: message,
    transaction: '',
    network: readNetwork(body),
    ...payerOf(body),
  }
}

function payerOf(body: unknown): { payer?: string } {
  const payer = readPayer(body)
  return payer === undefined ? {} : { payer: getAddress(payer) }
}

/** Returns the body of a 503 of a service that cannot serve at the moment. */
export function unavailableAnswer(family: RouteFamily, message: string): ErrorAnswer {
  return errorAnswer(family, { code: unavailableCode(family), message }, undefined)
}

function unavailableCode(family: RouteFamily): string {
  return family === 'verify' || family === 'settle' ? failures[family].code : 'unavailable'
}

/** Returns a 503 after which the caller may try again at once. */
function unavailableFault(family: RouteFamily, message: string): RequestFault {
  const headers = { 'retry-after': '1' }
  return new RequestFault({ statusCode: 503, code: unavailableCode(family), message, headers })
}

function storeFault(family: RouteFamily): RequestFault {
  const next =
    family === 'settle' ? 'send the same payment again to learn its state' : 'try again in a moment'
  const problem = 'The database of this service does not answer in time'
  return unavailableFault(family, `${problem}; ${next}.`)
}

function toRequestFault(
  error: FastifyError,
  family: RouteFamily,
  request: FastifyRequest,
): RequestFault | undefined {
  if (error instanceof RequestFault) return error
  // Only Fastify's own errors are about the request: a node's HTTP error can carry a 4xx status too.
  const { code, statusCode = 500 } = error
  if (typeof code !== 'string' || !code.startsWith('FST_') || statusCode >= 500) return undefined
  if (statusCode === 413) {
    return new RequestFault({
      statusCode: reasons.bodyTooLarge.status,
      code: reasons.bodyTooLarge.code,
      message: `The body must be at most ${request.routeOptions.bodyLimit} bytes.`,
    })
  }
  const isSchemaFault = code === 'FST_ERR_VALIDATION'
  const unread = isEncoded(request) ? encodedBody : bodyFaults[code]
  return new RequestFault({
    statusCode: reasons.invalidPayload.status,
    code: malformedCode(family),
    message: isSchemaFault ? error.message : (unread ?? 'The request is malformed.'),
  })
}

/** Returns the refusal of a body that nests too deep, with the code of the route family. */
export function deepBodyFault(family: RouteFamily): RequestFault {
  const message = `The body must not nest deeper than ${MAX_JSON_DEPTH} levels.`
  return new RequestFault({ statusCode: 400, code: malformedCode(family), message })
}

function malformedCode(family: RouteFamily): string {
  return family === 'verify' || family === 'settle'
    ? reasons.invalidPayload.code
    : 'invalid_request'
}

function isEncoded({ headers }: FastifyRequest): boolean {
  return !/^(identity)?$/i.test(headers['content-encoding'] ?? '')
}

/** Returns whether the connection broke or timed out during the upload, so that nobody receives the answer. */
function isAbortedUpload(error: FastifyError, request: FastifyRequest): boolean {
  return error.code === 'ECONNRESET' && request.raw.readableAborted
}

/**
 * Fastify closes the connection after a bad body. Closing with bytes unread resets it, and the caller can lose the
 * answer. So the rest is read and dropped instead, for no longer than any request may take to arrive.
 */
function keepConnection(request: FastifyRequest, reply: FastifyReply): void {
  reply.removeHeader('connection')
  request.raw.resume()
}
