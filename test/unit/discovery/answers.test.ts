import { expect, it } from 'vitest'
import {
  type Answer,
  createDiscoveryAnswers,
  type Question,
} from '../../../src/directory/discovery/answers.js'
import {
  createDiscoveryBodies,
  parseBrowseQuery,
  parseListQuery,
  parseRankedQuery,
} from '../../../src/directory/discovery/discovery.js'
import type { ListingStore } from '../../../src/directory/store/listings.js'
import { aCatalog, anEndpoint, save, whenReady } from './a-catalog.js'

const questions: Question[] = [
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
    async ask(question: Question, nextChanges: number) {
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
      async answer(_, sequence = 0): Promise<Answer> {
        asked++
        await new Promise((resolve) => setImmediate(resolve))
        return { state: 'made', body, sequence }
      },
    },
    listings: { lastChange: async () => last },
  })
  const ask = () => answers.resources({ q: 'sky' })
  await Promise.all([ask(), ask()])
  await ask()
  expect(asked).toBe(1)
  await answers.resources({ q: 'sea' })
  last++
  await ask()
  expect(asked).toBe(3)
})
