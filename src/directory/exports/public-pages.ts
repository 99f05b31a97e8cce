import { text } from 'node:stream/consumers'
import { integerParameter } from '@arcus/protocol/answers/parameters'
import { cleanText } from '@arcus/protocol/listing/text'
import { formatAtomic } from '@arcus/protocol/x402/amounts'
import { moneyOf } from '@arcus/protocol/x402/currencies'
import type { FastifyInstance } from 'fastify'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { httpFault } from '../../http/errors.js'
import { escapeHtml, type PageHead } from '../../http/html.js'
import type { AnswerPage } from '../../http/not-found.js'
import { cached, describedAs, type Operation } from '../../http/operation.js'
import { readQuery } from '../../http/query.js'
import type { PublicTotalsReader } from '../activity/summary.js'
import type { KeptAnswers } from '../listings/kept-answers.js'
import { aboutMerchant, presentInPublic, WriteFault } from '../refusals.js'
import type { ListingReader, Merchant, StoredEndpoint } from '../store/listings.js'
import { speaksForPayTo } from '../store/ownership.js'
import { publicWarnings, shortWarnings, shownEndpoints } from '../store/published.js'

interface PagesOptions {
  store: Pick<
    ListingReader,
    | 'findMerchant'
    | 'endpointsOf'
    | 'endpointStates'
    | 'changeOf'
    | 'lastChange'
    | 'publishedIds'
    | 'publishedCount'
  >
  kept: KeptAnswers
  readTotals: PublicTotalsReader
  answerPage: AnswerPage
  /** The paths of the pages of the console that everybody may see. */
  publicPages: readonly string[]
  /** `DIRECTORY_URL`. */
  directoryUrl: string
}

type OfMerchantPage = { Params: { merchant: string } }

const badgeOperation: Operation = {
  ...aboutMerchant,
  id: 'getBadge',
  summary: 'State and paid calls of a merchant as an image for pages',
  answers: cached('SVG, one line of text.'),
}

/** Serves the page of each merchant with a head of its own, and everything else that is for search engines and other sites. */
export async function pageRoutes(app: FastifyInstance, options: PagesOptions): Promise<void> {
  const { store, kept, readTotals, answerPage, publicPages } = options
  const origin = new URL(options.directoryUrl).origin

  /** Heads of merchants, each as it was after a change of the catalog. */
  const heads = new LRUCache<string, { sequence: number; head: PageHead }>({
    maxSize: MAX_HEADS_CHARS,
    sizeCalculation: ({ head }) => JSON.stringify(head).length,
  })

  async function headOf(id: string): Promise<PageHead> {
    const sequence = await store.changeOf(id)
    const known = heads.get(id)
    if (known?.sequence === sequence) return known.head
    const merchant = presentInPublic(await store.findMerchant(id))
    const head = toHead(merchant, shownEndpoints(merchant, await store.endpointsOf(id)), origin)
    heads.set(id, { sequence, head })
    return head
  }

  app.get<OfMerchantPage>(
    '/merchants/:merchant',
    { config: { isPage: true } },
    async (request, reply) => {
      // The page itself says what is wrong. Its status is for everybody who does not run it.
      const head = await headOf(request.params.merchant).catch((error: unknown) => {
        if (error instanceof WriteFault) return error.statusCode
        request.log.warn({ err: error }, 'the head of a page could not be read')
        return 503
      })
      return answerPage(request, reply, typeof head === 'number' ? { status: head } : { head })
    },
  )

  app.get('/robots.txt', (_request, reply) =>
    reply
      .header('cache-control', 'public, max-age=3600')
      .type('text/plain; charset=utf-8')
      .send(`User-agent: *\nDisallow: /console\nSitemap: ${origin}/sitemap.xml\n`),
  )

  app.get('/sitemap.xml', { compress: false }, async (request, reply) => {
    const { page } = readQuery(sitemapQuery, request.query)
    const total = publicPages.length + (await store.publishedCount())
    const pages = Math.ceil(total / SITEMAP_URLS)
    if (page !== undefined && page > pages) {
      throw httpFault('not_found', `The sitemap has ${pages} pages.`)
    }
    const parts = () =>
      page === undefined && pages > 1
        ? sitemapIndex(origin, pages)
        : sitemap(origin, publicPages, store, page)
    return kept.send(request, reply, {
      key: `sitemap ${page}`,
      version: String(await store.lastChange()),
      type: 'application/xml; charset=utf-8',
      cacheControl: 'public, max-age=3600',
      write: () => text(parts()),
    })
  })

  app.get<OfMerchantPage>(
    '/badge/:merchant.svg',
    { compress: false, ...describedAs(badgeOperation) },
    async (request, reply) => {
      const merchant = presentInPublic(await store.findMerchant(request.params.merchant))
      const { id } = merchant
      const { settled } = (await readTotals(id)).all
      return kept.send(request, reply, {
        key: `badge ${id}`,
        version: `${await store.changeOf(id)}-${settled}`,
        type: 'image/svg+xml; charset=utf-8',
        async write() {
          const [states, endpoints] = await Promise.all([
            store.endpointStates(id),
            store.endpointsOf(id),
          ])
          const state = (['live', 'failing', 'unverified'] as const).find((it) => states[it] > 0)
          const said = [countCalls(settled), countDelivered(endpoints)]
          return drawBadge(merchant, state ?? 'unverified', said)
        },
      })
    },
  )
}

const MAX_HEADS_CHARS = 8_388_608
const MAX_OFFERS = 100
const MAX_NAME_CHARS = 60
const MAX_DESCRIPTION_CHARS = 200

function toHead(
  merchant: Merchant,
  endpoints: readonly StoredEndpoint[],
  origin: string,
): PageHead {
  const marks = shortWarnings(merchant)
  const named = cleanText(merchant.name, MAX_NAME_CHARS)
  const name = marks.length === 0 ? named : `${named} (${marks.join(', ')})`
  const titles = endpoints.map(({ title }) => title).join(', ')
  const warnings = publicWarnings(merchant).map(({ message }) => message)
  const said = merchant.description || `Paid APIs: ${titles}`
  const description = cleanText([...warnings, said].join(' '), MAX_DESCRIPTION_CHARS)
  const url = `${origin}/merchants/${encodeURIComponent(merchant.id)}`
  return {
    title: `${name} · Arcus`,
    description,
    url,
    image: `${origin}/card.png`,
    data: {
      '@context': 'https://schema.org',
      '@type': 'Service',
      name,
      description,
      url,
      // Nobody has said who provides it where the payout address is not proven.
      ...(speaksForPayTo(merchant) && { provider: { '@type': 'Organization', name } }),
      ...(warnings.length > 0 && { disambiguatingDescription: warnings.join(' ') }),
      offers: endpoints.slice(0, MAX_OFFERS).map(({ title, price, symbol, url }) => ({
        '@type': 'Offer',
        name: cleanText(title, MAX_DESCRIPTION_CHARS),
        url,
        price: formatAtomic(price),
        priceCurrency: moneyOf(symbol),
      })),
    },
  }
}

/** The most that one file may hold, by the protocol of sitemaps. */
const SITEMAP_URLS = 50_000
const SITEMAPS = 'http://www.sitemaps.org/schemas/sitemap/0.9'
const sitemapQuery = z.object({ page: integerParameter({ min: 1, max: 1_000_000 }).optional() })

async function* sitemapIndex(origin: string, pages: number): AsyncGenerator<string> {
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="${SITEMAPS}">\n`
  for (let page = 1; page <= pages; page++) {
    yield `<sitemap><loc>${origin}/sitemap.xml?page=${page}</loc></sitemap>\n`
  }
  yield '</sitemapindex>\n'
}

/** Merchants of one read. */
const IDS_AT_ONCE = 1_000

/** Writes the pages of the console and then the merchants of one page, some at a time. */
async function* sitemap(
  origin: string,
  publicPages: readonly string[],
  { publishedIds }: Pick<ListingReader, 'publishedIds'>,
  page = 1,
): AsyncGenerator<string> {
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="${SITEMAPS}">\n`
  if (page === 1)
    yield publicPages.map((path) => `<url><loc>${origin}${path}</loc></url>\n`).join('')
  const end = page * SITEMAP_URLS - publicPages.length
  for (let at = Math.max(0, end - SITEMAP_URLS); at < end; at += IDS_AT_ONCE) {
    const ids = await publishedIds(at, Math.min(IDS_AT_ONCE, end - at))
    yield ids
      .map((id) => `<url><loc>${origin}/merchants/${encodeURIComponent(id)}</loc></url>\n`)
      .join('')
    if (ids.length < IDS_AT_ONCE) break
  }
  yield '</urlset>\n'
}

const colours = { live: '#1a7f43', failing: '#b42318', unverified: '#5f6672' }
const BADGE_NAME_CHARS = 30
const CHAR_WIDTH = 7
const PADDING = 10

function countCalls(paid: number): string[] {
  return paid === 0 ? [] : [`${paid.toLocaleString('en')} paid ${paid === 1 ? 'call' : 'calls'}`]
}

/** Says what the last paid checks found; nothing where none was made. */
function countDelivered(endpoints: readonly Pick<StoredEndpoint, 'delivery'>[]): string[] {
  const checks = endpoints.flatMap(({ delivery }) => delivery?.last ?? [])
  const delivered = checks.filter((last) => last.delivered).length
  if (checks.length === 0) return []
  return [checks.length === delivered ? 'delivered' : `${delivered} of ${checks.length} delivered`]
}

/** Draws a badge: the name of the merchant, and next to it `live · 2,100 paid calls · delivered`. */
function drawBadge(
  merchant: Merchant,
  state: keyof typeof colours,
  said: readonly string[][],
): string {
  const texts = [
    cleanText(merchant.name, BADGE_NAME_CHARS),
    [...shortWarnings(merchant), state, ...said.flat()].join(' · '),
  ] as const
  const [left, right] = texts.map((text) => text.length * CHAR_WIDTH + 2 * PADDING) as [
    number,
    number,
  ]
  const label = escapeHtml(texts.join(': '))
  // The length is given, so that no font makes a text wider than its field.
  const write = (text: string, x: number) =>
    `<text x="${x + PADDING}" y="15" textLength="${text.length * CHAR_WIDTH}" lengthAdjust="spacingAndGlyphs">${escapeHtml(text)}</text>`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="22" role="img" aria-label="${label}"><title>${label}</title><rect width="${left}" height="22" fill="#2b3140"/><rect x="${left}" width="${right}" height="22" fill="${colours[state]}"/><g fill="#fff" font-family="Verdana,Geneva,sans-serif" font-size="12">${write(texts[0], 0)}${write(texts[1], left)}</g></svg>\n`
}
