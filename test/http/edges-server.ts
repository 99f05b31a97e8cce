import type { FastifyInstance } from 'fastify'
import { onTestFinished } from 'vitest'
import { createLogger } from '../../src/app/logger.js'
import { installErrorHandling } from '../../src/http/errors.js'
import { installCors, installSecurityHeaders } from '../../src/http/headers.js'
import { healthRoutes } from '../../src/http/health.js'
import { installNotFound } from '../../src/http/not-found.js'
import { installRateLimit, type RateLimiter } from '../../src/http/rate-limit.js'
import { createServer, type ServerOptions } from '../../src/http/server.js'

export interface Edges {
  app: FastifyInstance
  /** `undefined` where there is no limit. */
  limiter: RateLimiter | undefined
  /** The log, parsed. */
  lines: Record<string, unknown>[]
}

export interface EdgesOptions extends Partial<ServerOptions> {
  rateLimitMax?: number
  /** Adds routes of a test's own; the limiter is there where there is a limit. */
  routes?: (app: FastifyInstance, limiter: RateLimiter) => void
}

/** The HTTP edges around routes that echo, fail or wait, so that nothing but the edges is under test; closed after it. */
export async function anEdgesServer(options: EdgesOptions = {}): Promise<Edges> {
  const { rateLimitMax = 0, routes, ...server } = options
  const lines: Record<string, unknown>[] = []
  const logger = createLogger({
    level: 'debug',
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  })
  const app = createServer({
    logger,
    bodyLimitBytes: 262_144,
    settleWaitSeconds: 30,
    trustProxy: false,
    ...server,
  })
  onTestFinished(() => app.close())
  installSecurityHeaders(app, false)
  installErrorHandling(app)
  installNotFound(app)
  await installCors(app)
  const limiter = installRateLimit(app, { max: rateLimitMax, windowSeconds: 60 })

  app.post('/verify', { config: { family: 'verify' } }, (request) => echo(request.body))
  app.post('/settle', { config: { family: 'settle', limit: 'manual' } }, (request) =>
    echo(request.body),
  )
  app.get('/supported', { config: { limit: 'exempt' } }, () => ({ kinds: [] }))
  app.get('/payments/:network/:payer/:nonce', () => ({ state: 'confirmed' }))
  app.post('/api/listings', () => ({ saved: true }))
  app.get('/api/merchants', () => ({ merchants: [] }))
  healthRoutes(app)
  routes?.(app, limiter as RateLimiter)
  return { app, limiter, lines }
}

/** A body with `fail` makes the route throw an error that carries what must not leak. */
function echo(body: unknown) {
  const fields = body as { fail?: boolean } | undefined
  if (fields?.fail === true) {
    throw Object.assign(new Error('POST https://node.example/v1/key failed at /srv/app.js'), {
      statusCode: 429,
      code: 'ECONNREFUSED',
    })
  }
  return { received: typeof body }
}
