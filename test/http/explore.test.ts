import { exploreAnswer, type PaymentsAnswer } from '@arcus/protocol/answers/activity'
import type { ErrorAnswer } from '@arcus/protocol/answers/errors'
import { getAddress } from 'viem'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { unclaimedId } from '../../src/directory/store/ownership.js'
import { refundNonceOf } from '../../src/facilitator/methods/exact-job.js'
import { asset, startDirectory, type TestDirectory } from '../support/a-directory.js'
import { save } from '../support/directory/a-catalog.js'
import { payTo } from '../support/directory/payments.js'

const DAY = 86_400
const noon = Date.parse('2026-11-20T12:00:00Z')
const buyer = (number: number) => `0x${number.toString(16).padStart(40, '0')}` as const
const hash = (number: number) => `0x${number.toString(16).padStart(64, '0')}` as const
const own = { owner: payTo }
const url = 'https://api.example.com/shop'

let directory: TestDirectory
let app: TestDirectory['app']
let store: TestDirectory['store']
let pay: TestDirectory['pay']
let base: string

beforeEach(async () => {
  directory = await startDirectory({ startSeconds: noon / 1_000 })
  ;({ app, store, pay } = directory)
  base = await app.listen({ host: '127.0.0.1', port: 0 })
})
afterEach(() => app.close())

const explore = async () => exploreAnswer.parse(await (await fetch(`${base}/api/explore`)).json())

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
  await save(store, { id: 'shops', ...own }, [{ url }])
  const nonces = await pay(
    { at: noon - 2 * DAY * 1_000 },
    { at: noon - 40 * DAY * 1_000, amount: 70_000n },
    { payer: buyer(2) },
    { payer: payTo },
    { kind: 'verify' },
    { state: 'failed', settlementId: null },
    { payer: buyer(3) },
  )
  await pay({ payer: payTo, payTo: buyer(3), refunds: nonces.at(-1) })
  const { days, month, before } = await explore()
  expect(before).toEqual({ settled: 1, usd: '0.07', successRate: 1 })
  expect(month).toMatchObject({ settled: 2, payers: { unique: 2 } })
  expect(days).toHaveLength(30)
  expect(days.map(({ settled }) => settled).slice(-3)).toEqual([1, 0, 1])
  expect(days.at(-1)).toEqual({ at: noon / 1_000 - DAY / 2, settled: 1, usd: '0.01' })
})

it('names nobody whose address is not proven any more', async () => {
  const strange = { id: 'strange', payTo: buyer(8) }
  await save(store, { id: 'shops', ...own }, [{}])
  await save(store, { ...strange, owner: buyer(8) }, [{}])
  await pay({}, { payTo: buyer(8) })
  await save(store, { ...strange, owner: buyer(9) }, [{}])
  const { settlements } = await explore()
  expect(settlements.map(({ merchant }) => merchant?.id ?? null)).toEqual([null, 'shops'])
})

it('names the seller that the page of the payment names, whatever URL the buyer states', async () => {
  await save(store, { id: 'shops', ...own }, [{}])
  await save(store, { id: unclaimedId(payTo), owner: null }, [{ url }])
  await pay({ resourceUrl: url })
  const [latest] = (await explore()).settlements
  const payee = await (await fetch(`${base}/api/payees/${payTo}`)).json()
  expect(payee).toMatchObject({ merchant: { id: 'shops' } })
  expect(payee).toMatchObject({ merchant: latest?.merchant })
})

it('says what was given back, also to those who listen, once it is', async () => {
  const sale = { payer: buyer(2), amount: 30_000n }
  const [nonce = hash(0)] = await pay(sale)
  const here = await follow()
  expect((await explore()).settlements).toMatchObject([{ amount: '30000', refunded: null }])
  const about = { network: 'eip155:5042', asset, payer: sale.payer, paymentNonce: nonce }
  const back = { payer: payTo, payTo: sale.payer, refunds: nonce, nonce: refundNonceOf(about) }
  await pay({ ...back, amount: 20_000n })
  await vi.waitFor(() => expect(here.text).toContain('"refunded":"20000"'), { timeout: 15_000 })
  const { settlements } = await explore()
  expect(settlements).toMatchObject([{ amount: '30000', refunded: '20000' }])
  here.stop()
})

it('shows nothing of a payment but what the chain and the directory show', async () => {
  const transaction = hash(7)
  const sale = { resourceUrl: 'https://secret.example/path', payer: buyer(7), transaction }
  const [nonce] = await pay(sale)
  await pay({ kind: 'verify' }, { state: 'failed' })
  const { settlements } = await explore()
  expect(settlements).toEqual([
    {
      id: 1,
      at: new Date(noon).toISOString(),
      state: 'settled',
      network: 'eip155:5042',
      payer: getAddress(buyer(7)),
      payTo: getAddress(payTo),
      nonce,
      amount: '10000',
      refunded: null,
      asset: getAddress(asset),
      symbol: 'USDC',
      currency: 'USD',
      transaction,
      isSelf: false,
      isCheck: false,
      merchant: null,
    },
  ])
})

describe('the list of all payments', () => {
  const list = async (query = '') => {
    const answer = await fetch(`${base}/api/payments${query}`)
    return { status: answer.status, body: (await answer.json()) as PaymentsAnswer & ErrorAnswer }
  }

  it('is found by seller, buyer, amount, day and network, and names no call', async () => {
    await save(store, { id: 'shops', ...own }, [{ url }])
    await save(store, { id: 'claimant', owner: buyer(5), payTo }, [{}])
    await pay(
      { payer: buyer(2), resourceUrl: url, at: noon - 2 * DAY * 1_000 },
      { payer: buyer(3), amount: 30_000n, resourceUrl: url },
      { payer: payTo, amount: 5n },
      { payTo: buyer(8), payer: buyer(2) },
    )
    const found = async (query: string) =>
      (await list(query)).body.items.map(({ amount, merchant }) => [amount, merchant?.id ?? null])
    expect(await found('')).toEqual([
      ['10000', null],
      ['5', 'shops'],
      ['30000', 'shops'],
      ['10000', 'shops'],
    ])
    expect(await found('?seller=shops&limit=2')).toHaveLength(2)
    expect(await found(`?seller=${payTo}&buyer=${buyer(2)}`)).toEqual([['10000', 'shops']])
    // Anybody may name the address in a listing.
    expect(await found('?seller=claimant')).toEqual([])
    expect(await found('?seller=nobody-here')).toEqual([])
    expect(await found('?minAmount=10001')).toEqual([['30000', 'shops']])
    expect(await found('?to=2026-11-19')).toEqual([['10000', 'shops']])
    expect(await found('?from=2026-11-19&maxAmount=5')).toEqual([['5', 'shops']])
    expect(await found('?network=eip155:1')).toEqual([])
    const { body } = await list('?seller=shops')
    expect(body.items[0]).toMatchObject({ isSelf: true, isCheck: false })
    expect(JSON.stringify(body)).not.toContain('example.com')
    expect((await explore()).own).toBe(1)
  })

  it('leads from page to page, also when payments are added meanwhile', async () => {
    await pay(...Array.from({ length: 5 }, (_, i) => ({ payer: buyer(2), amount: BigInt(i + 1) })))
    const first = await list('?limit=2')
    await pay({ amount: 6n })
    const second = await list(`?limit=2&cursor=${first.body.next}`)
    const third = await list(`?limit=2&cursor=${second.body.next}`)
    const amounts = [first, second, third].map(({ body }) => body.items.map((it) => it.amount))
    expect(amounts).toEqual([['5', '4'], ['3', '2'], ['1']])
    expect(third.body.next).toBeNull()
  })

  it('is a file with all that fits, not only a page of it', async () => {
    await save(store, { id: 'shops', ...own }, [{ url }])
    await pay(
      ...Array.from({ length: 510 }, (_, i) => ({ payer: buyer(2), amount: BigInt(10 + i) })),
      { payer: buyer(3), payTo: buyer(8), amount: 7n },
    )
    const read = async (query: string) => {
      const answer = await fetch(`${base}/api/payments.csv${query}`)
      expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
      expect(answer.headers.get('content-disposition')).toContain('payments.csv')
      return (await answer.text()).trimEnd().split('\r\n')
    }
    const [head, ...all] = await read('')
    expect(head?.split(',')).toEqual(
      expect.arrayContaining(['time', 'seller', 'buyer', 'amount', 'returned', 'transaction']),
    )
    expect(all).toHaveLength(511)
    expect(all[0]).toContain(`,${getAddress(buyer(3))},0.000007,`)
    expect(all.join()).not.toContain('example.com')
    const wanted = await read(`?seller=shops&buyer=${buyer(2)}&minAmount=519`)
    expect(wanted.slice(1)).toEqual([expect.stringContaining(',settled,shops,')])
    expect(await read('?seller=nobody-here')).toHaveLength(1)
    const refused = await fetch(`${base}/api/payments.csv?limit=5`)
    expect(refused.status).toBe(400)
  })

  it.each([
    ['?buyer=penny', 'buyer must be an address: 0x and 40 hex digits.'],
    ['?minAmount=0.5', 'minAmount must be an amount of atomic units: at most 78 decimal digits.'],
    ['?state=failed', 'state must be settled or refunded.'],
    ['?from=yesterday', 'from must be a day as YYYY-MM-DD.'],
    ['?from=2026-11-02&to=2026-11-01', 'to must not be before from.'],
    ['?cursor=7', 'cursor must be `next` of a page.'],
    ['?merchant=shops', 'merchant is not a parameter of this route.'],
  ])('refuses %s in words', async (query, message) => {
    expect(await list(query)).toMatchObject({ status: 400, body: { message } })
  })
})

it('sends payments as they settle to everybody who listens, and beats', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const [here, there] = await Promise.all([follow(), follow('198.51.100.1')])
  vi.advanceTimersByTime(14_999)
  expect(here.text).not.toContain('event: beat')
  vi.advanceTimersByTime(1)
  await vi.waitFor(() => expect(here.text).toContain('event: beat'), { timeout: 15_000 })
  vi.useRealTimers()
  await pay({ transaction: hash(1) }, { transaction: hash(2) })
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
