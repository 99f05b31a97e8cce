import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Price } from '@arcus/merchant'
import { createRefunds, type Refunds, type RefundsOptions } from '@arcus/merchant/refunds'
import { encodePaymentSignatureHeader } from '@x402/core/http'
import { type PaymentPayload, SettleError, type SettleResponse } from '@x402/core/types'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  aFacilitator,
  aPayload,
  aShop,
  buy,
  payer,
  readRequired,
  readSettlement,
  success,
  transaction,
} from './a-shop.js'

const signer = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const failure = { success: false, transaction: '', network: 'eip155:5042' } as const

function aLedgerPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-refunds-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'refunds.jsonl')
}

const statesIn = (path: string) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { state: string }).state)

/** Returns the amounts that the ledger records as refunded. */
const landedIn = (path: string) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"landed"'))
    .map((line) => (JSON.parse(line) as { amount: string }).amount)

const aRefund = {
  network: 'eip155:5042',
  asset: `0x36${'0'.repeat(38)}`,
  extra: { name: 'USDC', version: '2' },
  amount: '1',
  payer,
  paymentNonce: `0x${'07'.repeat(32)}`,
  paymentValidBefore: 9,
} as const

interface RefundSetup {
  refunds: Refunds
  path: string
  sent: PaymentPayload[]
}

/** Makes refunds through a facilitator that gives the listed answers first. Every later transfer lands. */
async function setUpRefunds(
  answers: (SettleResponse | Error)[] = [],
  options: { path?: string } & Pick<RefundsOptions, 'wasSettled'> = {},
): Promise<RefundSetup> {
  const { path = aLedgerPath(), ...looks } = options
  const sent: PaymentPayload[] = []
  const facilitator = aFacilitator({
    settle(payload) {
      sent.push(payload)
      const answer = answers.shift() ?? success
      if (answer instanceof Error) throw answer
      return answer
    },
  })
  const refunds = await createRefunds({ facilitator, signer, path, ...looks })
  onTestFinished(() => refunds.close())
  return { refunds, path, sent }
}

async function aMeteredShop(
  setup: RefundSetup,
  charge: string,
  facilitator = aFacilitator(),
  price: Price = '$0.05',
) {
  const config = { x402: { price, pricing: 'metered', payTo: signer.address } } as const
  return aShop(
    (it) =>
      it.get('/tool', { config }, async ({ payment }) => {
        payment?.charge(charge)
        return 'goods'
      }),
    { x402: { refunds: setup.refunds }, facilitator },
  )
}

it('the unused part of a metered price goes back to the buyer', async () => {
  const setup = await setUpRefunds()
  const { app, facilitator } = await aMeteredShop(setup, '$0.012')
  const response = await buy(app, { url: '/tool' })
  expect(response.body).toBe('goods')
  expect(readSettlement(response).extra).toEqual({ charged: '12000', refund: '38000' })
  expect(facilitator.settled).toBe(1)
  await vi.waitFor(() => expect(setup.refunds.pending()).toEqual([]), { timeout: 15_000 })
  const [refund] = setup.sent
  expect(refund?.accepted).toMatchObject({ amount: '38000', payTo: payer, network: 'eip155:5042' })
  expect(refund?.payload).toMatchObject({
    authorization: { from: signer.address, to: payer.toLowerCase(), value: '38000' },
  })
  expect(statesIn(setup.path)).toEqual(['planned', 'due', 'landed'])
})

it('the rest of a price that was paid by Permit2 goes back to its payer, under a nonce of its own', async () => {
  const setup = await setUpRefunds()
  const { app } = await aMeteredShop(setup, '$0.012')
  const payload = aPayload(readRequired(await app.inject({ url: '/tool' })))
  const permit2Authorization = { from: payer, nonce: '255', deadline: '9' }
  const permitted = { ...payload, payload: { signature: '0x', permit2Authorization } }
  const headers = { 'payment-signature': encodePaymentSignatureHeader(permitted) }
  expect((await app.inject({ url: '/tool', headers })).statusCode).toBe(200)
  await vi.waitFor(() => expect(setup.refunds.pending()).toEqual([]), { timeout: 15_000 })
  expect(setup.sent[0]?.accepted).toMatchObject({ amount: '38000', payTo: payer })
  const [planned] = readFileSync(setup.path, 'utf8').split('\n')
  expect(JSON.parse(planned as string)).toMatchObject({
    payer,
    paymentNonce: `0x${'0'.repeat(62)}ff`,
    paymentValidBefore: 10,
  })
})

it('a price in euros is charged and refunded in euros, and a charge in dollars is a failure', async () => {
  const setup = await setUpRefunds()
  const { app } = await aMeteredShop(setup, '0.012 EUR', aFacilitator(), '€0.05')
  const settlement = readSettlement(await buy(app, { url: '/tool' }))
  expect(settlement.extra).toEqual({ charged: '12000', refund: '38000' })
  await vi.waitFor(() => expect(setup.refunds.pending()).toEqual([]), { timeout: 15_000 })
  const asset = '0xbef5f6d51cb62b58e6a8f77868681825c6fe21c1'
  const extra = { name: 'EURC', version: '2' }
  expect(setup.sent).toMatchObject([{ accepted: { amount: '38000', asset, extra } }])
  const wrong = await aMeteredShop(setup, '$0.012', aFacilitator(), '€0.05')
  expect((await buy(wrong.app, { url: '/tool' })).statusCode).toBe(500)
  expect(wrong.facilitator.settled).toBe(0)
})

it.each([
  ['$0.05', undefined],
  ['50000', undefined],
  ['49999', '1'],
])('a call that used %s of $0.05 returns %s', async (charge, refund) => {
  const setup = await setUpRefunds()
  const { app } = await aMeteredShop(setup, charge)
  const settlement = readSettlement(await buy(app, { url: '/tool' }))
  expect(settlement.extra?.refund).toBe(refund)
})

describe('a handler that gives a fixed price back', () => {
  async function giveBack(part?: string, options: { refunds?: Refunds; payTo?: string } = {}) {
    const setup = await setUpRefunds()
    const { refunds = setup.refunds, payTo = signer.address } = options
    const config = { x402: { price: '$0.05', payTo } } as const
    const { app, facilitator } = await aShop(
      (it) => it.get('/tool', { config }, async ({ payment }) => payment?.refund(part)),
      { x402: { refunds } },
    )
    return { ...setup, facilitator, response: await buy(app, { url: '/tool' }) }
  }

  it.each([
    [undefined, { charged: '0', refund: '50000' }],
    ['$0.02', { charged: '30000', refund: '20000' }],
    ['50000', { charged: '0', refund: '50000' }],
  ])('settles once, and says what %s leaves', async (part, extra) => {
    const { response, facilitator, refunds, sent } = await giveBack(part)
    expect([response.statusCode, response.body]).toEqual([200, extra.refund])
    expect(readSettlement(response)).toMatchObject({ success: true, transaction, extra })
    expect(facilitator.settled).toBe(1)
    await vi.waitFor(() => expect(refunds.pending()).toEqual([]), { timeout: 15_000 })
    expect(sent).toMatchObject([{ accepted: { amount: extra.refund, payTo: payer } }])
  })

  it.each([
    ['more than was paid', '$0.06', {}],
    ['nothing', '0', {}],
    ['what another account was paid', '$0.02', { payTo: payer.toLowerCase() }],
  ])('fails where it is %s, and settles nothing', async (_, part, options) => {
    const { response, facilitator, sent } = await giveBack(part, options)
    expect(response.statusCode).toBe(500)
    expect([facilitator.settled, sent]).toEqual([0, []])
  })
})

it.each(['$0', '$0.00', '0'])('a call that used %s settles nothing', async (charge) => {
  const setup = await setUpRefunds()
  const { app, facilitator } = await aMeteredShop(setup, charge)
  const response = await buy(app, { url: '/tool' })
  expect([response.statusCode, response.body]).toEqual([200, 'goods'])
  expect(response.headers['payment-response']).toBeUndefined()
  expect(facilitator.calls).toEqual(['verify'])
})

it.each(['$0.06', '50001', '-1', '$-1', '0.01', '1e3', '', '$0.0000001', '€0.01'])(
  'a charge of "%s" is a failure of the handler',
  async (charge) => {
    const setup = await setUpRefunds()
    const { app, facilitator } = await aMeteredShop(setup, charge)
    expect((await buy(app, { url: '/tool' })).statusCode).toBe(500)
    expect(facilitator.settled).toBe(0)
  },
)

it('a fixed price cannot be charged in part', async () => {
  const { app, facilitator } = await aShop((it) =>
    it.get('/tool', { config: { x402: '$0.05' } }, async ({ payment }) => {
      payment?.charge('$0.01')
      return 'goods'
    }),
  )
  expect((await buy(app, { url: '/tool' })).statusCode).toBe(500)
  expect(facilitator.settled).toBe(0)
})

it('a refund is tried until it lands, always as the same transfer', async () => {
  const pending = { ...failure, errorReason: 'settlement_pending', transaction }
  const setup = await setUpRefunds([
    new TypeError('fetch failed'),
    pending,
    new SettleError(500, { ...failure, errorReason: 'unexpected_settle_error' }),
  ])
  const { app } = await aMeteredShop(setup, '$0.01')
  await buy(app, { url: '/tool' })
  for (let tries = 0; tries < 4; tries++) await setup.refunds.run()
  expect(setup.refunds.pending()).toEqual([])
  expect(setup.sent).toHaveLength(4)
  expect(new Set(setup.sent.map((payload) => JSON.stringify(payload))).size).toBe(1)
})

it('the ledger makes its folder', async () => {
  const setup = await setUpRefunds([], {
    path: join(dirname(aLedgerPath()), 'data', 'refunds.jsonl'),
  })
  const { app } = await aMeteredShop(setup, '$0.01')
  expect((await buy(app, { url: '/tool' })).statusCode).toBe(200)
  expect(statesIn(setup.path)[0]).toBe('planned')
})

it('a refund whose nonce is used stays due where nobody can find its transfer', async () => {
  const used = { ...failure, errorReason: 'invalid_exact_evm_nonce_already_used', transaction }
  const setup = await setUpRefunds(Array(9).fill(used))
  const { app } = await aMeteredShop(setup, '$0.01')
  await buy(app, { url: '/tool' })
  await setup.refunds.run()
  expect(setup.refunds.pending()).toMatchObject([{ state: 'due', amount: '40000' }])
})

it('a payment that does not settle has no refund', async () => {
  const setup = await setUpRefunds()
  const { app } = await aMeteredShop(setup, '$0.01', aFacilitator({ settle: () => failure }))
  expect((await buy(app, { url: '/tool' })).statusCode).toBe(402)
  await setup.refunds.run()
  expect(setup.sent).toEqual([])
  expect(statesIn(setup.path)).toEqual(['planned', 'dropped'])
})

it('the refund of a pending settlement waits for it', async () => {
  const pending = { ...failure, errorReason: 'settlement_pending', transaction }
  const setup = await setUpRefunds([], { wasSettled: async () => undefined })
  const { app } = await aMeteredShop(setup, '$0.01', aFacilitator({ settle: () => pending }))
  expect((await buy(app, { url: '/tool' })).statusCode).toBe(402)
  expect(setup.refunds.pending()).toMatchObject([{ state: 'planned', amount: '40000' }])
})

/** Makes a shop whose first settlement lands without an answer. Each call charges the next amount. */
async function aShopThatLostAnAnswer(setup: RefundSetup, charges: string[]) {
  let settles = 0
  const facilitator = aFacilitator({
    settle: () => {
      settles++
      if (settles === 1) throw new TypeError('fetch failed')
      return success
    },
  })
  const config = { x402: { price: '$0.05', pricing: 'metered', payTo: signer.address } } as const
  const { app } = await aShop(
    (it) =>
      it.get('/tool', { config }, async ({ payment }) => {
        payment?.charge(charges.shift() ?? '$0.05')
        return 'goods'
      }),
    { x402: { refunds: setup.refunds }, facilitator },
  )
  expect((await buy(app, { url: '/tool' })).statusCode).toBe(502)
  return app
}

it.each([
  ['$0.03', '30000', ['20000']],
  ['$0.05', '50000', []],
])(
  'of a payment presented again is one, of the call that was answered: %s',
  async (second, charged, given) => {
    let isKnown = false
    const setup = await setUpRefunds([], { wasSettled: async () => isKnown || undefined })
    const app = await aShopThatLostAnAnswer(setup, ['$0.01', second])
    const { extra } = readSettlement(await buy(app, { url: '/tool' }))
    expect(extra).toEqual({ charged, refund: String(50_000 - Number(charged)) })
    isKnown = true
    await setup.refunds.run()
    await setup.refunds.run()
    expect(landedIn(setup.path)).toEqual(given)
    expect(setup.sent).toHaveLength(given.length)
    expect(setup.refunds.pending()).toEqual([])
  },
)

it('a payment presented again keeps the refund that is on its way, and the answer says so', async () => {
  const setup = await setUpRefunds([], { wasSettled: async () => true })
  const app = await aShopThatLostAnAnswer(setup, ['$0.01', '$0.03'])
  await setup.refunds.run()
  await setup.refunds.run()
  expect(landedIn(setup.path)).toEqual(['40000'])
  const { extra } = readSettlement(await buy(app, { url: '/tool' }))
  expect(extra).toEqual({ charged: '10000', refund: '40000' })
  await setup.refunds.run()
  expect(landedIn(setup.path)).toEqual(['40000'])
  expect(setup.refunds.pending()).toEqual([])
})

it('the refund of a payment presented again waits for the call that is under way', async () => {
  const setup = await setUpRefunds([], { wasSettled: async () => true })
  const plan = (amount: string) => setup.refunds.plan({ ...aRefund, amount })
  const lost = await plan('40000')
  const again = await plan('20000')
  lost.leave()
  await setup.refunds.run()
  await setup.refunds.run()
  expect(setup.sent).toEqual([])
  await again.confirm()
  await setup.refunds.run()
  await setup.refunds.run()
  expect(landedIn(setup.path)).toEqual(['20000'])
})

it('a payment whose refund cannot be recorded is not settled', async () => {
  const setup = await setUpRefunds()
  const { app, facilitator } = await aMeteredShop(setup, '$0.01')
  await setup.refunds.close()
  const response = await buy(app, { url: '/tool' })
  expect([response.statusCode, response.json().error]).toEqual([502, 'refund_unavailable'])
  expect(facilitator.settled).toBe(0)
})

it('a metered price by exact without refunds, or with refunds of another account, stops the server', async () => {
  const setup = await setUpRefunds()
  const metered = {
    x402: { price: '$0.05', pricing: 'metered', schemes: ['exact'] },
  } as const
  const sell = (x402: object) =>
    aShop((it) => it.get('/a', { config: metered }, () => 'x'), { x402 })
  await expect(sell({})).rejects.toThrow(/needs refunds/)
  await expect(sell({ refunds: setup.refunds })).rejects.toThrow(/refunds come from 0x/)
})
