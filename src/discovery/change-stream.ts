import { once } from 'node:events'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { openEventStream } from '../http/event-stream.js'
import type { CatalogAnswers } from './catalog-answers.js'

/** A silent connection gets a comment after so long, which is below what load balancers allow. */
const HEARTBEAT_SECONDS = '15'

/** Tells whether the caller wants a stream of events instead of one page. */
export function wantsStream({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/event-stream') === true
}

/**
 * Sends pages of changes as server-sent events: each is the JSON of a page under the number with which a page later goes
 * on. A caller who comes back with `Last-Event-ID` misses nothing, and one who reads slowly holds up nobody.
 */
export async function streamChanges(
  request: FastifyRequest<{ Querystring: Record<string, unknown> }>,
  reply: FastifyReply,
  { answers, signal }: { answers: CatalogAnswers; signal: AbortSignal },
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
      const text = Buffer.from(page.bytes).toString()
      const [, next = '', hasMore] = /"next":(\d+),"hasMore":(true|false)\}$/.exec(text) ?? []
      const isNew = !text.startsWith('{"x402Version":2,"changes":[]')
      const message = isNew ? `id: ${next}\nevent: changes\ndata: ${text}\n\n` : ':\n\n'
      if (!response.write(message)) await once(response, 'drain', { signal })
      query = { ...query, since: next, wait: hasMore === 'true' ? '0' : HEARTBEAT_SECONDS }
      page = await answers.changes(query, from)
    }
  } catch (error) {
    if (!signal.aborted) request.log.warn({ err: error }, 'a stream of changes ended')
  }
  response.end()
}
