import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startDirectory, type TestDirectory } from '../support/a-directory.js'
import { aQuote, payTo, save } from '../support/directory/a-catalog.js'

let app: TestDirectory['app']
let store: TestDirectory['store']
let get: TestDirectory['get']

beforeEach(async () => {
  ;({ app, store, get } = await startDirectory())
})
afterEach(() => app.close())

async function browse(query = '') {
  const response = await get(`/api/endpoints${query}`)
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}
const titles = async (query: string) =>
  (await browse(query)).items.map(({ title }: { title: string }) => title)

it('a card has the listing of an endpoint and its status', async () => {
  const probe = { verdict: 'live', message: 'As listed.', warnings: [], seen: {}, checkedAt: 1_000 }
  await save(store, { id: 'weather', name: 'Weather House' }, [{ title: 'Sky', probe }])
  expect(await browse()).toMatchObject({
    items: [
      {
        title: 'Sky',
        method: 'GET',
        price: '10000',
        priceUsd: '0.01',
        livePrice: '10000',
        livePriceUsd: '0.01',
        status: 'live',
        probe: { verdict: 'live', warnings: [], checkedAt: 1_000 },
        merchant: {
          id: 'weather',
          name: 'Weather House',
          official: false,
          unclaimed: false,
          identity: null,
        },
      },
    ],
    total: 1,
    next: null,
  })
})

describe('the live price of an endpoint', () => {
  const usdc = '0x3600000000000000000000000000000000000000'
  const cases: [string, Record<string, unknown>[], string | null][] = [
    ['what its 402 asked for', [aQuote({ amount: '9000000' })], '9000000'],
    ['the most of several', [aQuote({ amount: '9000000' }), aQuote()], '9000000'],
    [
      'the most of several schemes',
      [aQuote(), aQuote({ scheme: 'batch-settlement', amount: '20000' })],
      '20000',
    ],
    [
      'what it asks for in the listed asset on the listed network',
      [
        aQuote({ network: 'eip155:1', amount: '1' }),
        aQuote({ asset: `0x${'11'.repeat(20)}`, amount: '2' }),
        aQuote({ asset: usdc.toUpperCase().replace('0X', '0x'), amount: '9000000' }),
      ],
      '9000000',
    ],
    [
      'a scheme that is not settled only where there is none that is',
      [aQuote({ scheme: 'upto', amount: '7' })],
      '7',
    ],
    ['nothing where nobody knows', [], null],
  ]
  it.each(cases)('is %s', async (_, accepts, livePrice) => {
    await save(store, {}, [{ title: 'Sky', accepts }])
    expect((await browse()).items).toMatchObject([{ price: '10000', livePrice }])
    const most = Number(livePrice ?? 10_000)
    expect(await titles(`?maxPrice=${most}`)).toEqual(['Sky'])
    expect(await titles(`?maxPrice=${most - 1}`)).toEqual([])
    expect(await titles(`?query=sky&maxPrice=${most - 1}`)).toEqual([])
  })

  it('is unknown before the first live probe', async () => {
    await save(store, {}, [{ title: 'Sky', status: 'unverified' }])
    expect((await browse()).items).toMatchObject([{ livePrice: null, livePriceUsd: null }])
  })

  it('stays while the endpoint fails if it differs from the listed price', async () => {
    const accepts = [aQuote({ amount: '9000000' })]
    await save(store, {}, [{ title: 'Sky', status: 'failing', accepts }])
    const { items } = await browse('?merchant=weather')
    expect(items).toMatchObject([{ livePrice: '9000000', livePriceUsd: '9' }])
  })
})

it('endpoints found in payments are unclaimed, and those of the operator are not', async () => {
  await save(store, { id: 'entered', owner: null }, [{}])
  await save(store, { id: `payto-${payTo}`, owner: null }, [{}])
  const { items } = await browse()
  expect(items.map(({ merchant }: { merchant: object }) => merchant)).toMatchObject([
    { id: 'entered', unclaimed: false },
    { id: `payto-${payTo}`, unclaimed: true },
  ])
})

it('without words pages through all in order of creation', async () => {
  await save(
    store,
    {},
    Array.from({ length: 25 }, (_, i) => ({ title: `E${i}` })),
  )
  const first = await browse('?limit=20')
  expect([first.items.length, first.total]).toEqual([20, 25])
  const second = await browse(`?limit=20&cursor=${first.next}`)
  expect(second.items.map(({ title }: { title: string }) => title)).toEqual([
    'E20',
    'E21',
    'E22',
    'E23',
    'E24',
  ])
  expect(second.next).toBeNull()
})

it('narrows by the filters with and without words', async () => {
  await save(store, {}, [
    { title: 'Cheap sky' },
    { title: 'Dear sky', price: 900_000n, accepts: [] },
    { title: 'Asked sky', method: 'POST', pricing: 'metered' },
    { title: 'Failing sky', status: 'failing' },
  ])
  expect(await titles('?method=POST')).toEqual(['Asked sky'])
  expect(await titles('?pricing=metered')).toEqual(['Asked sky'])
  expect(await titles('?query=sky&method=POST')).toEqual(['Asked sky'])
  expect(await titles('?maxPrice=10000')).not.toContain('Dear sky')
  expect(await titles('?query=sky&official=true')).toEqual([])
  expect(await titles('')).not.toContain('Failing sky')
})

it('continues a ranked answer after the previous page', async () => {
  await save(
    store,
    {},
    Array.from({ length: 5 }, (_, i) => ({ title: `Sky ${i}` })),
  )
  const first = await browse('?query=sky&limit=3')
  expect(first.total).toBeNull()
  const second = await browse(`?query=sky&limit=3&cursor=${first.next}`)
  expect([...first.items, ...second.items]).toHaveLength(5)
  expect(second.next).toBeNull()
})

it.each(['?cursor=x', '?limit=0', '?method=OPTIONS', '?verified=yes', '?query=sky&cursor=12'])(
  'refuses %s with a sentence',
  async (query) => {
    const response = await get(`/api/endpoints${query}`)
    expect(response.statusCode).toBe(400)
    expect(response.json().message).toMatch(/^\w+ must/)
  },
)
