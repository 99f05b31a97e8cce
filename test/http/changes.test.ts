import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startDirectory, type TestDirectory } from '../support/a-directory.js'
import { save } from '../support/directory/a-catalog.js'

let app: TestDirectory['app']
let store: TestDirectory['store']
let get: TestDirectory['get']

beforeEach(async () => {
  ;({ app, store, get } = await startDirectory())
})

afterEach(async () => {
  const closed = app.close()
  // A client that gave up on a stream may open a spare connection, on which the server would wait for a request.
  app.server.closeAllConnections()
  await closed
})

interface Change {
  merchant: string
  sequence: number
  removed: boolean
  items: { resource: string; status?: string; metadata: { title: string } }[]
}

interface Page {
  changes: Change[]
  next: number
  hasMore: boolean
}

async function ask(query = ''): Promise<Page> {
  const response = await get(`/discovery/changes${query}`)
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}

/** A crawler's copy of the catalog: its items by merchant, and the number of the last change. */
async function follow(copy: Map<string, string[]>, since: number, limit = 20): Promise<number> {
  const { changes, next, hasMore } = await ask(`?since=${since}&limit=${limit}`)
  for (const { merchant, removed, items } of changes) {
    if (removed) copy.delete(merchant)
    else
      copy.set(
        merchant,
        items.map(({ metadata }) => metadata.title),
      )
  }
  return hasMore ? follow(copy, next, limit) : next
}

const titled = (...titles: string[]) => titles.map((title) => ({ title }))

describe('GET /discovery/changes', () => {
  it('has nothing of an empty catalog', async () => {
    const page = await ask()
    expect(page).toEqual({ x402Version: 2, changes: [], next: 0, hasMore: false })
  })

  it('gives the whole catalog from 0, each merchant once, with the items of the list', async () => {
    await save(store, { id: 'one' }, titled('a', 'b'))
    await save(store, { id: 'two' }, titled('c'))
    await save(store, { id: 'one' }, titled('a', 'b', 'd'))
    const { changes, next, hasMore } = await ask('?since=0')
    expect(changes.map(({ merchant }) => merchant)).toEqual(['two', 'one'])
    const listed = (await get('/discovery/resources?merchant=one')).json().items
    expect(changes[1]).toMatchObject({ removed: false, items: listed })
    expect([next, hasMore]).toEqual([await store.lastChange(), false])
    const first = await ask('?since=0&limit=1')
    expect([first.changes.length, first.hasMore]).toEqual([1, true])
  })

  it('gives only changed merchants afterwards, and names the removed ones', async () => {
    await save(store, { id: 'stays' }, titled('a'))
    await save(store, { id: 'loses-one' }, titled('b', 'c'))
    await save(store, { id: 'is-hidden' }, titled('d'))
    const { next } = await ask()
    await save(store, { id: 'loses-one' }, titled('c'))
    await store.setFlags('is-hidden', { hiddenReason: 'Fraud' }, 2_000)
    const { changes } = await ask(`?since=${next}`)
    expect(changes).toMatchObject([
      { merchant: 'loses-one', removed: false, items: [{ metadata: { title: 'c' } }] },
      { merchant: 'is-hidden', removed: true, items: [] },
    ])
    await store.setFlags('is-hidden', { hiddenReason: null }, 3_000)
    const back = await ask(`?since=${changes.at(-1)?.sequence}`)
    expect(back.changes).toMatchObject([{ merchant: 'is-hidden', removed: false }])
  })

  it('keeps a copy identical, whatever the size of its pages', async () => {
    const copies = [1, 2, 20].map((limit) => ({ limit, copy: new Map<string, string[]>(), at: 0 }))
    const truth = new Map<string, string[]>()
    for (let round = 0; round < 6; round++) {
      for (const id of ['one', 'two', 'six'].slice(0, 1 + (round % 3))) {
        truth.set(id, [`${id} ${round}`])
        await save(store, { id }, titled(`${id} ${round}`))
      }
      for (const held of copies) held.at = await follow(held.copy, held.at, held.limit)
      for (const { copy } of copies) expect(copy).toEqual(truth)
    }
  })

  it('ends a page after a mebibyte, with one merchant at least', async () => {
    const inputSchema = { type: 'object', description: 'x'.repeat(1_048_576) }
    for (const id of ['one', 'two']) await save(store, { id }, [{ inputSchema }])
    const first = await ask()
    expect([first.changes.map(({ merchant }) => merchant), first.hasMore]).toEqual([['one'], true])
    const second = await ask(`?since=${first.next}`)
    expect(second).toMatchObject({ changes: [{ merchant: 'two' }], hasMore: false })
  })

  it('shows the status of failing items, and no change for a probe alone', async () => {
    await save(store, {}, titled('a'))
    const { next } = await ask()
    const [endpoint] = await store.endpointsOf('weather')
    if (endpoint === undefined) throw new Error('nothing was saved')
    const { id, accepts, extras, probe } = endpoint
    const look = (status: 'live' | 'failing') =>
      store.saveProbe(id, { accepts, extras, probe, status, failures: 3, nextProbeAt: 9 }, 2_000)
    await look('live')
    expect(await ask(`?since=${next}`)).toMatchObject({ changes: [], next })
    await look('failing')
    const { changes } = await ask(`?since=${next}`)
    expect(changes[0]?.items).toMatchObject([{ status: 'failing' }])
  })

  it.each([
    ['since=-1', 'since must be an integer from 0'],
    ['since=now', 'since must be an integer from 0'],
    ['since=0&since=1', 'since must be given once'],
    ['since=1', 'since must be an integer from 0 to 0, the last change there is'],
    ['limit=0', 'limit must be an integer from 1 on'],
  ])('refuses %s by name and limit', async (query, message) => {
    const response = await get(`/discovery/changes?${query}`)
    expect(response.statusCode).toBe(400)
    expect(response.json().message).toContain(message)
  })

  it('may be cached for a minute and revalidated by its ETag', async () => {
    const { headers } = await get('/discovery/changes')
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=60',
      'access-control-allow-origin': '*',
      vary: expect.stringMatching(/\baccept\b(?!-)/),
    })
    const again = await get('/discovery/changes', { 'if-none-match': String(headers.etag) })
    expect(again.statusCode).toBe(304)
  })
})

describe('who waits for a change', () => {
  const headers = { accept: 'text/event-stream' }
  let base: string
  beforeEach(async () => {
    base = await app.listen({ host: '127.0.0.1', port: 0 })
  })

  async function last(): Promise<number> {
    let page = await ask('?limit=100')
    while (page.hasMore) page = await ask(`?limit=100&since=${page.next}`)
    return page.next
  }

  it('is answered with it at once, and otherwise when the time is over', async () => {
    const since = await last()
    const empty = await fetch(`${base}/discovery/changes?since=${since}&wait=1`)
    expect(empty.headers.get('cache-control')).toBe('no-store')
    expect(await empty.json()).toMatchObject({ changes: [], next: since })
    const startedAt = performance.now()
    const waiting = fetch(`${base}/discovery/changes?since=${since}&wait=30`)
    await save(store, { id: 'news' }, titled('n'))
    const page = (await (await waiting).json()) as Page
    expect(page.changes.map(({ merchant }) => merchant)).toEqual(['news'])
    expect(performance.now() - startedAt).toBeLessThan(10_000)
    for (const wait of ['31', '-1', 'long']) {
      expect((await get(`/discovery/changes?wait=${wait}`)).statusCode).toBe(400)
    }
  })

  it('is one of few from one address, and is let go when the service ends', async () => {
    const since = await last()
    const wait = () => fetch(`${base}/discovery/changes?since=${since}&wait=30`)
    const waiting = Array.from({ length: 12 }, wait)
    const refused = []
    for (const one of waiting)
      refused.push(Promise.race([one, new Promise((r) => setTimeout(r, 1_000))]))
    const answered = (await Promise.all(refused)).filter((it) => it instanceof Response)
    expect(answered.map(({ status }) => status)).toEqual([503, 503, 503, 503])
    expect(await answered[0]?.json()).toMatchObject({ error: 'busy' })
    const closing = app.close()
    await Promise.allSettled(waiting)
    await closing
  })

  it('gets the pages as server-sent events, and goes on after the last one', async () => {
    const since = await last()
    const stop = new AbortController()
    const init = { headers, signal: stop.signal }
    const response = await fetch(`${base}/discovery/changes?since=${since}`, init)
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    let heard = ''
    const reading = (async () => {
      const decoder = new TextDecoder()
      for await (const part of response.body ?? []) heard += decoder.decode(part)
    })().catch(() => {})
    await save(store, { id: 'first' }, titled('f'))
    await vi.waitUntil(() => heard.includes('"merchant":"first"'), 10_000)
    await save(store, { id: 'second' }, titled('s'))
    await vi.waitUntil(() => heard.includes('"merchant":"second"'), 10_000)
    stop.abort()
    await reading
    const [, id = ''] = /^id: (\d+)$/m.exec(heard) ?? []
    const again = await fetch(`${base}/discovery/changes`, {
      headers: { ...headers, 'last-event-id': id },
    })
    const reader = again.body?.getReader()
    let rest = ''
    while (!rest.includes('data: ')) rest += new TextDecoder().decode((await reader?.read())?.value)
    expect(rest).toContain('"merchant":"second"')
    expect(rest).not.toContain('"merchant":"first"')
    await reader?.cancel()
    const wrong = await fetch(`${base}/discovery/changes?since=now`, { headers })
    expect(wrong.status).toBe(400)
  })
})
