import { z } from 'zod'
import { cached } from './openapi/cached-answer.js'
import type { Operation } from './openapi/operation.js'

const tag = 'Service'

export const healthOperation: Operation = {
  id: 'getHealth',
  tag,
  summary: 'Whether the process is alive',
  answers: {
    200: { description: 'It is.', schema: z.object({ status: z.literal('ok') }) },
  },
  examples: { alive: { summary: 'Alive', status: 200, answer: { status: 'ok' } } },
}

const readiness = z
  .object({
    status: z.enum(['ready', 'not_ready']),
    checks: z.array(z.object({ name: z.string(), ok: z.boolean(), detail: z.string() })),
  })
  .meta({ id: 'Readiness', description: 'Each thing without which no payment could be settled.' })

export const readyOperation: Operation = {
  id: 'getReady',
  tag,
  summary: 'Whether payments can be settled, with each reason if not',
  answers: {
    200: { description: 'They can.', schema: readiness },
    503: { description: 'They cannot.', schema: readiness },
  },
  examples: { ready: { summary: 'Now', status: 200 } },
}

export const metricsOperation: Operation = {
  id: 'getMetrics',
  tag,
  summary: 'Figures for Prometheus',
  answers: { 200: { description: 'Text exposition format.', type: 'text/plain' } },
  examples: { now: { summary: 'Now', status: 200 } },
}

export const openApiOperation: Operation = {
  id: 'getOpenApi',
  tag,
  summary: 'This description',
  answers: cached('OpenAPI 3.1.', z.looseObject({ openapi: z.literal('3.1.0') })),
  examples: { description: { summary: 'All of it', status: 200 } },
}

export const docsOperation: Operation = {
  id: 'getDocs',
  tag,
  summary: 'The same for people',
  answers: { 200: { description: 'A page without scripts.', type: 'text/html' } },
  examples: { page: { summary: 'The page', status: 200 } },
}
