import { eventsAnswer } from '@arcus/protocol/answers/events'
import { getAddress } from 'viem'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { network, startDirectory, type TestDirectory } from '../support/a-directory.js'
import { anAccount } from '../support/an-account.js'
import { anEndpoint, save } from '../support/directory/a-catalog.js'
import { type PaymentWish, payer } from '../support/directory/payments.js'

const owner = anAccount()
const stranger = anAccount()
const lower = ({ address }: typeof owner) => address.toLowerCase() as typeof address
const url = '/api/merchants/weather/events'
const endpoint = anEndpoint()

let directory: TestDirectory
let stores: TestDirectory['stores']

beforeEach(async () => {
  directory = await startDirectory({ isIdle: true })
  stores = directory.stores
  const listed = { payTo: lower(owner) }
  await save(stores.listings, { id: 'weather', owner: lower(owner), ...listed }, [endpoint])
  // Anybody may list an address that is not theirs.
  await save(stores.listings, { id: 'thief', owner: lower(stranger), ...listed }, [endpoint])
})
afterEach(() => directory.close())

const pay = (wish: PaymentWish = {}) =>
  directory.pay({
    payTo: lower(owner),
    resourceUrl: `${endpoint.url}?city=Lisbon`,
    toolName: 'tides',
    ...wish,
  })

const taken = () =>
  vi.waitFor(async () => expect(await stores.events.queued(1)).toEqual([]), { timeout: 15_000 })

async function read(path = url, as?: typeof owner) {
  const answer = await directory.get(path, as && { cookie: await directory.signIn(as) })
  return { status: answer.statusCode, body: answer.json() }
}

describe('the feed of a merchant', () => {
  it('shows its owner each payment once, oldest first, whatever died in between', async () => {
    const { ms } = directory.clock
    const [nonce] = await pay({ settlementId: '1' })
    await pay({ state: 'failed', reason: 'gas_price_too_high' })
    await pay({ payTo: lower(stranger) })
    await pay({ network: 'eip155:1' })
    // The process died after it had kept the event and before it knew.
    const [first] = await stores.events.queued(1)
    directory.start()
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
        timestamp: new Date(ms + 1).toISOString(),
        data: {
          merchantId: 'weather',
          endpointId,
          network,
          amount: '10000',
          reason: null,
          payer: getAddress(payer),
          payTo: owner.address,
          nonce,
          transaction: nonce,
          resource: endpoint.url,
          toolName: 'tides',
        },
      },
      {
        type: 'payment.failed',
        data: {
          reason: 'gas_price_too_high',
          transaction: null,
          endpointId,
          resource: endpoint.url,
        },
      },
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
    await pay()
    const [{ id } = { id: 0 }] = await stores.listings.endpointsOf('weather')
    const { accepts, extras } = endpoint
    const { seconds } = directory.clock
    const probe = { message: 'It is down.', warnings: [], seen: {}, checkedAt: seconds }
    const health = { accepts, extras, status: 'failing', failures: 3, nextProbeAt: null } as const
    const down = { ...health, probe: { ...probe, verdict: 'unreachable' } }
    await stores.listings.saveProbe(id, down, seconds)
    directory.start()
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

  it('shows a payment that failed and then settled as settled alone', async () => {
    const { journal } = stores
    const { ms } = directory.clock
    await pay({ settlementId: 'again', state: 'failed', reason: 'gas_price_too_high' })
    const failed = await journal.findJobById('again')
    const reopened = failed && (await journal.reopen(failed, failed, ms))
    const outcome = {
      ...({ state: 'confirmed', reason: null, message: null, gasCost: null } as const),
      transaction: `0x${'5'.repeat(64)}` as const,
      blockNumber: 8,
      transferLog: 9_999,
    }
    const outcomes = [{ id: 'again', round: reopened?.round ?? 0, outcome }]
    await journal.resolve({ outcomes, now: ms + 1 })
    directory.start()
    await taken()
    const { events } = (await read(url, owner)).body
    expect(events.map(({ type }: { type: string }) => type)).toEqual(['payment.settled'])
  })

  it('leaves the news in the queue while the disk is nearly full', async () => {
    await pay()
    directory.disk.isLow = true
    directory.start()
    // Some looks later nothing has moved.
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(await stores.events.queued(9)).toHaveLength(1)
    directory.disk.isLow = false
    await taken()
    expect((await read(url, owner)).body.events).toHaveLength(1)
  })

  it('refuses parameters that it does not know', async () => {
    for (const query of ['since=now', 'limit=-1', 'limit=0', 'type=payment.settled']) {
      expect((await read(`${url}?${query}`)).body).toMatchObject({ error: 'invalid_request' })
    }
  })
})
