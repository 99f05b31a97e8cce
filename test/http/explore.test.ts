import { exploreAnswer } from '@arcus/protocol/answers/activity'
import fastify, { type FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openSqliteStores } from '../../src/app/stores/sqlite.js'
import type { Stores } from '../../src/app/stores/stores.js'
import { createExploreFigures, exploreRoutes } from '../../src/directory/activity/explore-routes.js'
import { createSettlementFeed } from '../../src/directory/activity/settlement-feed.js'
import { createPublicTotals } from '../../src/directory/activity/summary.js'
import type { NewActivity } from '../../src/directory/store/activity.js'
import { installErrorHandling } from '../../src/http/errors.js'
import { activityAsset, activityPayTo, anActivity } from '../support/an-activity.js'
import { save } from '../unit/discovery/a-catalog.js'

const DAY = 86_400
const noon = anActivity().at
const buyer = (number: number) => `0x${number.toString(16).padStart(40, '0')}` as const
const hash = (number: number) => `0x${number.toString(16).padStart(64, '0')}` as const
const own = { owner: activityPayTo }

let stores: Stores
let app: FastifyInstance
let base: string

beforeEach(async () => {
  stores = openSqliteStores(':memory:')
  const { activity, listings, settlements } = stores
  const tokens = [{ address: activityAsset, symbol: 'USDC', currency: 'USD' }]
  const log = { warn() {} }
  const feed = createSettlementFeed({
    ...{ store: settlements, listings, tokens, log },
    checksum: (it) => it,
  })
  const read = createExploreFigures({
    activity,
    readTotals: createPublicTotals({ store: activity, now: () => noon + 1_000 }),
    now: () => noon + 1_000,
  })
  app = fastify({ trustProxy: true })
  installErrorHandling(app)
  await app.register(exploreRoutes, { read, feed, heartbeatMs: 100 })
  app.addHook('onClose', () => feed.stop())
  base = await app.listen({ host: '127.0.0.1', port: 0 })
})
afterEach(async () => {
  await app.close()
  await stores.close()
})

const explore = async () => exploreAnswer.parse(await (await fetch(`${base}/api/explore`)).json())
const pay = (...rows: Partial<NewActivity>[]) =>
  stores.activity.append(rows.map((row) => anActivity(row)))

/** Follows the stream; `text` is what came so far. */
async function follow(from = '192.0.2.1') {
  const stop = new AbortController()
  const headers = { 'x-forwarded-for': from }
  const response = await fetch(`${base}/api/settlements/stream`, { headers, signal: stop.signal })
  const heard = { response, text: '', isOver: false, stop: () => stop.abort() }
  const read = async () => {
    for await (const bytes of response.body ?? []) heard.text += Buffer.from(bytes).toString()
  }
  read()
    .catch(() => {})
    .finally(() => {
      heard.isOver = true
    })
  return heard
}

it('shows payments by day, net of refunds and of payments to oneself', async () => {
  await save(stores.listings, { id: 'shops', ...own }, [{}])
  await pay(
    { merchantId: 'shops', at: noon - 2 * DAY * 1_000 },
    { merchantId: 'shops', payer: buyer(2) },
    { merchantId: 'shops', isSelf: true },
    { merchantId: 'shops', kind: 'verify', state: 'valid', settlementId: null },
    { merchantId: 'shops', state: 'failed', settlementId: null },
  )
  const { days, month } = await explore()
  expect(month).toMatchObject({ settled: 2, payers: { unique: 2 } })
  expect(days).toHaveLength(30)
  expect(days.map(({ settled }) => settled).slice(-3)).toEqual([1, 0, 1])
  expect(days.at(-1)).toEqual({ at: noon / 1_000 - DAY / 2, settled: 1, usd: '0.01' })
})

it('names nobody whose address is not proven', async () => {
  await save(stores.listings, { id: 'shops', ...own }, [{}])
  await save(stores.listings, { id: 'strange', owner: buyer(9) }, [{}])
  await pay({ merchantId: 'shops' }, { merchantId: 'strange', payer: buyer(1) })
  const { settlements } = await explore()
  expect(settlements.map(({ merchant }) => merchant?.id ?? null)).toEqual([null, 'shops'])
})

it('shows nothing of a payment but what the chain and the directory show', async () => {
  await pay({ merchantId: null, resource: 'https://secret.example/path', payer: buyer(7) })
  await pay({ isSelf: true }, { kind: 'verify', state: 'valid' }, { state: 'failed' })
  const { settlements } = await explore()
  expect(settlements).toEqual([
    {
      id: 1,
      at: new Date(noon).toISOString(),
      network: 'eip155:5042',
      amount: '10000',
      asset: activityAsset,
      symbol: 'USDC',
      currency: 'USD',
      transaction: anActivity().transaction,
      merchant: null,
    },
  ])
})

it('sends payments as they settle to everybody who listens, and beats', async () => {
  const [here, there] = await Promise.all([follow(), follow('198.51.100.1')])
  await vi.waitFor(() => expect(here.text).toContain('event: beat'), { timeout: 15_000 })
  await pay({ transaction: hash(1) }, { transaction: hash(2) })
  for (const { text: before } of [here, there]) expect(before).not.toContain(hash(1))
  await vi.waitFor(
    () => {
      for (const { text } of [here, there]) {
        const [, data = '[]'] = /event: settlements\ndata: (.*)\n\n/.exec(text) ?? []
        const told = JSON.parse(data).map(({ transaction }: { transaction: string }) => transaction)
        expect(told).toEqual([hash(1), hash(2)])
      }
    },
    { timeout: 10_000 },
  )
  await pay({ transaction: hash(3) })
  await vi.waitFor(() => expect(here.text).toContain(hash(3)), { timeout: 10_000 })
  // Each payment comes once.
  expect(here.text.split(hash(1))).toHaveLength(2)
  here.stop()
  there.stop()
})

it('refuses the ninth stream of one address, and ends all when the service stops', async () => {
  const open = await Promise.all(Array.from({ length: 8 }, () => follow()))
  const refused = await follow()
  expect([refused.response.status, refused.response.headers.get('retry-after')]).toEqual([503, '5'])
  await vi.waitFor(() => expect(refused.text).toContain('At most 8 pages from one address'), {
    timeout: 15_000,
  })
  const other = await follow('198.51.100.1')
  expect(other.response.status).toBe(200)
  open[0]?.stop()
  await vi.waitFor(
    async () => {
      const again = await follow()
      expect(again.response.status).toBe(200)
      open.push(again)
    },
    { timeout: 15_000 },
  )
  const closed = app.close()
  await vi.waitFor(() => expect([...open, other].every(({ isOver }) => isOver)).toBe(true), {
    timeout: 15_000,
  })
  // A client that gave up on a stream may open a spare connection, on which the server would wait for a request.
  app.server.closeAllConnections()
  await closed
})

describe('a crowd of followers', () => {
  const opened: Awaited<ReturnType<typeof follow>>[] = []
  afterEach(() => {
    for (const { stop } of opened.splice(0)) stop()
  })
  const open = async (from: string) => {
    const one = await follow(from)
    opened.push(one)
    return one
  }
  const openCount = () => opened.filter(({ isOver, response }) => response.ok && !isOver).length

  it.each<[string, (block: number, host: number) => string, string]>([
    ['of IPv4', (block, host) => `203.0.${block}.${host}`, '192.0.2.1'],
    // A /44 has sixteen /48, and each of them any number of addresses.
    [
      'of IPv6',
      (block, host) => `2001:db8:${(0x100 + block).toString(16)}:${host}::1`,
      '2001:db9::1',
    ],
  ])('%s from one network leaves places for everybody else', async (_, addressOf, honest) => {
    for (let block = 0; block < 16; block++) {
      for (let host = 0; host < 4; host++) {
        await Promise.all(Array.from({ length: 8 }, () => open(addressOf(block, host))))
      }
    }
    await vi.waitFor(() => expect(openCount()).toBe(400))
    const visitor = await open(honest)
    expect(visitor.response.status).toBe(200)
    await Promise.all(Array.from({ length: 40 }, (_, n) => open(addressOf(n % 10, 100 + n))))
    await vi.waitFor(() => expect(openCount()).toBe(400))
    expect(visitor.isOver).toBe(false)
    // The first of that network gave their places up.
    expect(opened[0]?.isOver).toBe(true)
  })
})
