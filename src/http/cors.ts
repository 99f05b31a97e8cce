import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import './route-config.js'

/**
 * What is open to browsers everywhere: public reads, and writes that carry a signature. `/verify` and `/settle` are for
 * servers and stay closed, and what a session may read is for the directory's own pages.
 */
const publicPaths =
  /^\/(supported|health|openapi\.json|payments\/.*|discovery\/.*|api\/(?!session|merchants\/[^/]+\/activity).*)\/?$/

const PREFLIGHT_MAX_AGE_SECONDS = 86_400

/** Opens the public reads to any origin. Await it before the rate limit, so that a 429 can be read by a browser too. */
export async function installCors(app: FastifyInstance): Promise<void> {
  app.addHook('onRoute', (route) => {
    if (route.url !== '*' && !publicPaths.test(route.url) && !route.config?.cors) {
      route.config = { ...route.config, cors: false }
    }
  })
  // The plugin answers preflights of every path; those of closed paths are none of its business.
  app.addHook('onRequest', (request, reply, done) => {
    const isClosed = () => !publicPaths.test(request.url.split('?', 1)[0] ?? '')
    const hasOwnRules = () => Boolean(request.routeOptions.config.cors)
    if (request.method === 'OPTIONS' && isClosed() && !hasOwnRules()) reply.callNotFound()
    else done()
  })
  await app.register(cors, {
    origin: '*',
    methods: ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE'],
    allowedHeaders: ['content-type', 'if-none-match', 'idempotency-key'],
    exposedHeaders: ['EXTENSION-RESPONSES', 'Retry-After', 'ETag'],
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
    strictPreflight: false,
  })
}
