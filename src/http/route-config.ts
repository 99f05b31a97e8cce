import type { FastifyCorsOptions } from '@fastify/cors'

/** Which shape an error of the route has: the answers of the protocol, JSON-RPC's, or `{ error, message }`. */
export type RouteFamily = 'verify' | 'settle' | 'mcp' | 'plain'

/**
 * `counted`: each request counts and is refused past the limit. `manual`: the handler asks the limiter itself.
 * `exempt`: neither.
 */
export type RouteLimit = 'counted' | 'manual' | 'exempt'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `plain` unless said. */
    family?: RouteFamily
    /** `counted` unless said, so that a new route is never forgotten. */
    limit?: RouteLimit
    /** Set to `false` by `cors.ts` on what browsers elsewhere may not call; a route may bring rules of its own. */
    cors?: false | FastifyCorsOptions
  }
}
