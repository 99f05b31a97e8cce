import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { reasons } from '../x402/reasons.js'
import { errorEnvelope, type Problem } from './envelope.js'
import { RequestFault } from './request-fault.js'
import type { RouteFamily } from './route-config.js'

/** What Fastify finds wrong with a body, in words for the caller; anything else of its 4xx gets the fallback. */
const bodyFaults: Record<string, string> = {
  FST_ERR_CTP_EMPTY_JSON_BODY: 'The body is empty; send a JSON object.',
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON.',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'The body must be sent as Content-Type: application/json.',
}

const encodedBody =
  'The body has a Content-Encoding, and this service reads none; send it as plain JSON.'

/** Fixed sentences: the text of a failure stays in the log. */
const failures: Record<RouteFamily, Problem> = {
  verify: {
    code: reasons.unexpectedVerifyError.code,
    message: 'The payment could not be judged because of a fault on our side; try again.',
  },
  settle: {
    code: reasons.unexpectedSettleError.code,
    message: 'Settling met a fault on our side; send the same payment again to learn its state.',
  },
  mcp: {
    code: 'internal_error',
    message: 'The request met a fault on our side; try again.',
  },
  plain: {
    code: 'internal_error',
    message: 'The request met a fault on our side; try again.',
  },
}

/** The same for a chain that could not be read. */
const chainFailures: Partial<Record<RouteFamily, string>> = {
  verify: 'The chain could not be read, so the payment was not judged; try again in a moment.',
  settle:
    'The chain could not be read; settle the same payment again in a moment, it is paid once at most.',
}

export interface ErrorHandlingOptions {
  /** Whether an error says that the database cannot be reached. */
  isStoreGone?: (error: unknown) => boolean
  /** Whether an error says that the chain could not be read. */
  isChainUnread?: (error: unknown) => boolean
}

/**
 * Answers every error of every route in the shape of its family, and logs failures once. A request that still comes
 * over a kept-alive connection while the server closes gets 503. Call it before the first route.
 */
export function installErrorHandling(
  app: FastifyInstance,
  { isStoreGone = () => false, isChainUnread = () => false }: ErrorHandlingOptions = {},
): void {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
  })
  app.addHook('onRequest', (request, _reply, done) => {
    done(isClosing ? closingFault(request.routeOptions.config.family ?? 'plain') : undefined)
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
      const told = isChainUnread(error) ? (chainFailures[family] ?? message) : message
      return reply.code(500).send(errorEnvelope(family, { code, message: told }, request.body))
    }
    if (fault.statusCode < 500) keepConnection(request, reply)
    return reply
      .code(fault.statusCode)
      .headers(fault.headers)
      .send(errorEnvelope(family, fault, request.body))
  })
}

function closingFault(family: RouteFamily): RequestFault {
  return new RequestFault({
    statusCode: 503,
    code: family === 'verify' || family === 'settle' ? failures[family].code : 'unavailable',
    message: 'The service is stopping and did nothing with this request; try again.',
    headers: { 'retry-after': '1' },
  })
}

function storeFault(family: RouteFamily): RequestFault {
  return new RequestFault({
    statusCode: 503,
    code: family === 'plain' ? 'unavailable' : failures[family].code,
    message:
      family === 'settle'
        ? 'The database of this service cannot be reached; send the same payment again to learn its state.'
        : 'The database of this service cannot be reached; try again in a moment.',
    headers: { 'retry-after': '1' },
  })
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
    code:
      family === 'verify' || family === 'settle' ? reasons.invalidPayload.code : 'invalid_request',
    message: isSchemaFault ? error.message : (unread ?? 'The request is malformed.'),
  })
}

function isEncoded({ headers }: FastifyRequest): boolean {
  return !/^(identity)?$/i.test(headers['content-encoding'] ?? '')
}

/** The connection broke, or timed out, while the body was still coming: nobody hears the answer. */
function isAbortedUpload(error: FastifyError, request: FastifyRequest): boolean {
  return error.code === 'ECONNRESET' && request.raw.readableAborted
}

/**
 * Fastify closes the connection after a bad body. Closing with bytes unread resets it, and the caller can lose the
 * answer; so the rest is read and dropped instead, for no longer than any request may take to arrive.
 */
function keepConnection(request: FastifyRequest, reply: FastifyReply): void {
  reply.removeHeader('connection')
  request.raw.resume()
}
