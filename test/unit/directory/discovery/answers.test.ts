import { expect, it } from 'vitest'
import {
  type CatalogAnswer,
  type CatalogQuestion,
  createDiscoveryAnswers,
} from '../../../../src/directory/discovery/answers.js'
import {
  createDiscoveryBodies,
  parseBrowseQuery,
  parseListQuery,
  parseRankedQuery,
} from '../../../../src/directory/discovery/discovery.js'
import type { ListingStore } from '../../../../src/directory/store/listings.js'
import { aCatalog, anEndpoint, save, whenReady } from '../../../support/directory/a-catalog.js'

const questions: CatalogQuestion[] = [
  { kind: 'resources', query: parseListQuery({ q: 'city' }) },
  { kind: 'search', query: parseRankedQuery({ query: 'city' }) },
  { kind: 'cards', query: parseBrowseQuery({ query: 'city' }) },
]

/** Answers over a store in which `weather` changes before each of the next reads: all of it is replaced unless `change` is given. */
async function answersOverAChangingStore(
  change: (store: ListingStore) => Promise<unknown> = (store) =>
    save(store, {}, [anEndpoint(), {}]),
) {
  const { store, catalog } = await aCatalog()
  let changes = 0
  const before = <Args extends unknown[], Read>(read: (...args: Args) => Promise<Read>) => {
    return async (...args: Args) => {
      if (changes > 0) {
        changes--
        await change(store)
      }
      return read(...args)
    }
  }
  const items = {
    ...store,
    publishedById: before(store.publishedById),
    entriesById: before(store.entriesById),
  }
  const answers = createDiscoveryAnswers({ catalog, items })
  await save(store, {}, [anEndpoint(), {}])
  await whenReady(catalog)
  return {
    store,
    catalog,
    async ask(question: CatalogQuestion, nextChanges: number) {
      changes = nextChanges
      const answer = await answers.answer(question, await store.lastChange())
      if (answer.state !== 'made') throw new Error(answer.state)
      const { items, resources } = JSON.parse(Buffer.from(answer.body.bytes).toString())
      return { items: items ?? resources, sequence: answer.sequence }
    },
  }
}

it.each(questions)(
  'what is gone between the search and the read is looked for again: $kind',
  async (question) => {
    const { store, catalog, ask } = await answersOverAChangingStore()
    const { items, sequence } = await ask(question, 1)
    expect(items).toHaveLength(2)
    expect(sequence).toBe(await store.lastChange())
    // Even under constant change there is an answer.
    expect(await ask(question, 100)).toMatchObject({ items: expect.any(Array) })
    await catalog.stop()
  },
)

it.each(questions)(
  'what is hidden between the search and the read is not shown: $kind',
  async (question) => {
    const hide = (store: ListingStore) => store.setFlags('weather', { hiddenReason: 'spam' }, 2_000)
    const { catalog, ask } = await answersOverAChangingStore(hide)
    expect((await ask(question, 0)).items).toHaveLength(2)
    expect((await ask(question, 1)).items).toEqual([])
    await catalog.stop()
  },
)

it('a question that is asked twice is answered once, at the same time and until the next change', async () => {
  let asked = 0
  let last = 7
  const body = { bytes: Buffer.from('{}'), etag: '"x"' }
  const answers = createDiscoveryBodies({
    answers: {
      async answer(_, sequence = 0): Promise<CatalogAnswer> {
        asked++
        await new Promise((resolve) => setImmediate(resolve))
        return { state: 'made', body, sequence }
      },
      figures: () => ({ endpoints: 1, readSeconds: 1 }),
    },
    listings: { lastChange: async () => last },
  })
  const ask = () => answers.resources({ q: 'sky' }, '198.51.100.1')
  await Promise.all([ask(), ask()])
  await ask()
  expect(asked).toBe(1)
  await answers.resources({ q: 'sea' }, '198.51.100.1')
  last++
  await ask()
  expect(asked).toBe(3)
})

/** Discovery whose catalog answers one question after another, each when the test says so. */
function aSlowCatalog(figures = { endpoints: 1, readSeconds: 1 }) {
  const body = { bytes: Buffer.from('{}'), etag: '"x"' }
  const begun: (string | undefined)[] = []
  const ends: (() => void)[] = []
  const bodies = createDiscoveryBodies({
    answers: {
      async answer({ query }, sequence = 0): Promise<CatalogAnswer> {
        begun.push('query' in query ? query.query : undefined)
        await new Promise<void>((resolve) => ends.push(resolve))
        return { state: 'made', body, sequence }
      },
      figures: () => figures,
    },
    listings: { lastChange: async () => 1 },
  })
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
  const answered: string[] = []
  return {
    begun,
    answered,
    /** Asks for this, and notes the answer, or the code of its fault. */
    async ask(query: string, ip: string) {
      bodies.search({ query }, ip).then(
        () => answered.push(query),
        ({ code, headers }) => answered.push(`${code} ${JSON.stringify(headers)}`),
      )
      await nextTurn()
    },
    async end() {
      ends.shift()?.()
      await nextTurn()
    },
  }
}

it('a stranger with many searches has a few of them waiting, and one turn for each of others', async () => {
  const { ask, end, begun, answered } = aSlowCatalog()
  // Two of them are at the catalog, and four wait, whichever address of the block they come from.
  for (let i = 1; i <= 30; i++) await ask(`storm ${i}`, `198.51.100.${i}`)
  expect(answered).toEqual(Array(24).fill('busy {"retry-after":"1"}'))
  await ask('tides', '203.0.113.7')
  await ask('winds', '2001:db8:7::1')
  for (let i = 0; i < 4; i++) await end()
  expect(begun).toEqual(['storm 1', 'storm 2', 'storm 3', 'tides', 'winds', 'storm 4'])
  for (let i = 0; i < 4; i++) await end()
  expect(answered.slice(24).sort()).toEqual(
    ['tides', 'winds', ...Array.from({ length: 6 }, (_, i) => `storm ${i + 1}`)].sort(),
  )
})

it('a question that is under way already is shared, and takes no place', async () => {
  const { ask, end, begun, answered } = aSlowCatalog()
  for (let i = 1; i <= 6; i++) await ask(`storm ${i}`, '198.51.100.1')
  await ask('storm 1', '198.51.100.1')
  expect(answered).toEqual([])
  await end()
  expect(answered).toEqual(['storm 1', 'storm 1'])
  expect(begun).toHaveLength(3)
})

it('questions take no turns while the catalog is read, because they only wait for it', async () => {
  const { ask, begun } = aSlowCatalog({ endpoints: 0, readSeconds: 0 })
  for (let i = 1; i <= 30; i++) await ask(`early ${i}`, '198.51.100.1')
  expect(begun).toHaveLength(30)
})
