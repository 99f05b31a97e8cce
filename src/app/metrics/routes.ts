import { reasons } from '@arcus/protocol/x402/reasons'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Operation } from '../../http/operation.js'

/** A page of figures in the text format that its content type names. */
export interface MetricsPage {
  contentType: string
  text: string
}

/** Receives a verify or settle that was answered without a check of the payment, with the code of the answer. */
export type OnFault = (family: 'verify' | 'settle', code: string, body: unknown) => void

export const metricsOperation: Operation = {
  id: 'getMetrics',
  tag: 'Service',
  summary: 'Figures for Prometheus',
  answers: { 200: 'Text exposition format.' },
}

/** Adds `GET /metrics` for Prometheus. Without this call there is no such route. */
export function metricsRoutes(app: FastifyInstance, render: () => Promise<MetricsPage>): void {
  const config = { limit: 'exempt', operation: metricsOperation } as const
  app.get('/metrics', { config }, async (_request, reply) => {
    const { contentType, text } = await render()
    return reply.header('cache-control', 'no-store').type(contentType).send(text)
  })
}

/** Reports every verify and settle that ended in an error: a limit, a malformed body, a fault of ours. Call it before the routes. */
export function installFaultCount(app: FastifyInstance, onFault: OnFault): void {
  const thrown = new WeakSet<FastifyRequest>()
  app.addHook('onError', async (request) => {
    thrown.add(request)
  })
  app.addHook('onResponse', async (request, reply) => {
    const { family } = request.routeOptions.config
    if (family !== 'verify' && family !== 'settle') return
    if (!thrown.has(request) || request.raw.readableAborted) return
    onFault(family, codeOf(family, reply.statusCode), request.body)
  })
}

function codeOf(family: 'verify' | 'settle', status: number): string {
  if (status === reasons.rateLimited.status) return reasons.rateLimited.code
  if (status === reasons.bodyTooLarge.status) return reasons.bodyTooLarge.code
  if (status < 500) return reasons.invalidPayload.code
  return reasons[family === 'verify' ? 'unexpectedVerifyError' : 'unexpectedSettleError'].code
}
