import { stripUnwelcome } from 'arcus-client/text'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sendCached, toCachedBody } from '../../http/cached-reply.js'
import { escapeHtml } from '../../http/html.js'
import type { Operation } from '../../http/operation.js'
import { cached, describedAs } from '../../http/operation.js'
import { type EventStore, type EventType, publicEventTypes } from '../../store/events.js'
import { markedName } from '../../store/listing-warnings.js'
import type { ListingReader } from '../../store/listings.js'
import { waitsForProbe } from '../../store/ownership.js'
import { aboutMerchant, presentInPublic } from '../listings/faults.js'

const MAX_ENTRIES = 50

const newEndpointsOperation: Operation = {
  id: 'getNewEndpoints',
  tag: 'Discovery',
  summary: 'The newest paid APIs as an Atom feed',
  answers: cached('The newest 50, as far as discovery shows them.', 'application/atom+xml'),
  examples: { newest: { summary: 'As it is now', status: 200 } },
}

const merchantFeedOperation: Operation = {
  ...aboutMerchant,
  id: 'getMerchantFeed',
  summary: 'The changes of a merchant as an Atom feed',
  answers: cached(
    'Saves of the listing, endpoints that fail or recover, prices that drift.',
    'application/atom+xml',
  ),
}

interface FeedRoutesOptions {
  store: Pick<ListingReader, 'findMerchant' | 'historyOf' | 'newestEntries'>
  events: Pick<EventStore, 'latest'>
  /** `DIRECTORY_URL`. */
  directoryUrl: string
}

interface Entry {
  id: string
  /** By strangers. */
  title: string
  text: string
  link: string
  /** Unix milliseconds. */
  at: number
}

type OfMerchant = { Params: { id: string } }

/** Serves what is new as Atom (RFC 4287), for readers of people. */
export async function feedRoutes(app: FastifyInstance, options: FeedRoutesOptions): Promise<void> {
  const { store, events } = options
  const base = new URL(options.directoryUrl).origin
  const pageOf = (id: string) => `${base}/merchants/${encodeURIComponent(id)}`

  app.get('/discovery/new.atom', describedAs(newEndpointsOperation), async (request, reply) => {
    const found = await store.newestEntries(MAX_ENTRIES)
    const shown = found.filter(
      ({ endpoint, merchant }) => endpoint.status === 'live' || !waitsForProbe(merchant),
    )
    const entries = shown.map(({ endpoint, merchant }) => ({
      id: `${base}/#endpoint-${endpoint.id}`,
      title: `${endpoint.title} · ${markedName(merchant)}`,
      text: `${endpoint.method} ${endpoint.url}\n${endpoint.description}`,
      link: pageOf(merchant.id),
      at: endpoint.createdAt * 1_000,
    }))
    const self = `${base}/discovery/new.atom`
    return send(request, reply, writeFeed({ self, title: 'New paid APIs', entries }))
  })

  app.get<OfMerchant>(
    '/api/merchants/:id/changes.atom',
    describedAs(merchantFeedOperation),
    async (request, reply) => {
      const merchant = presentInPublic(await store.findMerchant(request.params.id))
      const { id, revision } = merchant
      const link = pageOf(id)
      const writes = await store.historyOf(id, Math.max(0, revision - MAX_ENTRIES), MAX_ENTRIES)
      const saved = writes.map((write) => ({
        ...{ id: `${link}#revision-${write.revision}`, link, at: write.acceptedAt * 1_000 },
        title: `Revision ${write.revision}: ${write.action}`,
        text: `Signed by ${write.owner}.`,
      }))
      const told = await events.latest(id, publicEventTypes, MAX_ENTRIES)
      const seen = told.map(({ key, type, at, data }) => {
        const { title, message } = JSON.parse(data)
        return { id: `${link}#${key}`, link, at, title: `${titles[type]}: ${title}`, text: message }
      })
      const entries = [...saved, ...seen].sort((a, b) => b.at - a.at).slice(0, MAX_ENTRIES)
      const self = `${base}/api/merchants/${encodeURIComponent(id)}/changes.atom`
      return send(request, reply, writeFeed({ self, title: markedName(merchant), entries }))
    },
  )
}

const titles: Partial<Record<EventType, string>> = {
  'endpoint.failing': 'Failing',
  'endpoint.recovered': 'Live again',
  'price.drift': 'Another price than listed',
}

function send(request: FastifyRequest, reply: FastifyReply, xml: string): FastifyReply {
  return sendCached(request, reply.type('application/atom+xml; charset=utf-8'), toCachedBody(xml))
}

function writeFeed(feed: { self: string; title: string; entries: readonly Entry[] }): string {
  const { self, title, entries } = feed
  const updated = toTime(Math.max(0, ...entries.map(({ at }) => at)))
  const written = entries.map(
    (entry) => `<entry><id>${toText(entry.id)}</id><title>${toText(entry.title)}</title>
<link href="${toText(entry.link)}"/><updated>${toTime(entry.at)}</updated>
<author><name>Arcus</name></author><content type="text">${toText(entry.text)}</content></entry>`,
  )
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><id>${toText(self)}</id><title>${toText(title)}</title>
<link rel="self" href="${toText(self)}"/><updated>${updated}</updated>
${written.join('\n')}
</feed>
`
}

/** Controls and hidden characters have no place in XML, and none in what people read. */
function toText(text: string): string {
  return escapeHtml(stripUnwelcome(text))
}

function toTime(at: number): string {
  return new Date(at).toISOString()
}
