import type { FastifyInstance } from 'fastify'
import type { ReadStatus } from './status.js'

/** `GET /api/status`: how the service stands, for people. 200 even when it is not ready: the answer says so. */
export function statusRoutes(app: FastifyInstance, readStatus: ReadStatus): void {
  app.get('/api/status', async (_request, reply) =>
    reply.header('cache-control', 'no-store').send(await readStatus()),
  )
}
