import cookie from '@fastify/cookie'
import fastify, { type FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type ActivityFeed, createActivityFeed } from '../../src/directory/activity/feed.js'
import { activityStreamRoutes } from '../../src/directory/activity/stream-routes.js'
import { createSessions, type Sessions } from '../../src/directory/session/sign-in.js'
import { installErrorHandling } from '../../src/http/errors.js'
import type { Merchant } from '../../src/store/listings.js'
import { createMemorySessions } from '../../src/store/sessions.js'

const owner: Address = '0x5555555555555555555555555555555555555555'
const news = new Set(['weather'])

const addressOf = (number: string) => `0x${number.padStart(40, '0')}` as Address
const payee = (number: string) => ({ owner: addressOf(number), payTo: addressOf(number) })
const streamOf = (number: number) => `${base}/api/merchants/weather-${number}/activity/stream`

let app: FastifyInstance
let feed: ActivityFeed
let sessions: Sessions
let merchant: Merchant
/** A read of a merchant waits for it. */
let read: Promise<void> | undefined
let base: string
let url: string

beforeEach(async () => {
  feed = createActivityFeed()
  sessions = createSessions(createMemorySessions(), Date.now, 'http://localhost')
  merchant = { id: 'weather', owner, payTo: owner, deletedAt: null } as Merchant
  read = undefined
  // Others of the same name with a number have the owner of that number.
  const findMerchant = async (id: string) => {
    await read
    if (id === 'weather') return merchant
    const [, number] = /^weather-(\d+)$/.exec(id) ?? []
    return number === undefined ? undefined : ({ ...merchant, id, ...payee(number) } as Merchant)
  }
  app = fastify({ trustProxy: true })
  installErrorHandling(app)
  await app.register(cookie)
  const listings = { findMerchant }
  await app.register(activityStreamRoutes, { feed, sessions, listings, heartbeatMs: 100 })
  base = await app.listen({ host: '127.0.0.1', port: 0 })
  url = `${base}/api/merchants/weather/activity/stream`
})

afterEach(async () => {
  const closed = app.close()
  // A client that gave up on a stream may open a spare connection, on which the server would wait for a request.
  app.server.closeAllConnections()
  await closed
})

/** From somewhere else for each, since sessions are bounded too. */
const signIn = (address: Address) => sessions.open(address, { caller: address, block: address })

/** Follows the stream as a browser would; `text` is what came so far. */
async function follow(id: string, place: { url?: string; from?: string } = {}) {
  const stop = new AbortController()
  const headers = {
    cookie: `arcus_session=${id}`,
    'x-forwarded-for': place.from ?? '192.0.2.1',
  }
  const response = await fetch(place.url ?? url, { headers, signal: stop.signal })
  const heard = { response, text: '', isOver: false, stop: () => stop.abort() }
  const read = async () => {
    const decoder = new TextDecoder()
    for await (const part of response.body ?? []) heard.text += decoder.decode(part)
  }
  read()
    .catch(() => {})
    .finally(() => {
      heard.isOver = true
    })
  return heard
}

describe('the stream of activity', () => {
  it('is for the owner alone', async () => {
    expect((await fetch(url)).status).toBe(401)
    const stranger = await follow((await signIn(`0x${'9'.repeat(40)}`)).id)
    expect(stranger.response.status).toBe(403)
  })

  it('announces new activity once, however much there is, and tells nothing of it', async () => {
    const heard = await follow((await signIn(owner)).id)
    expect(heard.response.headers.get('content-type')).toContain('text/event-stream')
    expect(heard.response.headers.get('cache-control')).toBe('no-store')
    feed.announce(new Set(['other']))
    for (let i = 0; i < 5; i++) feed.announce(news)
    await vi.waitUntil(() => heard.text.includes('event: activity'), 15_000)
    expect(heard.text.match(/event: activity\ndata: \{\}\n\n/g)).toHaveLength(1)
    heard.stop()
  })

  it('says something again and again, as an event that a page can hear', async () => {
    const heard = await follow((await signIn(owner)).id)
    await vi.waitUntil(() => heard.text.split('event: beat\ndata: {}\n\n').length > 2, 15_000)
    heard.stop()
  })

  it('ends with the session', async () => {
    const { id } = await signIn(owner)
    const heard = await follow(id)
    await sessions.close(id)
    feed.announce(news)
    await vi.waitUntil(() => heard.isOver, 15_000)
    expect(heard.text).not.toContain('event: activity')
  })

  it('ends when the listing has another owner', async () => {
    const heard = await follow((await signIn(owner)).id)
    merchant = { ...merchant, owner: '0x7777777777777777777777777777777777777777' }
    await vi.waitUntil(() => heard.isOver, 15_000)
  })

  it('refuses a ninth page, until one is closed', async () => {
    const { id } = await signIn(owner)
    const open = await Promise.all(Array.from({ length: 8 }, () => follow(id)))
    const ninth = await follow(id)
    expect(ninth.response.status).toBe(503)
    open[0]?.stop()
    await vi.waitUntil(async () => (await follow(id)).response.status === 200, 15_000)
  })

  it('keeps no place for those who left before it began', async () => {
    const { id } = await signIn(owner)
    const connections = () =>
      new Promise((resolve) => app.server.getConnections((_, count) => resolve(count)))
    let goOn = () => {}
    read = new Promise((resolve) => {
      goOn = resolve
    })
    const leaving = new AbortController()
    const headers = { cookie: `arcus_session=${id}` }
    const left = Array.from({ length: 8 }, () => fetch(url, { headers, signal: leaving.signal }))
    await vi.waitUntil(async () => (await connections()) === 8, 15_000)
    await new Promise((resolve) => setTimeout(resolve, 100))
    leaving.abort()
    await Promise.allSettled(left)
    await vi.waitUntil(async () => (await connections()) === 0, 15_000)
    goOn()
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect((await follow(id)).response.status).toBe(200)
  })

  it('is not used up by one owner of many merchants', async () => {
    const { id } = await signIn(owner)
    const opened = new Map<number, number>()
    for (let i = 0; i < 20; i++) {
      merchant = { ...merchant, id: `own-${i}` }
      const from = `192.0.${i}.1`
      const { status } = (await follow(id, { from })).response
      opened.set(status, (opened.get(status) ?? 0) + 1)
    }
    expect(Object.fromEntries(opened)).toEqual({ 200: 16, 503: 4 })
  })

  it('is not used up from one address, nor from one block of them', async () => {
    const open = async (number: number, from: string) => {
      const { id } = await signIn(addressOf(String(number)))
      return (await follow(id, { url: streamOf(number), from })).response
    }
    let number = 0
    const statuses = async (count: number, from: (i: number) => string) => {
      const found: number[] = []
      for (let i = 0; i < count; i++) found.push((await open(++number, from(i))).status)
      return found.filter((status) => status === 200).length
    }
    expect(await statuses(40, () => '198.51.100.7')).toBe(32)
    expect(await statuses(40, (i) => `198.51.100.${100 + i}`)).toBe(32)
    const refused = await open(++number, '198.51.100.8')
    expect(refused.status).toBe(503)
    expect(await statuses(3, () => '203.0.113.1')).toBe(3)
  })

  it('does not hold up a server that closes', async () => {
    const heard = await follow((await signIn(owner)).id)
    await app.close()
    await vi.waitUntil(() => heard.isOver, 15_000)
  })
})
