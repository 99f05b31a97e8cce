import { eventsAnswer } from '@arcus/protocol/answers/events'
import cookie from '@fastify/cookie'
import fastify, { type FastifyInstance } from 'fastify'
import { type Address, getAddress } from 'viem'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openSqliteStores } from '../../src/app/stores/sqlite.js'
import type { Stores } from '../../src/app/stores/stores.js'
import { createAttributor } from '../../src/directory/activity/attribution.js'
import { createEventCollector } from '../../src/directory/events/collector.js'
import { eventRoutes } from '../../src/directory/events/routes.js'
import { createSessions, type Sessions } from '../../src/directory/session/sign-in.js'
import type { ListingChange } from '../../src/directory/store/listings.js'
import { createMemorySessions } from '../../src/directory/store/sessions.js'
import { readExactDetails } from '../../src/facilitator/schemes/exact-job.js'
import { installErrorHandling } from '../../src/http/errors.js'
import { anEndpoint, asset } from '../unit/directory/listed-merchants.js'
import { aJob, anOutcome, network, noon } from '../unit/store/store-contract.js'

const owner: Address = '0x5555555555555555555555555555555555555555'
const stranger: Address = '0x9999999999999999999999999999999999999999'
const payer: Address = '0x7777777777777777777777777777777777777777'
const url = '/api/merchants/weather/events'

let stores: Stores
let app: FastifyInstance
let sessions: Sessions
let collector: ReturnType<typeof createEventCollector>
let disk: { isLow: boolean }

beforeEach(async () => {
  stores = openSqliteStores(':memory:')
  sessions = createSessions(createMemorySessions(), Date.now, 'http://localhost')
  disk = { isLow: false }
  const { listings, events: store } = stores
  collector = createEventCollector({
    store,
    listings,
    attributor: createAttributor(listings),
    readPayment: readExactDetails,
    network,
    checksum: getAddress,
    isKeeper: () => true,
    isDiskLow: () => disk.isLow,
    now: () => noon,
    log: { warn: ({ err }: { err?: unknown }) => expect(err).toBeUndefined() },
  })
  app = fastify()
  installErrorHandling(app)
  await app.register(cookie)
  await app.register(eventRoutes, { store, listings, sessions })
  await list('weather', owner, owner)
  // Anybody may list an address that is not theirs.
  await list('thief', stranger, owner)
})
afterEach(async () => {
  await collector.stop()
  await app.close()
  await stores.close()
})

let writes = 0
async function list(id: string, by: Address, payTo: Address): Promise<void> {
  const change: ListingChange = {
    kind: 'save',
    merchant: { name: id, description: '', network, asset, payTo },
    endpoints: [anEndpoint()],
  }
  const signed = { action: 'listing.create', message: '{}', body: '{}', signature: '0x' } as const
  const write = { merchantId: id, revision: 1, owner: by, nonce: `0x${++writes}` as const }
  const result = await stores.listings.applyWrite({ ...write, ...signed, acceptedAt: 1 }, change)
  expect(result.state).toBe('applied')
}

async function decide(id: string, wish: { payTo?: Address; state?: 'failed'; net?: string } = {}) {
  const paid = { asset, payer, payTo: wish.payTo ?? owner, value: '10000', nonce: `0x${id}` }
  const resourceUrl = `${anEndpoint().url}?city=Lisbon`
  const details = JSON.stringify({ ...paid, resourceUrl, toolName: 'tides' })
  await stores.journal.claim(aJob({ id, details, network: wish.net ?? network }), undefined, noon)
  const transaction = `0x${id.padStart(64, '0')}` as const
  const backed = { state: 'confirmed', transaction, transferLog: 1 } as const
  const failed = { state: 'failed', transaction: null, reason: 'gas_price_too_high' } as const
  const outcome = anOutcome(wish.state === undefined ? backed : failed)
  await stores.journal.resolve({ outcomes: [{ id, round: 0, outcome }], now: noon + 1 })
}

const taken = () =>
  vi.waitFor(async () => expect(await stores.events.queued(1)).toEqual([]), { timeout: 5_000 })

async function read(path = url, as?: Address) {
  const open = as && (await sessions.open(as, { caller: as, block: as }))
  const headers = open === undefined ? {} : { cookie: `arcus_session=${open.id}` }
  const answer = await app.inject({ url: path, headers })
  return { status: answer.statusCode, body: answer.json() }
}

describe('the feed of a merchant', () => {
  it('shows its owner each payment once, oldest first, whatever died in between', async () => {
    await decide('1')
    await decide('2', { state: 'failed' })
    await decide('3', { payTo: stranger })
    await decide('4', { net: 'eip155:1' })
    // The process died after it had kept the event and before it knew.
    const [first] = await stores.events.queued(1)
    collector.start()
    await taken()
    const again = { ...first, key: 'payment.settled/1', merchantId: 'weather', data: '{}' }
    await stores.events.keep([again as never], [])

    const { status, body } = await read(url, owner)
    expect(status).toBe(200)
    expect(eventsAnswer.parse(body)).toEqual(body)
    expect(body).toMatchObject({ merchant: 'weather', scope: 'owner', hasMore: false })
    const [{ id: endpointId } = { id: 0 }] = await stores.listings.endpointsOf('weather')
    expect(body.events).toMatchObject([
      {
        type: 'payment.settled',
        timestamp: new Date(noon + 1).toISOString(),
        data: {
          ...{ merchantId: 'weather', endpointId, network, amount: '10000', reason: null },
          ...{ payer: getAddress(payer), payTo: getAddress(owner), nonce: '0x1' },
          ...{
            resource: anEndpoint().url,
            toolName: 'tides',
            transaction: `0x${'1'.padStart(64, '0')}`,
          },
        },
      },
      { type: 'payment.failed', data: { reason: 'gas_price_too_high', transaction: null } },
    ])
    const ids = body.events.map(({ id }: { id: string }) => id)
    expect(new Set(ids).size).toBe(2)
    for (const id of ids) expect(id).toMatch(/^evt_[\w-]{24}$/)

    const page = (await read(`${url}?limit=1`, owner)).body
    expect(page).toMatchObject({ hasMore: true, next: page.events[0].cursor })
    const rest = (await read(`${url}?since=${page.next}`, owner)).body
    expect(rest.events.map(({ id }: { id: string }) => id)).toEqual([ids[1]])
    expect((await read(`${url}?since=${rest.next}`, owner)).body).toMatchObject({
      events: [],
      next: rest.next,
    })
  })

  it('shows strangers what the catalog shows, and no payment', async () => {
    await decide('1')
    const [endpoint] = await stores.listings.endpointsOf('weather')
    const { accepts, extras, id = 0 } = { ...endpoint, ...anEndpoint(), id: endpoint?.id }
    const probe = { message: 'It is down.', warnings: [], seen: {}, checkedAt: noon / 1_000 }
    const health = { accepts, extras, status: 'failing', failures: 3, nextProbeAt: null } as const
    const down = { ...health, probe: { ...probe, verdict: 'unreachable' } }
    await stores.listings.saveProbe(id, down, 5)
    collector.start()
    await taken()

    const { body } = await read()
    expect(body).toMatchObject({ scope: 'public' })
    expect(body.events).toMatchObject([
      {
        type: 'endpoint.failing',
        data: { endpointId: id, verdict: 'unreachable', price: '10000' },
      },
    ])
    expect((await read(url, owner)).body.events).toHaveLength(2)
    expect((await read(url, stranger)).status).toBe(403)
    // The owner of a listing that names somebody's address hears of none of its payments.
    expect((await read('/api/merchants/thief/events', stranger)).body).toMatchObject({
      error: 'pay_to_unproven',
    })
    expect((await read('/api/merchants/thief/events')).body.events).toEqual([])
    expect((await read('/api/merchants/nobody/events')).status).toBe(404)
    await stores.listings.setFlags('weather', { hiddenReason: 'spam' }, 9)
    expect((await read()).body).toMatchObject({ error: 'merchant_hidden' })
    expect((await read(url, owner)).status).toBe(200)
  })

  it('leaves the news in the queue while the disk is nearly full', async () => {
    disk.isLow = true
    await decide('1')
    collector.start()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(await stores.events.queued(9)).toHaveLength(1)
    disk.isLow = false
    await taken()
    expect((await read(url, owner)).body.events).toHaveLength(1)
  })

  it('refuses parameters that it does not know', async () => {
    for (const query of ['since=now', 'limit=-1', 'limit=0', 'type=payment.settled']) {
      expect((await read(`${url}?${query}`)).body).toMatchObject({ error: 'invalid_request' })
    }
  })
})
