import { once } from 'node:events'
import { httpCodes } from '@arcus/protocol/answers/errors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sendCached } from '../../http/cached-reply.js'
import { openEventStream } from '../../http/event-stream.js'
import { leavingOf } from '../../http/leaving.js'
import { cached, describedAs, type Operation } from '../../http/operation.js'
import type { RawQuery } from '../../http/query.js'
import type { DiscoveryBodies } from './discovery.js'

const resourcesOperation: Operation = {
  id: 'listResources',
  tag: 'Discovery',
  summary: 'Paid APIs that settle here',
  description:
    'In order of creation, so that pages stay where they are, unless `sort` says otherwise. Endpoints that failed three probes in a row, and endpoints that no probe saw live where the operator does not vouch for them, are listed only with `merchant` or `payTo`. While the catalog is read after a start, every route of discovery answers 503 with `Retry-After`.',
  answers: cached('A page.'),
  codes: [httpCodes.unavailable, httpCodes.busy],
}

const searchOperation: Operation = {
  id: 'searchResources',
  tag: 'Discovery',
  summary: 'Paid APIs that have the words, best first',
  description:
    'Endpoints with every word come first: in the title, then in tags, provider, description and URL; in each group live endpoints come before others, and then those that more payers with other purchases paid for in 30 days. Endpoints with some of the words follow.',
  answers: cached('A page.'),
  codes: [httpCodes.unavailable, httpCodes.busy],
}

const changesOperation: Operation = {
  id: 'listChanges',
  tag: 'Discovery',
  summary: 'Merchants that changed since a crawler last asked',
  description:
    'Merchants in the order in which they changed, each with all items it has now. Any other item you hold of that merchant is gone. A removed merchant has no items. Go on with `next` while `hasMore`, and ask with it again later: with `wait` the answer comes with the next change. With `Accept: text/event-stream` the pages come as server-sent events, each under its `next`, and `Last-Event-ID` goes on after it.',
  answers: cached('A page.'),
  codes: [httpCodes.unavailable, httpCodes.busy],
}

const browseOperation: Operation = {
  id: 'browseEndpoints',
  tag: 'Discovery',
  summary: 'Endpoints as cards of the console, with the status of each',
  answers: { 200: 'A page.' },
  codes: [httpCodes.unavailable, httpCodes.busy],
}

/** Registers `GET /discovery/resources` (product, x402 v2 sec. 8), `GET /discovery/search` (bazaar extension), `GET /discovery/changes` for crawlers, and `GET /api/endpoints` for the console. */
export async function discoveryRoutes(
  app: FastifyInstance,
  { answers }: { answers: DiscoveryBodies },
): Promise<void> {
  // Closing the server would wait for these long polls.
  const leaving = leavingOf(app)
  leaving.addEventListener('abort', answers.endWaits)
  app.get<{ Querystring: RawQuery }>(
    '/discovery/resources',
    describedAs(resourcesOperation),
    async (request, reply) =>
      sendCached(request, reply, await answers.resources(request.query, request.ip)),
  )
  app.get<{ Querystring: RawQuery }>(
    '/discovery/search',
    describedAs(searchOperation),
    async (request, reply) =>
      sendCached(request, reply, await answers.search(request.query, request.ip)),
  )
  app.get<{ Querystring: RawQuery }>(
    '/discovery/changes',
    describedAs(changesOperation),
    async (request, reply) => {
      const gone = new AbortController()
      reply.raw.once('close', () => gone.abort())
      const signal = AbortSignal.any([gone.signal, leaving])
      if (wantsStream(request)) return streamChanges(request, reply, { answers, signal })
      // Caches must not answer a reader of the stream with a page.
      reply.header('vary', 'accept, accept-encoding')
      const { query, ip } = request
      const body = await answers.changes(query, { ip, signal })
      // A cache must not answer a caller who waits for what is new.
      if (query.wait === undefined) return sendCached(request, reply, body)
      reply.header('cache-control', 'no-store').type('application/json; charset=utf-8')
      return reply.send(Buffer.from(body.bytes))
    },
  )
  app.get<{ Querystring: RawQuery }>(
    '/api/endpoints',
    describedAs(browseOperation),
    async (request, reply) => {
      const { bytes } = await answers.browse(request.query, request.ip)
      return reply
        .header('cache-control', 'no-store')
        .type('application/json; charset=utf-8')
        .send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    },
  )
}

/** A silent connection gets a comment after so long, which is below what load balancers allow. */
const HEARTBEAT_SECONDS = '15'

/** Returns whether the caller wants a stream of events instead of one page. */
function wantsStream({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/event-stream') === true
}

/**
 * Sends pages of changes as server-sent events: each is the JSON of a page under the number with which a page later goes
 * on. A caller who comes back with `Last-Event-ID` misses nothing, and one who reads slowly holds up nobody.
 */
async function streamChanges(
  request: FastifyRequest<{ Querystring: Record<string, unknown> }>,
  reply: FastifyReply,
  { answers, signal }: { answers: DiscoveryBodies; signal: AbortSignal },
): Promise<void> {
  const from = { ip: request.ip, signal }
  const { 'last-event-id': lastId } = request.headers
  const begin = typeof lastId === 'string' && lastId !== '' ? { since: lastId } : {}
  let query: Record<string, unknown> = { ...request.query, ...begin, wait: '0' }
  // A wrong parameter is still answered with its code.
  let page = await answers.changes(query, from)
  const response = openEventStream(reply)
  try {
    while (!signal.aborted) {
      const { next, hasMore, isEmpty } = page.place
      const text = Buffer.from(page.bytes).toString()
      const message = isEmpty ? ':\n\n' : `id: ${next}\nevent: changes\ndata: ${text}\n\n`
      if (!response.write(message)) await once(response, 'drain', { signal })
      query = { ...query, since: String(next), wait: hasMore ? '0' : HEARTBEAT_SECONDS }
      page = await answers.changes(query, from)
    }
  } catch (error) {
    if (!signal.aborted) request.log.warn({ err: error }, 'a stream of changes ended')
  }
  response.end()
}
