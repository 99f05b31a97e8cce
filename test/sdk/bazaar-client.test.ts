import { HTTPFacilitatorClient } from '@x402/core/server'
import { withBazaar } from '@x402/extensions/bazaar'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startDirectory, type TestDirectory } from '../support/a-directory.js'
import { aQuote, network, payTo, save } from '../support/directory/a-catalog.js'

let app: TestDirectory['app']
let bazaar: ReturnType<typeof withBazaar<HTTPFacilitatorClient>>['extensions']['bazaar']

beforeAll(async () => {
  const server = await startDirectory()
  app = server.app
  await save(server.store, {}, [
    { title: 'Weather', accepts: [aQuote()], extras: { extensions: { bazaar: { info: {} } } } },
    { title: 'Maps', accepts: [aQuote({ scheme: 'batch-settlement' })] },
  ])
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  bazaar = withBazaar(new HTTPFacilitatorClient({ url })).extensions.bazaar
})

afterAll(() => app.close())

it('lists resources with every filter of the official client', async () => {
  const all = await bazaar.listResources()
  expect(all).toMatchObject({ x402Version: 2, pagination: { limit: 20, offset: 0, total: 2 } })
  expect(all.items.map(({ accepts }) => accepts[0])).toEqual([
    aQuote(),
    aQuote({ scheme: 'batch-settlement' }),
  ])
  const one = { type: 'http', payTo, scheme: 'exact', network, extensions: 'bazaar' }
  const found = await bazaar.listResources({ ...one, limit: 1, offset: 0 })
  expect(found.pagination).toEqual({ limit: 1, offset: 0, total: 1 })
  expect(found.items[0]?.extensions).toEqual({ bazaar: { info: {} } })
  for (const other of [
    { type: 'mcp' },
    { payTo: '0x1' },
    { scheme: 'upto' },
    { network: 'eip155:1' },
  ]) {
    expect((await bazaar.listResources({ ...one, ...other })).items).toEqual([])
  }
  expect((await bazaar.listResources({ offset: 1 })).items).toHaveLength(1)
})

it('searches page by page', async () => {
  const first = await bazaar.search({ query: 'weather house', limit: 1 })
  expect(first.resources).toHaveLength(1)
  expect(first.partialResults).toBe(true)
  const cursor = first.pagination?.cursor
  if (cursor == null) throw new Error('no cursor')
  const rest = await bazaar.search({ query: 'weather house', limit: 1, cursor })
  expect(rest.resources).toHaveLength(1)
  expect(rest.pagination).toEqual({ limit: 1, cursor: null })
})

it('gives a crawler that asks for a thousand what a page holds', async () => {
  const { items, pagination } = await bazaar.listResources({ limit: 1000 })
  expect(pagination).toEqual({ limit: 100, offset: 0, total: items.length })
})

it('answers a wrong query with what is wrong', async () => {
  await expect(bazaar.listResources({ limit: 0 })).rejects.toThrow(
    'limit must be an integer from 1 on; above 100 it counts as 100.',
  )
  await expect(bazaar.search({ query: '' })).rejects.toThrow('query is required')
})
