import type { Server } from 'node:http'
import type { FastifyInstance } from 'fastify'

const controllers = new WeakMap<Server, AbortController>()

/** Returns the signal that a server closes soon. Answers that never end by themselves end then; all others are finished. */
export function leavingOf(app: FastifyInstance): AbortSignal {
  const known = controllers.get(app.server)
  if (known !== undefined) return known.signal
  const controller = new AbortController()
  controllers.set(app.server, controller)
  app.addHook('preClose', async () => controller.abort())
  return controller.signal
}

/** Ends the answers of a server that never end by themselves, and lets it serve on. */
export function leave(app: FastifyInstance): void {
  controllers.get(app.server)?.abort()
}
