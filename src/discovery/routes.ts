import type { FastifyInstance } from 'fastify'
import { sendCached } from '../http/cached-reply.js'
import type { RawQuery } from '../http/query.js'
import { describedAs } from '../http/route-config.js'
import type { CatalogAnswers } from './catalog-answers.js'
import {
  browseOperation,
  changesOperation,
  resourcesOperation,
  searchOperation,
} from './operations.js'

/** `GET /discovery/resources` (product, x402 v2 sec. 8), `GET /discovery/search` (bazaar extension), `GET /discovery/changes` for crawlers, and `GET /api/endpoints` for the console. */
export async function discoveryRoutes(
  app: FastifyInstance,
  { answers }: { answers: CatalogAnswers },
): Promise<void> {
  app.get<{ Querystring: RawQuery }>(
    '/discovery/resources',
    describedAs(resourcesOperation),
    async (request, reply) => sendCached(request, reply, await answers.resources(request.query)),
  )
  app.get<{ Querystring: RawQuery }>(
    '/discovery/search',
    describedAs(searchOperation),
    async (request, reply) => sendCached(request, reply, await answers.search(request.query)),
  )
  app.get<{ Querystring: RawQuery }>(
    '/discovery/changes',
    describedAs(changesOperation),
    async (request, reply) => sendCached(request, reply, await answers.changes(request.query)),
  )
  app.get<{ Querystring: RawQuery }>(
    '/api/endpoints',
    describedAs(browseOperation),
    async (request, reply) => {
      const { bytes } = await answers.browse(request.query)
      return reply
        .header('cache-control', 'no-store')
        .type('application/json; charset=utf-8')
        .send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    },
  )
}
