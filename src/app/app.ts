import type { ConsoleSettings } from '@arcus/protocol/answers/service'
import type { FastifyInstance } from 'fastify'
import { RpcResponseError, RpcUnavailableError } from '../chain/rpc-errors.js'
import { type FacilitatorRoutesOptions, facilitatorRoutes } from '../facilitator/routes.js'
import { installOpenApi } from '../http/docs.js'
import { installErrorHandling } from '../http/errors.js'
import { installCors, installSecurityHeaders } from '../http/headers.js'
import { healthRoutes, type ReadReadiness, readinessRoutes } from '../http/health.js'
import { installNotFound } from '../http/not-found.js'
import { type CountExchange, installRateLimit } from '../http/rate-limit.js'
import { createServer, type ServerOptions } from '../http/server.js'
import { StoreUnavailableError } from '../sql/errors.js'
import { type Console, consoleSettingsRoute } from './console.js'
import {
  installFaultCount,
  type MetricsPage,
  metricsRoutes,
  type OnFault,
} from './metrics/routes.js'
import { type ReadStatus, statusRoutes } from './metrics/status.js'

export interface AppOptions {
  server: ServerOptions
  /** Public addresses, for the description of the service. */
  servers: readonly string[]
  rateLimit: { max: number; windowSeconds: number; now?: () => number }
  /** Present if callers are counted together with other processes. */
  countExchange?: CountExchange | undefined
  facilitator: Omit<FacilitatorRoutesOptions, 'limiter' | 'answerPage'>
  directory?: (app: FastifyInstance, pages: Console) => Promise<void>
  mcp?: (app: FastifyInstance) => Promise<void>
  /** Routes of the operator's own paid endpoints. */
  hosted?: ((app: FastifyInstance) => Promise<void>) | undefined
  readiness: ReadReadiness
  /** True once the process is about to stop: `/ready` says so to balancers, and serving goes on. */
  isLeaving?: () => boolean
  console: {
    pages: Console
    settings: ConsoleSettings
    readStatus: ReadStatus
  }
  /** `undefined` if traces are off. */
  tracing?: { install(app: FastifyInstance): void } | undefined
  /** `undefined` leaves `/metrics` out. */
  metrics: { render(): Promise<MetricsPage>; countFault: OnFault } | undefined
}

/** Assembles the HTTP side: edges first, then routes. Never listens. */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const app = createServer(options.server)
  options.tracing?.install(app)
  installSecurityHeaders(
    app,
    options.servers.every((url) => url.startsWith('https:')),
  )
  installErrorHandling(app, {
    isStoreGone: (error) => error instanceof StoreUnavailableError,
    isChainUnread: (error) =>
      error instanceof RpcUnavailableError || error instanceof RpcResponseError,
  })
  const { pages, settings, readStatus } = options.console
  installNotFound(app, pages.answerPage)
  await installCors(app)
  const limiter = installRateLimit(app, options.rateLimit, options.countExchange)
  installOpenApi(app, { servers: options.servers })
  healthRoutes(app)
  readinessRoutes(app, options.readiness, options.isLeaving)
  consoleSettingsRoute(app, settings)
  statusRoutes(app, readStatus)
  await pages.install(app)
  if (options.metrics !== undefined) {
    installFaultCount(app, options.metrics.countFault)
    metricsRoutes(app, options.metrics.render)
  }
  await app.register(facilitatorRoutes, {
    ...options.facilitator,
    answerPage: pages.isBuilt ? pages.answerPage : undefined,
    limiter,
  })
  const { directory, mcp, hosted } = options
  // The directory gets a scope of its own, so that its hooks do not touch payments.
  if (directory !== undefined) await app.register(async (scope) => directory(scope, pages))
  // The MCP routes have a body parser of their own.
  if (mcp !== undefined) await app.register(async (scope) => mcp(scope))
  if (hosted !== undefined) await app.register(async (scope) => hosted(scope))
  return app
}
