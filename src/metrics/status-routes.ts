import type { FastifyInstance } from 'fastify'
import { describedAs } from '../http/route-config.js'
import type { ReadStatus } from './status.js'
import { statusOperation } from './status-operation.js'

/** `GET /api/status`: how the service stands, for people. 200 even when it is not ready: the answer says so. */
export function statusRoutes(app: FastifyInstance, readStatus: ReadStatus): void {
  app.get('/api/status', describedAs(statusOperation), async (_request, reply) =>
    reply.header('cache-control', 'no-store').send(await readStatus()),
  )
}
