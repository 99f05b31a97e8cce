import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createListingClient } from '@arcus/client/listing-client'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openConsole } from '../../src/app/console.js'
import {
  aListing,
  anAccount,
  anEndpoint,
  directoryUrl,
  startDirectory,
  type TestDirectory,
} from '../support/a-directory.js'

const hostile = `</script></title>"><svg onload=alert(1)>&$&'`
const owner = anAccount()
const folder = mkdtempSync(join(tmpdir(), 'arcus-pages-'))
writeFileSync(
  join(folder, 'index.html'),
  '<!doctype html><head><title>Arcus</title><script src="/main.js"></script></head><p>page</p>',
)
afterAll(() => rmSync(folder, { recursive: true }))

let directory: TestDirectory
/** Stand in for the merchants of the store where a test gives them. */
let many: string[] | undefined
/** Called before each read of a listing. */
let beforeRead = () => {}
let reads = 0

beforeEach(async () => {
  const { answerPage } = openConsole({ folder, baseUrl: directoryUrl, directoryUrl })
  directory = await startDirectory({
    answerPage,
    settings: { directoryUrl: `${directoryUrl}/` },
    listings: ({ findMerchant, publishedCount, publishedIds }) => ({
      findMerchant(id) {
        beforeRead()
        reads++
        return findMerchant(id)
      },
      publishedCount: async () => many?.length ?? publishedCount(),
      publishedIds: async (offset, limit) =>
        many?.slice(offset, offset + limit) ?? publishedIds(offset, limit),
    }),
  })
  await list('weather', {
    name: 'Weather house',
    description: 'Skies\nby the city',
    endpoints: [anEndpoint({ price: '10000' }), anEndpoint({ url: 'https://a.example/b' })],
  })
})
afterEach(async () => {
  many = undefined
  beforeRead = () => {}
  await directory.close()
})

const client = () => createListingClient({ directoryUrl, signer: owner, fetch: directory.fetch })
const list = (id: string, wish: Parameters<typeof aListing>[0]) =>
  client().save(id, aListing({ payTo: owner.address, ...wish }))

const get: TestDirectory['get'] = (...asked) => directory.get(...asked)

/** Returns the JSON-LD of a page, as a parser of HTML finds it. */
function dataOf(html: string) {
  const [, text = ''] =
    /<script type="application\/ld\+json">([\s\S]*?)<\/script>/i.exec(html) ?? []
  return JSON.parse(text)
}

describe('the page of a merchant', () => {
  it('is read from the store once for each change', async () => {
    const titleAfter = async (visits: number) => {
      reads = 0
      for (let i = 0; i < visits; i++) await get('/merchants/weather')
      return /<title>(.*)<\/title>/.exec((await get('/merchants/weather')).body)?.[1]
    }
    expect([await titleAfter(3), reads]).toEqual(['Weather house · Arcus', 1])
    await list('weather', { name: 'Weather hall' })
    expect([await titleAfter(3), reads]).toEqual(['Weather hall · Arcus', 1])
    await directory.store.setFlags('weather', { hiddenReason: 'Fraud' }, 2_000)
    expect((await get('/merchants/weather')).statusCode).not.toBe(200)
  })

  it('has a title, a description, a card and its offers, for any reader', async () => {
    for (const accept of ['text/html', '*/*', 'application/json']) {
      const { statusCode, headers, body } = await get('/merchants/weather', { accept })
      expect([accept, statusCode]).toEqual([accept, 200])
      expect(headers['content-type']).toBe('text/html; charset=utf-8')
      expect(headers['content-security-policy']).toContain("script-src 'self'")
      expect(body).toContain('<title>Weather house · Arcus</title>')
      expect(body).toContain('<meta name="description" content="Skies by the city" />')
      expect(body).toContain('<meta property="og:title" content="Weather house · Arcus" />')
      expect(body).toContain(`<link rel="canonical" href="${directoryUrl}/merchants/weather" />`)
      expect(body).toContain(`content="${directoryUrl}/card.png"`)
      expect(body).toContain('<p>page</p>')
      const { offers, ...service } = dataOf(body)
      expect(service).toMatchObject({ '@type': 'Service', name: 'Weather house' })
      expect(offers).toHaveLength(2)
      expect(offers[0]).toEqual({
        '@type': 'Offer',
        name: 'Weather',
        url: 'https://api.example.com/weather',
        price: '0.01',
        priceCurrency: 'USD',
      })
    }
  })

  it('takes no markup from a listing', async () => {
    const endpoint = anEndpoint({
      title: hostile,
      url: `https://a.example/?q=${hostile.replace(' ', '')}`,
    })
    await list('hostile', { name: hostile, description: hostile, endpoints: [endpoint] })
    const { body } = await get('/merchants/hostile')
    expect(body.match(/<script/g)).toHaveLength(2)
    expect(body.match(/<\/script>/g)).toHaveLength(2)
    expect(body.match(/<\/title>/g)).toHaveLength(1)
    expect(body).not.toContain('<svg')
    expect(body).not.toMatch(/content="[^"]*"[^ /]/)
    expect(dataOf(body)).toMatchObject({ name: hostile, offers: [{ name: hostile }] })
  })

  it('is a real 404 for an unknown id, a 410 for a deleted one, and still the page', async () => {
    await client().delete('weather')
    for (const [id, status] of [
      ['nobody', 404],
      ['%3Cscript%3E', 404],
      ['weather', 410],
    ] as const) {
      const { statusCode, headers, body } = await get(`/merchants/${id}`)
      expect([id, statusCode]).toEqual([id, status])
      expect(headers['cache-control']).toBe('no-store')
      expect(body).toContain('<title>Arcus</title>')
    }
  })

  it('is the page with a 503 while listings cannot be read', async () => {
    beforeRead = () => {
      throw new Error('no database')
    }
    const { statusCode, body } = await get('/merchants/weather')
    expect([statusCode, body.includes('<p>page</p>')]).toEqual([503, true])
    expect(body).not.toContain('no database')
  })

  it('is a 304 for a browser that has it, until the listing changes', async () => {
    const { headers } = await get('/merchants/weather')
    const known = { 'if-none-match': String(headers.etag) }
    expect((await get('/merchants/weather', known)).statusCode).toBe(304)
    await list('weather', { name: 'Weather of cities' })
    expect((await get('/merchants/weather', known)).statusCode).toBe(200)
  })
})

describe('search engines', () => {
  const fixedPages = ['/', '/payments', '/status', '/how-it-works', '/quickstart', '/operations']

  it('learn where the sitemap is, and what is not for them', async () => {
    const { body, headers } = await get('/robots.txt')
    expect(headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(body).toContain(`Sitemap: ${directoryUrl}/sitemap.xml`)
    expect(body).toContain('Disallow: /console\n')
  })

  it('find every published merchant in one file', async () => {
    await list('second', {})
    await list('gone', {})
    await client().delete('gone')
    const { body, headers } = await get('/sitemap.xml')
    expect(headers['content-type']).toBe('application/xml; charset=utf-8')
    expect([...body.matchAll(/<loc>(.*?)<\/loc>/g)].map(([, url]) => url)).toEqual(
      [...fixedPages, '/merchants/second', '/merchants/weather'].map((path) => directoryUrl + path),
    )
  })

  it('find 120,000 merchants in an index and three files, each once', async () => {
    const ids = Array.from({ length: 120_000 }, (_, i) => `m${i}`)
    many = ids
    const index = (await get('/sitemap.xml')).body
    const files = [...index.matchAll(/<loc>(.*?)<\/loc>/g)].map(([, url = '']) => url)
    expect(files).toHaveLength(3)
    const found: string[] = []
    for (const file of files) {
      const { body } = await get(file.slice(directoryUrl.length))
      const urls = [...body.matchAll(/<loc>(.*?)<\/loc>/g)].map(([, url = '']) => url)
      expect(urls.length).toBeLessThanOrEqual(50_000)
      found.push(...urls)
    }
    expect(found).toEqual([
      ...fixedPages.map((path) => directoryUrl + path),
      ...ids.map((id) => `${directoryUrl}/merchants/${id}`),
    ])
    expect((await get('/sitemap.xml?page=4')).statusCode).toBe(404)
    for (const page of ['0', '-1', 'x', '1e3', '1&page=2']) {
      expect([page, (await get(`/sitemap.xml?page=${page}`)).statusCode]).toEqual([page, 400])
    }
  })
})

describe('the badge', () => {
  it('says name, state and paid calls, and may be kept for a minute', async () => {
    const { body, headers } = await get('/badge/weather.svg')
    expect(headers['content-type']).toBe('image/svg+xml; charset=utf-8')
    expect(headers['cache-control']).toBe('public, max-age=60')
    expect(body).toContain('<title>Weather house: live</title>')
    const known = { 'if-none-match': String(headers.etag) }
    expect((await get('/badge/weather.svg', known)).statusCode).toBe(304)
    const pay = (times: number) =>
      directory.pay(...Array(times).fill({ payTo: owner.address.toLowerCase() }))
    await pay(1)
    expect((await get('/badge/weather.svg', known)).body).toContain('live · 1 paid call<')
    await pay(1_233)
    expect((await get('/badge/weather.svg')).body).toContain('live · 1,234 paid calls<')
  })

  it('takes no markup from a name, and none makes it wide', async () => {
    await list('hostile', { name: hostile })
    const { body } = await get('/badge/hostile.svg')
    expect(body.match(/<svg/g)).toHaveLength(1)
    expect(body).not.toContain('onload=alert(1)>&')
    expect(body).not.toMatch(/<script|<\/script/)
    expect(Number(/width="(\d+)"/.exec(body)?.[1])).toBeLessThan(450)
  })

  it('is a 404 for an unknown id, and for another kind of file', async () => {
    const { statusCode, body } = await get('/badge/nobody.svg')
    expect([statusCode, JSON.parse(body).error]).toEqual([404, 'merchant_not_found'])
    expect((await get('/badge/weather.png')).statusCode).toBe(404)
  })
})
