import fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { feedRoutes } from '../../src/directory/exports/feeds.js'
import { installErrorHandling } from '../../src/http/errors.js'
import { openSqliteStores } from '../../src/store/sqlite/stores.js'
import type { Stores } from '../../src/store/stores.js'
import { anEndpoint, asset, owner } from '../unit/directory/listed-merchants.js'
import { network, noon } from '../unit/store/store-contract.js'

let stores: Stores
let app: FastifyInstance

beforeEach(async () => {
  stores = openSqliteStores(':memory:')
  app = fastify()
  installErrorHandling(app)
  const { listings: store, events } = stores
  await app.register(feedRoutes, { store, events, directoryUrl: 'https://arcus.example' })
})
afterEach(async () => {
  await app.close()
  await stores.close()
})

async function list(id: string, endpoints: ReturnType<typeof anEndpoint>[], hides?: string) {
  const merchant = { name: id, description: '', network, asset, payTo: owner }
  const write = { merchantId: id, revision: 1, owner, acceptedAt: noon / 1_000 } as const
  const nonce = `0x${Buffer.from(id).toString('hex')}` as const
  const signed = { nonce, action: 'listing.create', message: '{}', body: '{}' } as const
  const change = { kind: 'save', merchant, endpoints } as const
  await stores.listings.applyWrite({ ...write, ...signed, signature: '0x' }, change)
  if (hides !== undefined) await stores.listings.setFlags(id, { hiddenReason: hides }, 9)
}

const titlesIn = (xml: string) => [...xml.matchAll(/<title>(.*?)<\/title>/g)].map(([, it]) => it)

describe('the feed of new endpoints', () => {
  it('has the newest first, and nothing that discovery would not show', async () => {
    await list('old', [
      anEndpoint({ title: 'A' }),
      anEndpoint({ title: 'B', url: 'https://b.example' }),
    ])
    const unseen = anEndpoint({ title: 'Unseen', url: 'https://c.example', status: 'unverified' })
    await list('new', [anEndpoint({ title: 'C & <b>\u202ed\u0007</b>' }), unseen])
    await list('spam', [anEndpoint({ title: 'Spam' })], 'spam')
    const answer = await app.inject('/discovery/new.atom')
    expect(answer.headers['content-type']).toBe('application/atom+xml; charset=utf-8')
    const [, ...titles] = titlesIn(answer.body)
    expect(titles).toEqual(['C &amp; &lt;b&gt;d&lt;/b&gt; · new', 'B · old', 'A · old'])
    expect(answer.body).toContain('<link href="https://arcus.example/merchants/new"/>')
    for (const hidden of ['\u0007', '\u202e']) expect(answer.body).not.toContain(hidden)
    const headers = { 'if-none-match': String(answer.headers.etag) }
    expect((await app.inject({ url: '/discovery/new.atom', headers })).statusCode).toBe(304)
  })
})

describe('the feed of a merchant', () => {
  it('has what was signed and what the probes found, and no payment', async () => {
    await list('weather', [anEndpoint()])
    const event = { merchantId: 'weather', at: noon + 5_000 }
    const data = JSON.stringify({ title: 'Weather', message: 'It asks for $9.' })
    await stores.events.keep(
      [
        { ...event, key: 'price.drift/1', type: 'price.drift', data },
        { ...event, key: 'payment.settled/1', type: 'payment.settled', data: '{}' },
      ],
      [],
    )
    const { body } = await app.inject('/api/merchants/weather/changes.atom')
    expect(titlesIn(body)).toEqual([
      'weather',
      'Another price than listed: Weather',
      'Revision 1: listing.create',
    ])
    expect(body).toContain('<content type="text">It asks for $9.</content>')
    expect(body).toContain(`<updated>${new Date(noon + 5_000).toISOString()}</updated>`)
    await stores.listings.setFlags('weather', { hiddenReason: 'spam' }, 9)
    expect((await app.inject('/api/merchants/weather/changes.atom')).statusCode).toBe(403)
    expect((await app.inject('/api/merchants/nobody/changes.atom')).statusCode).toBe(404)
  })
})
