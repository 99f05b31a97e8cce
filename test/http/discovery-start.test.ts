import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { startDirectory } from '../support/a-directory.js'
import { payTo, save } from '../support/directory/a-catalog.js'
import { withResolvers } from '../support/with-resolvers.js'

const paths = [
  '/discovery/resources',
  '/discovery/resources?merchant=weather',
  `/discovery/resources?payTo=${payTo}`,
  '/discovery/resources?q=sky',
  '/discovery/search?query=sky',
  '/discovery/changes',
  '/api/endpoints',
  '/api/endpoints?query=sky',
]

// A question waits until this clock is three seconds later.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

/** A directory that has the rows of a catalog of one endpoint, and goes on to read it when the test says so. */
async function aServerThatReads() {
  const scanned = withResolvers()
  const { promise: readsAfter, resolve: goOn } = withResolvers()
  const directory = await startDirectory({
    isIdle: true,
    listings: ({ scanForIndex }) => ({
      async scanForIndex(...page) {
        const rows = await scanForIndex(...page)
        scanned.resolve()
        await readsAfter
        return rows
      },
    }),
  })
  await save(directory.store, { id: 'weather' }, [{ title: 'Sky' }])
  directory.start()
  await scanned.promise
  return { ...directory, goOn }
}

it('all of discovery is 503 with Retry-After while the catalog is read, and 200 as soon as it is', async () => {
  const { app, get, directory, goOn } = await aServerThatReads()
  const asked = paths.map(async (path) => ({ path, response: await get(path) }))
  await new Promise(setImmediate)
  vi.setSystemTime(Date.now() + 3_000)
  for (const { path, response } of await Promise.all(asked)) {
    expect(response.statusCode, path).toBe(503)
    expect(response.headers['retry-after']).toBe('5')
    expect(response.headers['cache-control']).toBeUndefined()
    expect(response.json().error).toBe('unavailable')
  }
  goOn()
  await vi.waitUntil(() => directory.figures.index().endpoints > 0, 15_000)
  for (const path of paths) {
    const response = await get(path)
    expect(response.statusCode, path).toBe(200)
    expect(response.body, path).toContain('Sky')
  }
  await app.close()
})

it('a parameter that is out of bounds is a 400 before the catalog is read', async () => {
  const { app, get, goOn } = await aServerThatReads()
  for (const path of [
    '/discovery/resources?limit=0',
    '/discovery/search',
    '/discovery/changes?since=9',
  ]) {
    expect((await get(path)).statusCode, path).toBe(400)
  }
  goOn()
  await app.close()
})

it('a question waits a moment for the catalog, and has every change of that moment in its answer', async () => {
  const { app, get, store, goOn } = await aServerThatReads()
  const asked = get('/discovery/resources')
  await save(store, { id: 'weather' }, [{ title: 'Sun' }])
  goOn()
  const response = await asked
  expect(response.statusCode).toBe(200)
  expect(response.body).toContain('Sun')
  expect(response.body).not.toContain('Sky')
  await app.close()
})

it('a hundred questions wait for the catalog, and others get a 503 at once', async () => {
  const { app, get, goOn } = await aServerThatReads()
  const asked = Array.from({ length: 103 }, (_, i) => get(`/discovery/resources?q=sky+${i}`))
  expect(await Promise.any(asked)).toMatchObject({ statusCode: 503 })
  goOn()
  const codes = (await Promise.all(asked)).map(({ statusCode }) => statusCode)
  expect(codes.filter((code) => code === 503)).toHaveLength(3)
  expect(codes.filter((code) => code === 200)).toHaveLength(100)
  await app.close()
})
