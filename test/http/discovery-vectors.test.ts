import { afterAll, beforeAll, expect, it } from 'vitest'
import { startDirectory, type TestDirectory } from '../support/a-directory.js'
import { aQuote, save } from '../support/directory/a-catalog.js'

/*
 * A filter narrows the answer, or the answer says that it does not. What each value asks for is checked on every item, so a
 * filter that is ignored in silence fails here. The numbers are those of the public vectors for discovery filters.
 */

interface Item {
  type: string
  accepts: { scheme: string; network: string; payTo: string; extra?: object }[]
  extensions?: Record<string, unknown>
}

const poor = '0x0000000000000000000000000000000000000001'
const bazaar = { bazaar: { info: {} } }

let app: TestDirectory['app']

beforeAll(async () => {
  const server = await startDirectory()
  app = server.app
  await save(server.store, {}, [
    { title: 'Plain', accepts: [aQuote()] },
    {
      title: 'Tool',
      method: 'MCP',
      toolName: 'tides',
      example: { arguments: {} },
      accepts: [aQuote({ payTo: poor })],
      extras: { extensions: bazaar },
    },
    { title: 'Other chain', accepts: [aQuote({ network: 'eip155:8453' })] },
    // A name inside `extra` of a requirement is no extension of the item.
    { title: 'Extra', accepts: [aQuote({ extra: { 'payment-identifier': {} } })] },
    {
      title: 'Channels',
      accepts: [aQuote({ scheme: 'batch-settlement' })],
      extras: { extensions: { 'payment-identifier': {} } },
    },
  ])
})
afterAll(() => app.close())

async function read(query: string) {
  const answer = await app.inject(`/discovery/resources?limit=50${query}`)
  return { ...answer.json(), status: answer.statusCode } as {
    status: number
    items: Item[]
    pagination: { total: number }
    unappliedFilters?: string[]
    error?: string
  }
}

const any = (test: (terms: Item['accepts'][number]) => boolean) => (item: Item) =>
  item.accepts.some(test)

it.each<[string, string, number, (item: Item) => boolean]>([
  ['V1', 'type=mcp', 1, ({ type }) => type === 'mcp'],
  ['V2', `payTo=${poor}`, 1, any(({ payTo }) => payTo.toLowerCase() === poor)],
  ['V3', 'scheme=batch-settlement', 1, any(({ scheme }) => scheme === 'batch-settlement')],
  ['V4', 'network=eip155:999999999', 0, any(({ network }) => network === 'eip155:999999999')],
  ['V5', 'extensions=payment-identifier', 1, (it) => 'payment-identifier' in (it.extensions ?? {})],
  ['V7', 'network=eip155:8453', 1, any(({ network }) => network === 'eip155:8453')],
])('%s: %s narrows the list to the items that have it', async (_, query, total, fits) => {
  const all = await read('')
  expect(all).toMatchObject({ status: 200, pagination: { total: 5 } })
  expect(all.unappliedFilters).toBeUndefined()
  const found = await read(`&${query}`)
  expect(found).toMatchObject({ status: 200, pagination: { total } })
  expect(found.unappliedFilters).toBeUndefined()
  expect(found.items).toEqual(all.items.filter(fits))
  expect(found.items).toHaveLength(total)
})

it('V6: a network that is none is refused with an error', async () => {
  expect(await read('&network=!!!')).toMatchObject({ status: 400, error: 'invalid_request' })
})

it('names the filters that another route or another bazaar has, and does not apply them', async () => {
  const plain = await read('')
  const asked = await read('&maxPrice=1&tags=sky&unheard=of')
  expect(asked.unappliedFilters).toEqual(['maxPrice', 'tags'])
  expect(asked.items).toEqual(plain.items)
  const ranked = (await app.inject('/discovery/search?query=tool&offset=9&type=mcp')).json()
  expect(ranked.unappliedFilters).toEqual(['offset'])
  expect(ranked.resources).toHaveLength(1)
})
