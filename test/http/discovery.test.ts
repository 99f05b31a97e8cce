import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startDirectory, type TestDirectory } from '../support/a-directory.js'
import { aQuote, inEuros, network, payTo, save } from '../support/directory/a-catalog.js'

let app: TestDirectory['app']
let store: TestDirectory['store']
let get: TestDirectory['get']

beforeEach(async () => {
  ;({ app, store, get } = await startDirectory())
})

afterEach(() => app.close())

/** Titles of the items of an answer. */
async function titles(query: string): Promise<string[]> {
  const response = await get(`/discovery/resources${query}`)
  expect(response.statusCode, response.body).toBe(200)
  return response
    .json()
    .items.map(({ metadata }: { metadata: { title: string } }) => metadata.title)
}

const total = async (query: string) =>
  (await get(`/discovery/resources${query}`)).json().pagination.total

describe('GET /discovery/resources', () => {
  it('pages in order of creation: twenty at once unless asked otherwise, and the total of all', async () => {
    await save(store, {}, numbered(45))
    expect(await titles('')).toEqual(numbers(0, 20))
    expect(await titles('?limit=1')).toEqual(numbers(0, 1))
    expect(await titles('?limit=100')).toEqual(numbers(0, 45))
    expect(await titles('?offset=40')).toEqual(numbers(40, 45))
    expect((await get('/discovery/resources?limit=7&offset=44')).json().pagination).toEqual({
      limit: 7,
      offset: 44,
      total: 45,
    })
    expect(await titles('?offset=45')).toEqual([])
    expect(await total(`?offset=${Number.MAX_SAFE_INTEGER}`)).toBe(45)
  })

  it.each(['101', '1000', '9007199254740993', '9'.repeat(400)])(
    'gives a crawler that asks for %s items a hundred, and says so',
    async (limit) => {
      await save(store, {}, numbered(101))
      for (const offset of [0, 100]) {
        const response = await get(`/discovery/resources?limit=${limit}&offset=${offset}`)
        expect(response.statusCode).toBe(200)
        const { items, pagination } = response.json()
        expect(items).toHaveLength(offset === 0 ? 100 : 1)
        expect(pagination).toEqual({ limit: 100, offset, total: 101 })
      }
      const found = (await get(`/discovery/search?query=x&limit=${limit}`)).json()
      expect(found.pagination.limit).toBe(100)
      for (const route of ['/discovery/changes', '/api/endpoints']) {
        expect((await get(`${route}?limit=${limit}`)).statusCode).toBe(200)
      }
    },
  )

  it('has one type of resource', async () => {
    await save(store, {}, numbered(2))
    expect(await titles('?type=http')).toEqual(numbers(0, 2))
    for (const type of ['mcp', 'HTTP', '', 'x'.repeat(300)]) {
      expect(await titles(`?type=${type}`)).toEqual([])
      expect(await total(`?type=${type}`)).toBe(0)
    }
  })

  it('searches names and descriptions of merchants and endpoints, and nothing else', async () => {
    await save(store, { id: 'a', name: 'Alpha', description: 'Bravo' }, [
      { title: 'Charlie', description: 'Delta', tags: ['echo'], url: 'https://foxtrot.example/x' },
    ])
    for (const q of ['alpha', 'BRAVO', 'charl', 'lta', 'delta alpha', '  bravo  ', '']) {
      expect(await total(`?q=${encodeURIComponent(q)}`), q).toBe(1)
    }
    for (const q of ['echo', 'foxtrot', 'alphabravo', 'alpha golf', '10000', 'exact']) {
      expect(await total(`?q=${encodeURIComponent(q)}`), q).toBe(0)
    }
  })

  it('takes % and _ in a search as they are', async () => {
    await save(store, {}, [{ title: '100% sure' }, { title: 'snake_case' }, { title: 'plain' }])
    expect(await titles('?q=%25')).toEqual(['100% sure'])
    expect(await titles('?q=_')).toEqual(['snake_case'])
  })

  it('narrows by merchant, with failing endpoints that it leaves out otherwise', async () => {
    await save(store, { id: 'a' }, [{ title: 'one' }, { title: 'two', status: 'failing' }])
    await save(store, { id: 'b' }, [{ title: 'three', status: 'unverified' }])
    expect(await titles('')).toEqual(['one', 'three'])
    expect(await titles('?q=t')).toEqual(['one', 'three'])
    expect(await titles('?merchant=a')).toEqual(['one', 'two'])
    expect(await titles('?merchant=a&q=two')).toEqual(['two'])
    expect(await titles('?merchant=c')).toEqual([])
  })

  it('shows endpoints found in payments after a live probe, and before only with merchant or payTo', async () => {
    const found = { id: `payto-${payTo}`, owner: null, name: '0x3333…3333' }
    const states = ['unverified', 'failing', 'live'] as const
    await save(
      store,
      found,
      states.map((status) => ({ title: status, status })),
    )
    expect(await titles('')).toEqual(['live'])
    expect(await titles('?q=i')).toEqual(['live'])
    expect(await titles(`?payTo=${payTo}`)).toEqual([...states])
    const { items } = (await get(`/discovery/resources?merchant=${found.id}`)).json()
    const told = items.map((item: { status?: string }) => item.status)
    expect(told).toEqual(['unverified', 'failing', undefined])
    await save(store, { ...found, owner: payTo }, [{ title: 'claimed', status: 'unverified' }])
    expect(await titles('')).toEqual(['claimed'])
  })

  it('narrows by the terms of one entry of accepts, and by extension', async () => {
    const other = '0x4444444444444444444444444444444444444444'
    await save(store, {}, [
      { title: 'one', accepts: [aQuote(), aQuote({ scheme: 'batch-settlement', payTo: other })] },
      { title: 'half', accepts: [aQuote()] },
      { title: 'two', accepts: [aQuote({ payTo: other })], extras: { extensions: { bazaar: {} } } },
    ])
    expect(await titles(`?payTo=${payTo}`)).toEqual(['one', 'half'])
    expect(await titles(`?payTo=${other.toUpperCase().replace('X', 'x')}`)).toEqual(['one', 'two'])
    expect(await titles('?scheme=batch-settlement')).toEqual(['one'])
    expect(await titles(`?scheme=exact&payTo=${other}`)).toEqual(['two'])
    expect(await titles(`?network=${network}`)).toEqual(['one', 'half', 'two'])
    expect(await titles('?network=eip155:1')).toEqual([])
    expect(await titles('?extensions=bazaar')).toEqual(['two'])
  })

  it('shows a listing in the very next answer after it is saved, changed, hidden and brought back', async () => {
    await save(store, { id: 'a' }, [{ title: 'first', url: 'https://a.example/1' }])
    expect(await titles('?q=first')).toEqual(['first'])
    await save(store, { id: 'a' }, [{ title: 'second', url: 'https://a.example/1' }])
    expect(await titles('?q=first')).toEqual([])
    expect(await titles('?q=second')).toEqual(['second'])
    await store.setFlags('a', { hiddenReason: 'spam' }, 2_000)
    expect(await titles('')).toEqual([])
    expect(await titles('?merchant=a')).toEqual([])
    await store.setFlags('a', { hiddenReason: null }, 2_001)
    expect(await titles('')).toEqual(['second'])
    await save(store, { id: 'a' }, [])
    expect(await titles('')).toEqual([])
  })

  it.each([
    ['limit=0', 'limit must be an integer from 1 on; above 100 it counts as 100.'],
    ['limit=1.5', 'limit must be an integer from 1 on; above 100 it counts as 100.'],
    ['limit=0x10', 'limit must be an integer from 1 on; above 100 it counts as 100.'],
    ['limit=abc', 'limit must be an integer from 1 on; above 100 it counts as 100.'],
    [
      'limit=5&limit=6',
      'limit must be given once, as limit=…; it must be an integer from 1 on; above 100 it counts as 100.',
    ],
    [
      'merchant[0]=a',
      'merchant must be given once, as merchant=…; it must be at most 200 characters.',
    ],
    ['offset=-1', 'offset must be an integer from 0 to 9007199254740991.'],
    ['offset=9007199254740992', 'offset must be an integer from 0 to 9007199254740991.'],
    [`q=${'x'.repeat(201)}`, 'q must be at most 200 characters.'],
    ['q=a&q=b', 'q must be given once, as q=…; it must be at most 200 characters.'],
    ['type=http&type=http', 'type must be given once, as type=…; it must be a text.'],
    ['merchant=', 'merchant must not be empty; leave it out instead.'],
    [`merchant=${'x'.repeat(201)}`, 'merchant must be at most 200 characters.'],
    ['sort=best', 'sort must be calls or payers or price or new or lastPaid.'],
  ])('refuses %s', async (query, message) => {
    const response = await get(`/discovery/resources?${query}`)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual({ error: 'invalid_request', message })
  })

  it('accepts values just within the limits, and unknown parameters', async () => {
    for (const query of [
      'limit=1',
      'limit=100',
      'offset=0',
      `q=${'x'.repeat(200)}`,
      'utm=1&utm=2',
    ]) {
      expect((await get(`/discovery/resources?${query}`)).statusCode, query).toBe(200)
    }
  })

  it('ignores parameters that are named like members of every object', async () => {
    await save(store, {}, numbered(1))
    const query = '?__proto__=x&constructor=y&extensions=constructor'
    expect(await titles(query)).toEqual([])
    expect(await titles('?toString=1')).toEqual(numbers(0, 1))
  })
})

describe('an answer of discovery', () => {
  it('may be kept for a minute, has a tag, and is a 304 to callers with the tag', async () => {
    await save(store, {}, numbered(1))
    const { headers } = await get('/discovery/resources')
    expect(headers['cache-control']).toBe('public, max-age=60')
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    const etag = String(headers.etag)
    expect(etag).toMatch(/^W\/"[\w-]{27}"$/)
    for (const known of [etag, etag.slice(2), `"x", ${etag}`, '*']) {
      const again = await get('/discovery/resources', { 'if-none-match': known })
      expect(again.statusCode, known).toBe(304)
      expect(again.body).toBe('')
      expect(again.headers).toMatchObject({ etag, 'cache-control': 'public, max-age=60' })
    }
    for (const known of ['"x"', 'W/"x", "y"', '']) {
      const again = await get('/discovery/resources', { 'if-none-match': known })
      expect(again.statusCode, known).toBe(200)
    }
  })

  it('has another tag after a change, and the same tag after a probe with the same result', async () => {
    await save(store, { id: 'a' }, [{ url: 'https://a.example/1' }])
    const tag = async () => (await get('/discovery/resources')).headers.etag
    const first = await tag()
    const [endpoint] = await store.endpointsOf('a')
    if (endpoint === undefined) throw new Error('nothing saved')
    await store.saveProbe(endpoint.id, { ...endpoint, failures: 0 }, 5_000)
    expect(await tag()).toBe(first)
    await store.saveProbe(endpoint.id, { ...endpoint, accepts: [aQuote({ amount: '7' })] }, 6_000)
    expect(await tag()).not.toBe(first)
  })
})

describe('GET /discovery/search', () => {
  async function found(query: string): Promise<string[]> {
    const response = await get(`/discovery/search?${query}`)
    expect(response.statusCode, response.body).toBe(200)
    return response
      .json()
      .resources.map(({ metadata }: { metadata: { title: string } }) => metadata.title)
  }

  it('answers in the shape of the bazaar extension', async () => {
    await save(store, {}, [{ title: 'one' }, { title: 'one two' }])
    const first = (await get('/discovery/search?query=one&limit=1')).json()
    expect(first).toMatchObject({ x402Version: 2, partialResults: true, pagination: { limit: 1 } })
    expect(first.resources).toHaveLength(1)
    const { cursor } = first.pagination
    const rest = (await get(`/discovery/search?query=one&limit=1&cursor=${cursor}`)).json()
    expect(rest).toMatchObject({ partialResults: false, pagination: { limit: 1, cursor: null } })
    expect(rest.resources[0].metadata.title).toBe('one two')
    expect(Object.keys(rest)).toEqual(['x402Version', 'resources', 'partialResults', 'pagination'])
  })

  it('ranks titles before tags, provider, description and URL, and in each the live ones first', async () => {
    await save(store, { id: 'a', name: 'A' }, [
      { title: 'e', url: 'https://api.example.com/Sun/1' },
      { title: 'd', description: 'when the sun shines' },
      { title: 'b unverified', tags: ['sun'], status: 'unverified' },
      { title: 'sunset' },
      { title: 'b', tags: ['moon', 'Sunny'] },
      { title: 'failing sun', status: 'failing' },
      { title: 'nothing' },
    ])
    await save(store, { id: 'b', name: 'Sun House' }, [{ title: 'c' }])
    const expected = ['sunset', 'b', 'b unverified', 'c', 'd', 'e']
    expect(await found('query=sun')).toEqual(expected)
    expect(await found('query=sun%20e')).toContain('sunset')
  })

  it('needs each word, wherever it is', async () => {
    await save(store, { name: 'Sun House' }, [
      { title: 'map', description: 'of the tides' },
      { title: 'chart' },
    ])
    expect(await found('query=map%20tides%20sun')).toEqual(['map'])
    expect(await found('query=rain')).toEqual([])
    expect(await found('query=example.com/')).toEqual(['map', 'chart'])
    expect(await found('query=https://api.example.com')).toEqual(['map', 'chart'])
  })

  it('ranks by the words of a sentence where none has them all, rare ones first, and says so', async () => {
    const described = (title: string) => ({ title, description: 'For a day.' })
    await save(store, { name: 'Harbour House' }, [
      ...Array.from({ length: 8 }, (_, i) => described(`weather of place ${i}`)),
      described('weather in every city'),
      described('lighthouse keepers'),
    ])
    const sentence = encodeURIComponent('Please find me the weather in a city of lighthouses!')
    const { resources, partialResults } = (await get(`/discovery/search?query=${sentence}`)).json()
    const titles = resources.map((it: { metadata: { title: string } }) => it.metadata.title)
    // Weather is said of nine, so it counts little alone.
    expect(titles.slice(0, 2)).toEqual(['weather in every city', 'lighthouse keepers'])
    expect(titles).not.toContain('weather of place 0')
    expect(partialResults).toBe(true)
    const strict = (await get('/discovery/search?query=weather%20city')).json()
    expect([strict.resources.length, strict.partialResults]).toEqual([1, false])
    expect((await get(`/discovery/resources?q=${sentence}`)).json().pagination.total).toBe(0)
  })

  it('finds other forms of the words of a sentence, and short words only where a word begins', async () => {
    await save(
      store,
      {},
      ['Air quality', 'Broadcasts', 'Casting agency', 'An AI that translates'].map((title) => ({
        title,
      })),
    )
    const found = async (sentence: string) =>
      (await get(`/discovery/search?query=${encodeURIComponent(sentence)}`))
        .json()
        .resources.map((it: { metadata: { title: string } }) => it.metadata.title)
    expect(await found('which agencies do casts?')).toEqual(['Casting agency'])
    expect(await found('translated by an AI, please')).toEqual(['An AI that translates'])
    expect(await found('a broadcast, please')).toEqual(['Broadcasts'])
  })

  it('pages through the answer to a sentence', async () => {
    await save(store, { id: 'a' }, numbered(5))
    const page = async (cursor = '') =>
      (await get(`/discovery/search?query=which%20endpoints%20exist&limit=2${cursor}`)).json()
    const titles: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { resources, pagination, partialResults } = await page(cursor && `&cursor=${cursor}`)
      expect(partialResults).toBe(true)
      titles.push(...resources.map((it: { metadata: { title: string } }) => it.metadata.title))
      cursor = pagination.cursor
    }
    expect(titles).toEqual(numbers(0, 5))
  })

  it('finds nothing for words that say nothing, or that nobody has', async () => {
    await save(store, {}, [{ title: 'one' }])
    for (const query of ['what is it?', 'please', 'xylophones for sale', '?!']) {
      const answer = (await get(`/discovery/search?query=${encodeURIComponent(query)}`)).json()
      expect(answer).toMatchObject({ resources: [], partialResults: false })
    }
  })

  it('continues after the previous page, whatever was added meanwhile', async () => {
    await save(store, { id: 'a' }, numbered(5))
    const first = (await get('/discovery/search?query=endpoint&limit=2')).json()
    await save(store, { id: 'b' }, [{ title: 'endpoint later' }])
    const { cursor } = first.pagination
    expect(await found(`query=endpoint&limit=100&cursor=${cursor}`)).toEqual([
      ...numbers(2, 5),
      'endpoint later',
    ])
  })

  it('narrows by currency and by token, and never compares euros with dollars', async () => {
    const { asset } = inEuros
    await save(store, { id: 'a' }, [
      { title: 'dollars', price: 10_000n, accepts: [aQuote(), aQuote({ asset, amount: '9000' })] },
      { title: 'euros', ...inEuros, price: 9_000n, accepts: [aQuote({ asset, amount: '8000' })] },
      { title: 'unseen euros', ...inEuros, price: 20_000n, status: 'unverified', accepts: [] },
    ])
    const titles = async (query: string) => (await found(`query=s&${query}`)).sort()
    expect(await titles('')).toEqual(['dollars', 'euros', 'unseen euros'])
    expect(await titles('currency=EUR')).toEqual(['euros', 'unseen euros'])
    expect(await titles('currency=usd')).toEqual(['dollars'])
    expect(await titles('currency=GBP')).toEqual([])
    expect(await titles(`asset=${asset.toUpperCase().replace('0X', '0x')}`)).toEqual([
      'dollars',
      'euros',
    ])
    expect(await titles(`asset=${asset}&network=eip155:1`)).toEqual([])
    expect(await titles('maxPrice=10000')).toEqual(['dollars'])
    expect(await titles('maxPrice=9999')).toEqual([])
    expect(await titles('maxPrice=8000&currency=EUR')).toEqual(['euros'])
    expect(await titles('maxPrice=7999&currency=EUR')).toEqual([])
    expect(await titles(`maxPrice=10000&asset=${asset}`)).toEqual(['euros'])
  })

  it('narrows by method, pricing, price, tag, schema, verified and official', async () => {
    await save(store, { id: 'a', isOfficial: true }, [
      { title: 'x1', method: 'POST', example: { body: {} }, accepts: [aQuote({ amount: '5' })] },
      {
        title: 'x2',
        pricing: 'metered',
        tags: ['Air Quality'],
        accepts: [aQuote({ amount: '50' })],
      },
    ])
    await save(store, { id: 'b' }, [
      {
        title: 'x3',
        status: 'unverified',
        inputSchema: { type: 'object' },
        accepts: [],
        price: 6n,
      },
    ])
    expect(await found('query=x&method=POST')).toEqual(['x1'])
    expect(await found('query=x&pricing=metered')).toEqual(['x2'])
    expect(await found('query=x&maxPrice=5')).toEqual(['x1'])
    expect(await found('query=x&maxPrice=6')).toEqual(['x1', 'x3'])
    expect(await found('query=x&tag=air%20quality')).toEqual(['x2'])
    expect(await found('query=x&hasSchema=true')).toEqual(['x3'])
    expect(await found('query=x&hasSchema=false')).toEqual(['x1', 'x2'])
    expect(await found('query=x&verified=true')).toEqual(['x1', 'x2'])
    expect(await found('query=x&verified=false')).toEqual(['x3'])
    expect(await found('query=x&official=true')).toEqual(['x1', 'x2'])
    expect(await found('query=x&official=false')).toEqual(['x3'])
    expect(await found('query=x&type=mcp')).toEqual([])
    expect(await found('query=x&scheme=batch-settlement')).toEqual([])
  })

  it.each([
    ['', 'query is required: words to look for, at most 200 characters.'],
    ['query=', 'query is required: words to look for, at most 200 characters.'],
    ['query=%20', 'query is required: words to look for, at most 200 characters.'],
    [`query=${'x'.repeat(201)}`, 'query must be at most 200 characters.'],
    ['query=x&query=y', 'query must be given once, as query=…; it must be at most 200 characters.'],
    [
      'query=x&method=TRACE',
      'method must be GET or HEAD or POST or PUT or PATCH or DELETE or MCP.',
    ],
    ['query=x&pricing=free', 'pricing must be fixed or metered.'],
    ['query=x&maxPrice=0.01', 'maxPrice must be an integer from 0 to 9007199254740991.'],
    ['query=x&verified=yes', 'verified must be true or false.'],
    ['query=x&cursor=abc', 'cursor must be one that a page before gave.'],
  ])('refuses %s', async (query, message) => {
    const response = await get(`/discovery/search?${query}`)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual({ error: 'invalid_request', message })
  })
})

function numbered(count: number) {
  return numbers(0, count).map((title) => ({ title }))
}

function numbers(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, i) => `endpoint ${from + i}`)
}
