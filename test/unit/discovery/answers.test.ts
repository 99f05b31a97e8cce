import { expect, it } from 'vitest'
import { createDiscoveryAnswers, type Question } from '../../../src/discovery/answers.js'
import { createCatalogSearch } from '../../../src/discovery/catalog-search.js'
import {
  parseBrowseQuery,
  parseListQuery,
  parseRankedQuery,
} from '../../../src/discovery/queries.js'
import { aCatalog, anEndpoint, save, whenReady } from './a-catalog.js'

const questions: Question[] = [
  { kind: 'resources', query: parseListQuery({ q: 'city' }) },
  { kind: 'search', query: parseRankedQuery({ query: 'city' }) },
  { kind: 'cards', query: parseBrowseQuery({ query: 'city' }) },
]

/** Answers over a store in which all of `weather` is replaced before each of the next reads. */
async function answersOverAChangingStore() {
  const { store, turns, index } = await aCatalog()
  let changes = 0
  const replace = () => save(store, {}, [anEndpoint(), {}])
  const before = <Args extends unknown[], Read>(read: (...args: Args) => Promise<Read>) => {
    return async (...args: Args) => {
      if (changes > 0) {
        changes--
        await replace()
      }
      return read(...args)
    }
  }
  const items = {
    ...store,
    publishedById: before(store.publishedById),
    entriesById: before(store.entriesById),
  }
  const search = createCatalogSearch(turns)
  const answers = createDiscoveryAnswers({ index, search, items, turns })
  await replace()
  await whenReady(index)
  return {
    store,
    index,
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
    const { store, index, ask } = await answersOverAChangingStore()
    const { items, sequence } = await ask(question, 1)
    expect(items).toHaveLength(2)
    expect(sequence).toBe(await store.lastChange())
    // Under constant change there is an answer all the same.
    expect(await ask(question, 100)).toMatchObject({ items: expect.any(Array) })
    await index.stop()
  },
)
