import type { FastifyInstance } from 'fastify'
import { WriteFault } from './write-codes.js'

/** Answers faults that have more to tell than code and sentence; the house answers everything else. */
export function answerWithDetails(app: FastifyInstance): void {
  app.setErrorHandler((error, _request, reply) => {
    if (!(error instanceof WriteFault) || error.details === undefined) throw error
    const { statusCode, headers, code, message, details } = error
    return reply.code(statusCode).headers(headers).send({ error: code, message, details })
  })
}
