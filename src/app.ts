import type { FastifyInstance } from 'fastify'
import { RpcResponseError, RpcUnavailableError } from './chain/rpc-errors.js'
import { type FacilitatorRoutesOptions, facilitatorRoutes } from './facilitator/routes.js'
import { type ConsoleSettings, consoleSettingsRoute } from './http/console-settings.js'
import { installCors } from './http/cors.js'
import type { Dashboard } from './http/dashboard.js'
import { installErrorHandling } from './http/errors.js'
import { healthRoutes, type ReadReadiness, readinessRoutes } from './http/health.js'
import { installFaultCount, type MetricsPage, metricsRoutes, type OnFault } from './http/metrics.js'
import { installNotFound } from './http/not-found.js'
import { installOpenApi } from './http/openapi/routes.js'
import { installRateLimit } from './http/rate-limit.js'
import type { CountExchange } from './http/request-counter.js'
import { installSecurityHeaders } from './http/security-headers.js'
import { createServer, type ServerOptions } from './http/server.js'
import type { ReadStatus } from './metrics/status.js'
import { statusRoutes } from './metrics/status-routes.js'
import { StoreUnavailableError } from './store/errors.js'

export interface AppOptions {
  server: ServerOptions
  /** Public addresses, for the description of the service. */
  servers: readonly string[]
  rateLimit: { max: number; windowSeconds: number }
  /** Where callers are counted together with other processes. */
  countExchange?: CountExchange | undefined
  facilitator: Omit<FacilitatorRoutesOptions, 'limiter'>
  /** Routes of discovery and directory. */
  directory?: (app: FastifyInstance) => Promise<void>
  /** Routes of agents. */
  mcp?: (app: FastifyInstance) => Promise<void>
  /** What the operator sells himself. */
  hosted?: ((app: FastifyInstance) => Promise<void>) | undefined
  readiness: ReadReadiness
  console: { dashboard: Dashboard; settings: ConsoleSettings; readStatus: ReadStatus }
  /** `undefined` leaves `/metrics` out. */
  metrics: { render(): Promise<MetricsPage>; countFault: OnFault } | undefined
}

/** Assembles the HTTP side: edges first, then routes. Never listens. */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const app = createServer(options.server)
  installSecurityHeaders(
    app,
    options.servers.every((url) => url.startsWith('https:')),
  )
  installErrorHandling(app, {
    isStoreGone: (error) => error instanceof StoreUnavailableError,
    isChainUnread: (error) =>
      error instanceof RpcUnavailableError || error instanceof RpcResponseError,
  })
  const { dashboard, settings, readStatus } = options.console
  installNotFound(app, dashboard.answerPage)
  await installCors(app)
  const limiter = installRateLimit(app, options.rateLimit, options.countExchange)
  installOpenApi(app, { servers: options.servers })
  healthRoutes(app)
  readinessRoutes(app, options.readiness)
  consoleSettingsRoute(app, settings)
  statusRoutes(app, readStatus)
  await dashboard.install(app)
  if (options.metrics !== undefined) {
    installFaultCount(app, options.metrics.countFault)
    metricsRoutes(app, options.metrics.render)
  }
  await app.register(facilitatorRoutes, { ...options.facilitator, limiter })
  const { directory, mcp, hosted } = options
  // In a scope of its own: what it adds to every answer is no business of a payment.
  if (directory !== undefined) await app.register(async (scope) => directory(scope))
  // Its bodies are read in a way of their own.
  if (mcp !== undefined) await app.register(async (scope) => mcp(scope))
  if (hosted !== undefined) await app.register(async (scope) => hosted(scope))
  return app
}
