import cookie from '@fastify/cookie'
import fastify, { type FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  type ActivityFeed,
  createActivityFeed,
} from '../../src/directory/activity/activity-feed.js'
import { activityStreamRoutes } from '../../src/directory/activity/stream-routes.js'
import { SESSION_COOKIE } from '../../src/directory/session/session-routes.js'
import { createSessions, type Sessions } from '../../src/directory/session/sessions.js'
import { installErrorHandling } from '../../src/http/errors.js'
import type { Merchant } from '../../src/store/listings.js'

const owner: Address = '0x5555555555555555555555555555555555555555'
const news = new Set(['weather'])

let app: FastifyInstance
let feed: ActivityFeed
let sessions: Sessions
let merchant: Merchant
let url: string

beforeEach(async () => {
  feed = createActivityFeed()
  sessions = createSessions(Date.now)
  merchant = { id: 'weather', owner, payTo: owner, deletedAt: null } as Merchant
  const findMerchant = async (id: string) => (id === 'weather' ? merchant : undefined)
  app = fastify()
  installErrorHandling(app)
  await app.register(cookie)
  const listings = { findMerchant }
  await app.register(activityStreamRoutes, { feed, sessions, listings, heartbeatMs: 100 })
  url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/api/merchants/weather/activity/stream`
})

afterEach(() => app.close())

/** Follows the stream as a browser would; `text` is what came so far. */
async function follow(id: string) {
  const stop = new AbortController()
  const headers = { cookie: `${SESSION_COOKIE}=${id}` }
  const response = await fetch(url, { headers, signal: stop.signal })
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
    const stranger = await follow(sessions.open(`0x${'9'.repeat(40)}`).id)
    expect(stranger.response.status).toBe(403)
  })

  it('says once that there is news, however much of it, and nothing of it', async () => {
    const heard = await follow(sessions.open(owner).id)
    expect(heard.response.headers.get('content-type')).toContain('text/event-stream')
    expect(heard.response.headers.get('cache-control')).toBe('no-store')
    feed.announce(new Set(['other']))
    for (let i = 0; i < 5; i++) feed.announce(news)
    await vi.waitUntil(() => heard.text.includes('event: activity'), 3_000)
    expect(heard.text.match(/event: activity\ndata: \{\}\n\n/g)).toHaveLength(1)
    heard.stop()
  })

  it('ends with the session', async () => {
    const { id } = sessions.open(owner)
    const heard = await follow(id)
    sessions.close(id)
    feed.announce(news)
    await vi.waitUntil(() => heard.isOver, 3_000)
    expect(heard.text).not.toContain('event: activity')
  })

  it('ends when the listing has another owner', async () => {
    const heard = await follow(sessions.open(owner).id)
    merchant = { ...merchant, owner: '0x7777777777777777777777777777777777777777' }
    await vi.waitUntil(() => heard.isOver, 3_000)
  })

  it('refuses a ninth page, until one is closed', async () => {
    const { id } = sessions.open(owner)
    const open = await Promise.all(Array.from({ length: 8 }, () => follow(id)))
    const ninth = await follow(id)
    expect(ninth.response.status).toBe(503)
    open[0]?.stop()
    await vi.waitUntil(async () => (await follow(id)).response.status === 200, 3_000)
  })

  it('does not hold up a server that closes', async () => {
    const heard = await follow(sessions.open(owner).id)
    await app.close()
    await vi.waitUntil(() => heard.isOver, 3_000)
  })
})
