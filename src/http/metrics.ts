import './route-config.js'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { reasons } from '../x402/reasons.js'

/** A page of figures in the text format its content type names. */
export interface MetricsPage {
  contentType: string
  text: string
}

/** Told of a verify or settle that was answered without being judged, with the code of the answer. */
export type OnFault = (family: 'verify' | 'settle', code: string, body: unknown) => void

/** `GET /metrics` for Prometheus. Where this route is not wanted, do not call it. */
export function metricsRoutes(app: FastifyInstance, render: () => Promise<MetricsPage>): void {
  app.get('/metrics', { config: { limit: 'exempt' } }, async (_request, reply) => {
    const { contentType, text } = await render()
    return reply.header('cache-control', 'no-store').type(contentType).send(text)
  })
}

/** Tells of every verify and settle that ended in an error: a limit, a body that is none, a fault of ours. Call it before the routes. */
export function installFaultCount(app: FastifyInstance, onFault: OnFault): void {
  const thrown = new WeakSet<FastifyRequest>()
  app.addHook('onError', async (request) => {
    thrown.add(request)
  })
  app.addHook('onResponse', async (request, reply) => {
    const { family = 'plain' } = request.routeOptions.config
    if (
      family === 'plain' ||
      family === 'mcp' ||
      !thrown.has(request) ||
      request.raw.readableAborted
    )
      return
    onFault(family, codeOf(family, reply.statusCode), request.body)
  })
}

function codeOf(family: 'verify' | 'settle', status: number): string {
  if (status === reasons.rateLimited.status) return reasons.rateLimited.code
  if (status === reasons.bodyTooLarge.status) return reasons.bodyTooLarge.code
  if (status < 500) return reasons.invalidPayload.code
  return reasons[family === 'verify' ? 'unexpectedVerifyError' : 'unexpectedSettleError'].code
}
