import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createArcusClient, createBuyer } from '@arcus/client'
import type { BuyerOptions } from '@arcus/client/buyer'
import { ArcusError } from '@arcus/client/calls'
import { createMemoryLedger, type Ledger } from '@arcus/client/ledger'
import { createFileLedger } from '@arcus/client/ledger-file'
import { x402 } from '@arcus/merchant'
import fastify from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { devnetMerchant } from '../../../src/devnet/accounts.js'
import { devnetContracts, mintUsdc, tokenBalance } from '../../../src/devnet/fixtures.js'
import { approvePermit2 } from '../../support/a-permit2-payment.js'
import { type Shop, startShop } from '../../support/a-shop.js'
import { anAccount } from '../../support/an-account.js'
import { startWorld, type World } from '../../support/arcus.js'

const folder = mkdtempSync(join(tmpdir(), 'arcus-ledger-'))
const account = anAccount()
const day = 86_400_000

let world: World
let shop: Shop
let other: Shop
let files = 0

beforeAll(async () => {
  world = await startWorld({ env: { PROBE_ALLOW_PRIVATE_HOSTS: 'true' } })
  await mintUsdc(world.chainUrl, account.address, 10_000_000n)
  shop = await startShop(world.post)
  other = await startShop(world.post)
})
beforeEach(() => {
  for (const it of [shop, other]) {
    it.ask('10000')
    it.isOpen = true
    it.hangsUp = 0
    it.presented.length = 0
  }
})
afterAll(async () => {
  vi.useRealTimers()
  await shop.stop()
  await other.stop()
  await world.stop()
  rmSync(folder, { recursive: true })
})

const aPath = () => join(folder, `${files++}`, 'ledger.jsonl')
const spentOnChain = async () => 10_000_000n - (await balance())
const balance = () => tokenBalance(world.chainUrl, devnetContracts.usdc, account.address)

function aBuyer(limits: Partial<BuyerOptions['limits']>, ledger: Ledger = createMemoryLedger()) {
  const all = { perCall: '$0.05', perDay: '$1', ...limits }
  return createBuyer({ url: world.url, signer: account, limits: all, ledger })
}

async function refusalOf(promise: Promise<unknown>) {
  const error = await promise.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ArcusError)
  return error as ArcusError & { details: Record<string, unknown> }
}

it('names what is missing in the options of a buyer', () => {
  const make = (options: object) => () => createBuyer(options as Parameters<typeof createBuyer>[0])
  expect(make({})).toThrow(/^createBuyer needs signer: .*; limits: .*; ledger: /)
  const ledger = createMemoryLedger()
  const limits = { perCall: '$1', perDay: '$1' }
  expect(make({ limits, ledger, signer: '0xkey' })).toThrow(/^createBuyer needs signer: an account/)
  expect(make({ limits, signer: account })).toThrow(/^createBuyer needs ledger: createFileLedger/)
})

describe('the limits of a buyer', () => {
  it('let a call through, book what it cost, and say what is left', async () => {
    const buyer = aBuyer({ total: '$2', perSeller: '$0.5' })
    const before = await spentOnChain()
    const bought = await buyer.pay(shop.url)
    expect(await bought.response.json()).toMatchObject({ goods: true })
    expect(bought).toMatchObject({ cost: 10_000n, isDecided: true })
    expect(bought.left).toEqual({ perDay: 990_000n, perSeller: 490_000n, total: 1_990_000n })
    expect((await spentOnChain()) - before).toBe(10_000n)
    const { entries, left } = await buyer.spent()
    expect(left.perDay).toBe(990_000n)
    expect(entries).toMatchObject([
      { state: 'settled', spent: 10_000n, transaction: bought.settlement?.transaction },
    ])
  })

  it('refuse a call above perCall, and nothing is signed', async () => {
    const buyer = aBuyer({})
    shop.ask('50001')
    const refused = await refusalOf(buyer.pay(shop.url))
    expect(refused.code).toBe('over_limit')
    expect(refused.details).toEqual({
      limit: 'perCall',
      left: '50000',
      amount: '50001',
      until: null,
    })
    expect(refused.message).toBe(
      'The limit perCall does not allow 0.050001 USDC: 0.05 USDC left. Waiting will not help.',
    )
    const own = await refusalOf(buyer.pay(shop.url, { maxAmount: '$0.01' }))
    expect(own.details).toMatchObject({ limit: 'maxAmount', left: '10000', amount: '50001' })
    expect(shop.presented).toEqual([])
    shop.ask('50000')
    expect((await buyer.pay(shop.url)).cost).toBe(50_000n)
  })

  it('refuse the call that is too much for a day, until the first of the day is a day old', async () => {
    const ledger = createMemoryLedger()
    const buyer = aBuyer({ perDay: '$0.025' }, ledger)
    const started = Date.now()
    await buyer.pay(shop.url)
    const ended = Date.now()
    await buyer.pay(other.url)
    const refused = await refusalOf(buyer.pay(shop.url))
    expect(refused.details).toMatchObject({ limit: 'perDay', left: '5000', amount: '10000' })
    const until = Date.parse(refused.details.until as string)
    expect(until).toBeGreaterThanOrEqual(started + day)
    expect(until).toBeLessThanOrEqual(ended + day)
    expect(refused.message).toContain(`It fits from ${refused.details.until} on.`)
    expect(shop.presented).toHaveLength(1)

    // What no day allows has no time.
    const never = await refusalOf(aBuyer({ perDay: '$0.009' }).pay(shop.url))
    expect(never.details).toMatchObject({ limit: 'perDay', left: '9000', until: null })

    // A day later it fits. The clock of the chain stays, so only what the ledger counts is looked at.
    vi.setSystemTime(until - 1_000)
    expect((await refusalOf(buyer.pay(shop.url))).details.limit).toBe('perDay')
    vi.setSystemTime(until + 1_000)
    expect((await buyer.quote(shop.url)).refusal).toBeUndefined()
    vi.useRealTimers()
  })

  it('keep a seller to their own budget, at whatever host and address, and leave that of others', async () => {
    const buyer = aBuyer({ perSeller: '$0.015' })
    await buyer.pay(shop.url)
    const again = await refusalOf(buyer.pay(`${shop.url}/other`))
    expect(again.details).toMatchObject({ limit: 'perSeller', left: '5000', until: null })
    // The same address at another host is the same seller.
    expect((await refusalOf(buyer.pay(other.url))).details.limit).toBe('perSeller')
    // Another address at the same host, too.
    shop.demand({ payTo: '0x00000000000000000000000000000000000a11ce' })
    expect((await refusalOf(buyer.pay(shop.url))).details.limit).toBe('perSeller')
    other.demand({ payTo: '0x00000000000000000000000000000000000a11ce' })
    expect((await buyer.pay(other.url)).cost).toBe(10_000n)
  })

  it('end with the total, for good', async () => {
    const buyer = aBuyer({ total: 15_000n })
    await buyer.pay(shop.url)
    const refused = await refusalOf(buyer.pay(other.url))
    expect(refused.details).toEqual({ limit: 'total', left: '5000', amount: '10000', until: null })
  })

  it('name who may be paid: by host, by address, or with a proven address', async () => {
    const { host } = new URL(shop.url)
    const byHost = aBuyer({ sellers: [host] })
    expect((await byHost.pay(shop.url)).cost).toBe(10_000n)
    const refused = await refusalOf(byHost.pay(other.url))
    expect(refused.details).toEqual({ limit: 'sellers', left: '0', amount: '10000', until: null })
    const byAddress = aBuyer({ sellers: [devnetMerchant.address.toLowerCase()] })
    expect((await byAddress.pay(other.url)).cost).toBe(10_000n)
    expect((await refusalOf(aBuyer({ sellers: 'proven' }).pay(shop.url))).details.limit).toBe(
      'sellers',
    )

    const seller = fastify()
    await seller.register(x402, { facilitator: world.url, payTo: devnetMerchant.address })
    seller.get('/quote', { config: { x402: '$0.01' } }, () => ({ goods: true }))
    const url = `${await seller.listen({ port: 0, host: '127.0.0.1' })}/quote`
    const audience = `http://localhost:${new URL(world.url).port}`
    const arcus = createArcusClient({ url: world.url })
    const endpoint = { url, method: 'GET', title: 'Quotes', price: '10000' } as const
    await arcus
      .listings(devnetMerchant.account, { audience })
      .save('penny', { name: 'penny', payTo: devnetMerchant.address, endpoints: [endpoint] })
    const proven = aBuyer({ sellers: 'proven' })
    expect((await proven.pay(`${url}?of=day`)).cost).toBe(10_000n)
    expect((await aBuyer({ sellers: ['penny'] }).pay(url)).cost).toBe(10_000n)
    // Nobody has bought it to see whether it delivers.
    expect((await refusalOf(aBuyer({ sellers: 'delivered' }).pay(url))).details.limit).toBe(
      'sellers',
    )
    const quote = await proven.quote(url)
    expect(quote.item?.metadata.merchant).toMatchObject({ id: 'penny', payToProof: 'owner' })
    await seller.close()
  })

  it.each([
    [{ perCall: '0' }, 'perCall wants an amount above zero'],
    [{ perDay: '1.5' }, 'perDay wants an amount above zero'],
    [{ total: '€1' }, 'money such as $0.05'],
    [{ perday: '1' }, 'There is no limit perday.'],
    [{ sellers: 'anybody' }, 'sellers is "proven", "delivered" or a list.'],
  ])('are read strictly: %j', (limits, said) => {
    expect(() => aBuyer(limits as never)).toThrow(said)
  })
})

describe('a payment whose outcome is unknown', () => {
  it('is looked up, and booked as the facilitator says', async () => {
    const buyer = aBuyer({})
    // The seller settles it and says nothing.
    shop.hangsUp = 1
    expect((await refusalOf(buyer.pay(shop.url))).code).toBe('unreachable')
    const { entries } = await buyer.spent()
    expect(entries).toMatchObject([{ state: 'settled', spent: 10_000n }])
    expect(entries[0]?.transaction).toMatch(/^0x[0-9a-f]{64}$/)
  })

  it('stays spent where the facilitator knows nothing of it', async () => {
    const buyer = createBuyer({
      url: 'http://127.0.0.1:9',
      signer: account,
      limits: { perCall: '$0.05', perDay: '$0.025' },
      ledger: createMemoryLedger(),
    })
    shop.hangsUp = 1
    await refusalOf(buyer.pay(shop.url))
    expect((await buyer.spent()).left.perDay).toBe(15_000n)
    const again = await refusalOf(buyer.pay(shop.url))
    expect(again.code).toBe('outcome_unknown')
    expect(again.message).toMatch(/undecided, so it is not paid again before 20/)
    expect(shop.presented).toHaveLength(1)
    // Another call of the same seller is another purchase.
    expect((await buyer.pay(`${shop.url}/other`)).cost).toBe(10_000n)
    expect((await refusalOf(buyer.pay(`${shop.url}/third`))).details.limit).toBe('perDay')
  })

  it('is given back only when the facilitator has seen it unused after its end', async () => {
    let said: Record<string, unknown> = { state: 'submitted' }
    const saying: typeof fetch = async (input, init) => {
      if (!String(input).includes('/payments/')) return fetch(input, init)
      return Response.json({ transaction: null, amount: '10000', unusedAtBlock: null, ...said })
    }
    const ledger = createMemoryLedger()
    const limits = { perCall: '$0.05', perDay: '$1', total: '$2' }
    const poor = anAccount()
    const buyer = createBuyer({ url: world.url, signer: poor, limits, ledger, fetch: saying })
    const bought = await buyer.pay(shop.url)
    expect(bought).toMatchObject({ cost: 10_000n, isDecided: false })
    expect(bought.response.status).toBe(402)
    said = { state: 'failed', unusedAtBlock: 7 }
    vi.setSystemTime(Date.now() + 30_000)
    // The seller could still settle it, so it counts.
    expect((await buyer.spent()).left.perDay).toBe(990_000n)
    said = { state: 'failed' }
    vi.setSystemTime(Date.now() + 180_000)
    // It failed there, and the seller may have put it on chain afterwards.
    expect((await buyer.spent()).left.perDay).toBe(990_000n)
    said = { state: 'failed', unusedAtBlock: 7 }
    vi.setSystemTime(Date.now() + 10_000)
    // The chain was not asked by the buyer, so the limit for good does not believe it.
    expect((await buyer.spent()).left).toEqual({ perDay: 1_000_000n, total: 1_990_000n })
    vi.useRealTimers()
  })

  it('stays spent once it was used by others after it had failed', async () => {
    const saying: typeof fetch = async (input, init) => {
      if (!String(input).includes('/payments/')) return fetch(input, init)
      return Response.json({ state: 'used', transaction: null, amount: '1', unusedAtBlock: null })
    }
    const ledger = createMemoryLedger()
    const limits = { perCall: '$0.05', perDay: '$1' }
    const poor = anAccount()
    const buyer = createBuyer({ url: world.url, signer: poor, limits, ledger, fetch: saying })
    expect(await buyer.pay(shop.url)).toMatchObject({ cost: 10_000n, isDecided: true })
  })

  it.each(['1', 'nothing', 0])(
    'is no reason to believe a seller who says that %j was paid',
    async (amount) => {
      const lying: typeof fetch = async (input, init) => {
        const response = await fetch(input, init)
        const settled = response.headers.get('payment-response')
        if (settled === null) return response
        const said = { ...JSON.parse(Buffer.from(settled, 'base64').toString()), amount }
        const headers = new Headers(response.headers)
        headers.set('payment-response', Buffer.from(JSON.stringify(said)).toString('base64'))
        return new Response(response.body, { status: response.status, headers })
      }
      const ledger = createMemoryLedger()
      const limits = { perCall: '$0.05', perDay: '$1' }
      const buyer = createBuyer({ url: world.url, signer: account, limits, ledger, fetch: lying })
      const bought = await buyer.pay(shop.url)
      expect(bought).toMatchObject({ cost: 10_000n, isDecided: true })
      expect(await bought.response.json()).toMatchObject({ goods: true })
      // Nobody else knows the payment, so it counts as it was signed.
      const alone = createBuyer({ signer: account, limits, ledger, fetch: lying })
      expect(await alone.pay(other.url)).toMatchObject({ cost: 10_000n, isDecided: true })
    },
  )

  it('costs of a metered call what was charged, as the facilitator says', async () => {
    await approvePermit2(world.chainUrl, account.address, 10n ** 12n)
    const seller = fastify()
    await seller.register(x402, { facilitator: world.url, payTo: devnetMerchant.address })
    const config = { x402: { price: '$0.01', pricing: 'metered' } } as const
    seller.get('/metered', { config }, async ({ payment }) => {
      payment?.charge('$0.003')
      return { goods: true }
    })
    const url = `${await seller.listen({ port: 0, host: '127.0.0.1' })}/metered`
    const bought = await aBuyer({}).pay(url)
    expect(bought).toMatchObject({ amount: 10_000n, cost: 3_000n, isDecided: true })
    expect(bought.left.perDay).toBe(997_000n)
    await seller.close()
  })

  it.each([
    ['says that nothing was paid', { amount: '-1000000000' }],
    ['says that a part was paid', { amount: '1' }],
  ])('costs what was signed where the service %s', async (_, lie) => {
    const transaction = `0x${'1'.repeat(64)}`
    const saying: typeof fetch = async (input, init) => {
      if (!String(input).includes('/payments/')) return fetch(input, init)
      return Response.json({ state: 'confirmed', transaction, ...lie })
    }
    const limits = { perCall: '$0.05', perDay: '$1' }
    const ledger = createMemoryLedger()
    const buyer = createBuyer({ url: world.url, signer: account, limits, ledger, fetch: saying })
    shop.hangsUp = 1
    const error = await refusalOf(buyer.pay(shop.url))
    expect(error.message).toMatch(/Charged, although the call failed: 0\.01 USDC, transaction 0x1/)
    expect(error.details).toMatchObject({ cost: '10000', transaction })
    expect((await buyer.spent()).left.perDay).toBe(990_000n)
  })

  it('is asked of no service that anybody on the way could answer for', () => {
    const make = (url: string) => () =>
      createBuyer({
        url,
        signer: account,
        ledger: createMemoryLedger(),
        limits: { perCall: '$0.05', perDay: '$1' },
      })
    expect(make('http://arcus.example')).toThrow(/not encrypted.+use https/)
    for (const url of ['https://arcus.example', 'http://localhost:1', 'http://[::1]:1']) {
      expect(make(url)).not.toThrow()
    }
  })

  it('does not cost the answer where the disk is full after the payment', async () => {
    const ledger = createMemoryLedger()
    const full: Ledger = {
      ...ledger,
      append: (event) =>
        event.type === 'settled' || event.type === 'unknown'
          ? Promise.reject(new Error('ENOSPC'))
          : ledger.append(event),
    }
    const bought = await aBuyer({}, full).pay(shop.url)
    expect(await bought.response.json()).toMatchObject({ goods: true })
    expect(bought).toMatchObject({ cost: 10_000n, isDecided: false })
    const filled: Ledger = { ...ledger, append: () => Promise.reject(new Error('ENOSPC')) }
    await expect(aBuyer({}, filled).pay(shop.url)).rejects.toThrow('ENOSPC')
    expect(shop.presented).toHaveLength(1)
  })
})

describe('a ledger in a file', () => {
  it('holds the limits over restarts, and over two that are open at once', async () => {
    const path = aPath()
    await aBuyer({ perDay: '$0.025' }, createFileLedger(path)).pay(shop.url)
    const [a, b] = [createFileLedger(path), createFileLedger(path)]
    const calls = [a, b].map((ledger, i) =>
      aBuyer({ perDay: '$0.025' }, ledger).pay(`${other.url}/${i}`),
    )
    const settled = await Promise.allSettled(calls)
    const reasons = settled.filter((it) => it.status === 'rejected').map(({ reason }) => reason)
    expect(reasons).toMatchObject([
      { code: 'over_limit', details: { limit: 'perDay', left: '5000' } },
    ])
    expect(other.presented).toHaveLength(1)
  })

  it('pays nothing for a buyer that stood still until others went on without it', async () => {
    const path = aPath()
    const limits = { perCall: '$0.05', perDay: '$0.015' }
    const quick = aBuyer(limits, createFileLedger(path))
    const signer = {
      address: account.address,
      async signTypedData(typedData: never) {
        vi.setSystemTime(Date.now() + 61_000)
        expect((await quick.pay(other.url)).cost).toBe(10_000n)
        return account.signTypedData(typedData)
      },
    }
    const ledger = createFileLedger(path)
    const still = createBuyer({ url: world.url, signer: signer as never, limits, ledger })
    expect((await refusalOf(still.pay(shop.url))).code).toBe('outdated')
    expect([shop.presented.length, other.presented.length]).toEqual([0, 1])
    vi.useRealTimers()
  })

  it('is readable by its owner alone, and by no older version', async () => {
    const path = aPath()
    const ledger = createFileLedger(path)
    await aBuyer({}, ledger).pay(shop.url)
    const { statSync, appendFileSync } = await import('node:fs')
    expect(statSync(path).mode & 0o077).toBe(0)
    // What a killed process began has no effect, and hides nothing that follows.
    appendFileSync(path, '{"v":1,"id":"x","type":"reser')
    const again = aBuyer({}, createFileLedger(path))
    expect((await again.pay(shop.url)).left.perDay).toBe(980_000n)
    expect((await aBuyer({}, createFileLedger(path)).spent()).left.perDay).toBe(980_000n)
    appendFileSync(path, '{"v":2}\n')
    await expect(aBuyer({}, createFileLedger(path)).spent()).rejects.toThrow('newer version')
  })
})
