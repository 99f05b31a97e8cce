import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { ListingStore } from '../../src/store/listings.js'
import { payTo, save } from '../unit/discovery/a-catalog.js'
import { aDiscoveryServer } from './a-discovery-server.js'

let app: FastifyInstance
let store: ListingStore
let get: Awaited<ReturnType<typeof aDiscoveryServer>>['get']

beforeEach(async () => {
  ;({ app, store, get } = await aDiscoveryServer())
})
afterEach(() => app.close())

async function browse(query = '') {
  const response = await get(`/api/endpoints${query}`)
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}
const titles = async (query: string) =>
  (await browse(query)).items.map(({ title }: { title: string }) => title)

it('tells of an endpoint what is listed and how it stands', async () => {
  const probe = { verdict: 'live', message: 'As listed.', warnings: [], seen: {}, checkedAt: 1_000 }
  await save(store, { id: 'weather', name: 'Weather House' }, [{ title: 'Sky', probe }])
  expect(await browse()).toMatchObject({
    items: [
      {
        title: 'Sky',
        method: 'GET',
        price: '10000',
        priceUsd: '0.01',
        status: 'live',
        probe: { verdict: 'live', checkedAt: 1_000 },
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

it('calls unclaimed what was found in payments, and nothing that the operator entered', async () => {
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

it('goes on in a ranked answer where the page before ended', async () => {
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

it.each(['?cursor=x', '?limit=101', '?method=PUT', '?verified=yes', '?query=sky&cursor=12'])(
  'refuses %s with a sentence',
  async (query) => {
    const response = await get(`/api/endpoints${query}`)
    expect(response.statusCode).toBe(400)
    expect(response.json().message).toMatch(/^\w+ must/)
  },
)
