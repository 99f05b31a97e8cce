import '../http/route-config.js'
import type { FastifyInstance } from 'fastify'
import { sendCached } from './cached-reply.js'
import type { CatalogAnswers } from './catalog-answers.js'
import type { RawQuery } from './query-parameters.js'

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
  // Not kept: a card tells how an endpoint stood when it was last looked at, which is no change of the catalog.
  app.get<{ Querystring: RawQuery }>('/api/endpoints', async (request, reply) =>
    reply
      .header('cache-control', 'no-store')
      .type('application/json; charset=utf-8')
      .send(await answers.browse(request.query)),
  )
}
