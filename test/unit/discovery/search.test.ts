import { expect, it } from 'vitest'
import { createCatalogSearch } from '../../../src/discovery/search.js'
import { aCatalog, save, whenReady } from './a-catalog.js'

it('looks for a word of a misspelt query no further than to its first place', async () => {
  const { store, catalog } = await aCatalog()
  for (const id of ['a', 'b', 'c']) await save(store, { id }, [{ title: 'Weather' }])
  const list = await whenReady(catalog)
  const visited: number[] = []
  const search = createCatalogSearch({
    ...list,
    *merchants() {
      const run = visited.push(0) - 1
      for (const merchant of list.merchants()) {
        visited[run] = (visited[run] ?? 0) + 1
        yield merchant
      }
    },
  })
  const page = search.rank({ filter: {}, query: 'weather qqqq', limit: 5, after: undefined })
  await catalog.stop()
  expect(page.ids).toEqual([])
  // A query may have a hundred words that every endpoint has, so a whole search for each costs too much.
  expect(visited.filter((count) => count === 1)).toHaveLength(1)
})
