import { expect, it } from 'vitest'
import { unclaimedId } from '../../src/store/unclaimed.js'
import { payTo, save, whenReady } from '../unit/discovery/a-catalog.js'
import { aDiscoveryServer } from './a-discovery-server.js'

/** What needs no more than who lists what, and how it stands. */
const outlined = [
  '/discovery/resources',
  '/discovery/resources?limit=2&offset=1',
  '/discovery/resources?q=%20&type=http',
  '/discovery/resources?type=mcp',
  '/discovery/resources?merchant=weather',
  '/discovery/resources?merchant=gone',
  '/discovery/resources?merchant=nobody',
  '/discovery/changes',
  '/api/endpoints?limit=3&cursor=1',
  '/api/endpoints?verified=true',
  '/api/endpoints?verified=false&merchant=weather',
  '/api/endpoints?official=true',
]
const others = [
  '/discovery/resources?q=sky',
  '/discovery/resources?merchant=weather&scheme=exact',
  '/discovery/resources?extensions=bazaar',
  `/discovery/resources?payTo=${payTo}`,
  '/discovery/search?query=sky',
  '/api/endpoints?query=sky',
  '/api/endpoints?pricing=fixed',
]

async function aServerThatReads(loadingPatienceMs = 0) {
  let readTexts = () => {}
  const textsWait = new Promise<void>((resolve) => {
    readTexts = resolve
  })
  const server = await aDiscoveryServer({ isLoading: true, loadingPatienceMs, textsWait })
  const { index, store, get } = server
  await save(store, { id: 'weather' }, [
    { title: 'Sky' },
    { title: 'Sea', status: 'failing' },
    { title: 'Land', status: 'unverified' },
  ])
  await save(store, { id: unclaimedId(payTo), owner: null }, [
    { title: 'Seen' },
    { title: 'Not yet seen', status: 'unverified' },
  ])
  await save(store, { id: 'ours', isOfficial: true }, [{ title: 'Ours' }])
  await save(store, { id: 'gone', hiddenReason: 'fraud' }, [{ title: 'Gone' }])
  index.start()
  while ((await index.current()) === undefined) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  const answers = async () => {
    const found: [string, unknown][] = []
    for (const path of outlined) {
      const { statusCode, body } = await get(path)
      expect(statusCode, `${path}: ${body}`).toBe(200)
      found.push([path, JSON.parse(body)])
    }
    return found
  }
  return { ...server, readTexts, answers }
}

it('answers what an outline of the catalog can tell while the rest is read, and the same afterwards', async () => {
  const { app, get, index, readTexts, answers } = await aServerThatReads()
  const before = await answers()
  expect(index.isReady()).toBe(false)
  expect(index.figures().endpoints).toBe(0)
  const { items, pagination } = (await get('/discovery/resources')).json()
  expect(items.map((item: { metadata: { title: string } }) => item.metadata.title)).toEqual([
    'Sky',
    'Land',
    'Seen',
    'Ours',
  ])
  expect(pagination.total).toBe(4)
  readTexts()
  await whenReady(index)
  expect(index.figures().endpoints).toBe(7)
  expect(await answers()).toEqual(before)
  await app.close()
})

it('says of all else when to come again', async () => {
  const { app, get, index, readTexts } = await aServerThatReads()
  for (const path of others) {
    const response = await get(path)
    expect(response.statusCode, path).toBe(503)
    expect(response.headers['retry-after']).toBe('5')
  }
  readTexts()
  await whenReady(index)
  for (const path of others) expect((await get(path)).statusCode, path).toBe(200)
  await app.close()
})

it('lets a hundred questions wait for the rest, and answers lists beside them', async () => {
  const { app, get, index, readTexts } = await aServerThatReads(60_000)
  const asked = Array.from({ length: 103 }, (_, i) => get(`/discovery/resources?q=sky+${i}`))
  expect(await Promise.any(asked)).toMatchObject({ statusCode: 503 })
  expect((await get('/discovery/resources')).statusCode).toBe(200)
  readTexts()
  await whenReady(index)
  const codes = (await Promise.all(asked)).map(({ statusCode }) => statusCode)
  expect(codes.filter((code) => code === 503)).toHaveLength(3)
  expect(codes.filter((code) => code === 200)).toHaveLength(100)
  await app.close()
})

it('has every change in its next answer while the rest is read', async () => {
  const { app, get, index, store, readTexts, answers } = await aServerThatReads()
  const titles = async (query: string) =>
    (await get(`/discovery/resources${query}`))
      .json()
      .items.map(({ metadata }: { metadata: { title: string } }) => metadata.title)
  await save(store, { id: 'weather' }, [{ title: 'Sun' }], 2_000)
  expect(await titles('?merchant=weather')).toEqual(['Sun'])
  await store.setFlags('ours', { hiddenReason: 'fraud' }, 3_000)
  expect(await titles('')).toEqual(['Seen', 'Sun'])
  await store.setFlags('gone', { hiddenReason: null }, 4_000)
  await save(store, { id: 'later' }, [{ title: 'Later' }], 5_000)
  expect(await titles('')).toEqual(['Seen', 'Gone', 'Sun', 'Later'])
  const before = await answers()
  readTexts()
  await whenReady(index)
  expect(await answers()).toEqual(before)
  await app.close()
})
