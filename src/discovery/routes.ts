import '../http/route-config.js'
import type { FastifyInstance } from 'fastify'
import type { RawQuery } from '../http/query-parameters.js'
import { sendCached } from './cached-reply.js'
import type { CatalogAnswers } from './catalog-answers.js'

/** `GET /discovery/resources` (product, x402 v2 sec. 8), `GET /discovery/search` (bazaar extension), and `GET /api/endpoints` for the console. */
export async function discoveryRoutes(
  app: FastifyInstance,
  { answers }: { answers: CatalogAnswers },
): Promise<void> {
  app.get<{ Querystring: RawQuery }>('/discovery/resources', async (request, reply) =>
    sendCached(request, reply, await answers.resources(request.query)),
  )
  app.get<{ Querystring: RawQuery }>('/discovery/search', async (request, reply) =>
    sendCached(request, reply, await answers.search(request.query)),
  )
  app.get<{ Querystring: RawQuery }>('/api/endpoints', async (request, reply) => {
    const { bytes } = await answers.browse(request.query)
    return reply
      .header('cache-control', 'no-store')
      .type('application/json; charset=utf-8')
      .send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  })
}
