import type { Address } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EndpointSearch, type RankedPlace } from '../../../../src/directory/discovery/search.js'
import type { ListingStore } from '../../../../src/directory/store/listings.js'
import { aCatalog, payTo, save, whenReady } from '../../../support/directory/a-catalog.js'

let world: Awaited<ReturnType<typeof aCatalog>>
let store: ListingStore
let sellers = 0

beforeEach(async () => {
  world = await aCatalog()
  store = world.store
  sellers = 0
})
afterEach(async () => {
  await world.catalog.stop()
  world.database.close()
})

const keyOf = (number: number): Address => `0x${number.toString(16).padStart(40, '0')}`

/** Lists endpoints of a seller of their own, who is paid at their own key. */
async function list(...endpoints: Parameters<typeof save>[2]): Promise<void> {
  const key = keyOf(++sellers)
  await save(
    store,
    { id: `seller-${sellers}`, name: `Shop ${sellers}`, owner: key, payTo: key },
    endpoints,
  )
}

async function titlesOf(search: EndpointSearch, query: string, limit = 20): Promise<string[]> {
  const titles: string[] = []
  let after: RankedPlace | undefined
  do {
    const page = search.rank({ filter: {}, query, limit, after })
    const entries = await store.entriesById(page.ids)
    titles.push(...entries.map(({ endpoint }) => endpoint.title))
    after = page.next ?? undefined
  } while (after !== undefined)
  return titles
}

const shops = [
  ['Weather forecast', 'Temperature, rain and wind of any city, hour by hour for seven days.'],
  ['Text translation', 'Translates documents between English, French, German and Portuguese.'],
  ['Image generation', 'Makes a picture from a prompt, as PNG.'],
  ['Stock prices', 'Quotes of shares on the stock exchanges of New York and London.'],
  ['Flight status', 'Departure, arrival and delays of flights by number.'],
  ['PDF to text', 'Extracts the text of a PDF document, page by page.'],
] as const
const asked = [
  ['what is the weather forecast in lisbon for tomorrow', 'Weather forecast'],
  ['i need an api that can translate a text from english to french', 'Text translation'],
  ['generate an image from a prompt please', 'Image generation'],
  ['get the stock price of a company in new york', 'Stock prices'],
  ['is my flight delayed today', 'Flight status'],
  ['how do i extract text from a pdf document', 'PDF to text'],
] as const
const little =
  'i need an api that can what is the in for to from a get of my how do please whether by check find with me give show today tomorrow on and at it you your are which where when '
const nouns =
  'weather forecast lisbon london paris berlin new york tokyo translate text english french german generate image picture prompt stock price company flight delayed email address valid extract pdf document owner name video audio speech news crypto bitcoin token wallet map route distance geocode ip domain search web page scrape summary sentiment classify convert currency exchange rate sports score music movie book recipe food restaurant hotel travel train bus jobs salary tax law patent health medical drug science'

describe('a sentence', () => {
  it('is answered by honest sellers first, whatever one text has in it', async () => {
    for (const [title, description] of shops) await list({ title, description })
    const everything = { title: 'Everything', description: (little + nouns).slice(0, 1_000) }
    await list(...Array.from({ length: 30 }, (_, i) => ({ ...everything, title: `All ${i}` })))
    const search = new EndpointSearch(await whenReady(world.catalog))
    for (const [query, title] of asked) expect((await titlesOf(search, query))[0]).toBe(title)
  })

  it('is answered in whole before in part, and in part as well', async () => {
    await list({ title: 'Sea temperature', description: 'By place.' })
    await list({ title: 'Temperature of the sea', description: 'By the hour, for each coast.' })
    for (let i = 0; i < 8; i++) await list({ title: `Tide ${i}`, description: 'By the hour.' })
    const search = new EndpointSearch(await whenReady(world.catalog))
    const query = 'sea temperature by the hour'
    expect(await titlesOf(search, query)).toEqual(['Temperature of the sea', 'Sea temperature'])
    const page = search.rank({ filter: {}, query, limit: 1, after: undefined })
    expect([page.isLoose, page.next === null]).toEqual([false, false])
    const next = search.rank({ filter: {}, query, limit: 1, after: page.next ?? undefined })
    expect([next.isLoose, next.next]).toEqual([true, null])
  })

  it('finds what its subject names however many APIs are about it, and forgives a letter', async () => {
    for (let i = 0; i < 20; i++) await list({ title: 'Sea temperature', description: 'By place.' })
    await list({ title: 'Seven-day forecast', description: 'Wind at sea, hour by hour.' })
    await list({ title: 'Fees of the last hour', description: 'Of the chain.' })
    const search = new EndpointSearch(await whenReady(world.catalog))
    for (const query of ['sea temperature by the hour', 'hourly sea temperature']) {
      const found = await titlesOf(search, query)
      expect(found.filter((title) => title === 'Sea temperature')).toHaveLength(20)
    }
    expect(await titlesOf(search, 'sevn-day forcast')).toContain('Seven-day forecast')
  })

  it('is not decided by strangers to the payee, who come last', async () => {
    await list({ title: 'Weather forecast', description: 'For every city.' })
    const stranger = { id: 'stranger', name: 'Weather', owner: keyOf(0xbad), payTo }
    await save(store, stranger, [
      { title: 'Weather forecast of Lisbon', description: 'For tomorrow.' },
    ])
    const search = new EndpointSearch(await whenReady(world.catalog))
    const query = 'the weather forecast of lisbon for tomorrow'
    expect(await titlesOf(search, query)).toEqual([
      'Weather forecast',
      'Weather forecast of Lisbon',
    ])
  })

  it.each([
    'wether for a city',
    'weahter for a city',
    'weatherr for a city',
    'waether in cities',
    'wezther',
  ])('finds what was meant by %s', async (query) => {
    await list({ title: 'Weather of a city', description: 'Today.' })
    await list({ title: 'Whether reports', description: 'If or not.' }, { title: 'Feather shop' })
    const search = new EndpointSearch(await whenReady(world.catalog))
    expect((await titlesOf(search, query))[0]).toBe('Weather of a city')
  })

  it.each(['xeather', 'whte', 'wthr forcst'])('takes %s for no misspelling', async (query) => {
    await list({ title: 'Weather white', description: 'Forecast.' })
    const search = new EndpointSearch(await whenReady(world.catalog))
    expect(await titlesOf(search, query)).toEqual([])
  })
})

describe('a page of results', () => {
  it('has two of a seller while others have some, and every place is there once', async () => {
    await list(...Array.from({ length: 40 }, (_, i) => ({ title: `Crowd ${i}` })))
    for (let i = 0; i < 30; i++) await list({ title: `Other crowd ${i}`, tags: ['crowd'] })
    const search = new EndpointSearch(await whenReady(world.catalog))
    const titles = await titlesOf(search, 'crowd', 7)
    expect([titles.length, new Set(titles).size]).toEqual([70, 70])
    const ofOne = (from: number, to: number) =>
      titles.slice(from, to).filter((title) => title.startsWith('Crowd')).length
    expect([ofOne(0, 20), ofOne(20, 40), ofOne(40, 70)]).toEqual([2, 8, 30])
  })

  it('goes on by rank where its last place is gone', async () => {
    for (let i = 0; i < 6; i++) await list({ title: `Place ${i}` })
    const catalogList = await whenReady(world.catalog)
    const search = new EndpointSearch(catalogList)
    const { ids, next } = search.rank({ filter: {}, query: 'place', limit: 3, after: undefined })
    await save(store, { id: 'seller-3', owner: keyOf(3), payTo: keyOf(3) }, [])
    await world.catalog.current()
    const rest = search.rank({ filter: {}, query: 'place', limit: 9, after: next ?? undefined })
    expect(rest.ids).toEqual([4, 5, 6].map((it) => it + (ids[0] ?? 0) - 1))
  })
})
