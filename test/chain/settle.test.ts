import { reasons } from '@arcus/protocol/x402/reasons'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { mintUsdc, usdcBalance } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import type { RpcProxy } from '../faults/support/rpc-proxy.js'
import { type ProxiedWorld, startProxiedWorld } from '../support/a-proxied-world.js'
import {
  aSignedPayment,
  nowSeconds,
  type SignedPayment,
  waiting,
} from '../support/a-signed-payment.js'
import type { Answer } from '../support/arcus.js'

let world: ProxiedWorld
let proxy: RpcProxy
beforeAll(async () => {
  world = await startProxiedWorld({ RATE_LIMIT_MAX: '0' })
  proxy = world.proxy
})
afterAll(() => world.stop())

const used = reasons.nonceAlreadyUsed.code
const merchantBalance = () => usdcBalance(world.chainUrl, devnetMerchant.address)
const settle = (payment: SignedPayment, headers?: Record<string, string>) =>
  world.post('/settle', payment, headers)
const lookUp = ({ paymentPayload }: SignedPayment) => {
  const { from, nonce } = paymentPayload.payload.authorization
  return world.get(`/payments/eip155:5042/${from}/${nonce}`)
}
const successes = (answers: Answer[]) => answers.filter(({ body }) => body.success)

describe('one payment, one transfer, one success', () => {
  it('of an account asks the node for its facts and for no simulation', async () => {
    const before = proxy.count('eth_estimateGas')
    const answers = []
    for (let i = 0; i < 5; i++) answers.push(await settle(await aSignedPayment()))
    expect(successes(answers)).toHaveLength(5)
    expect(proxy.count('eth_estimateGas') - before).toBe(0)
  })

  it('of twenty identical settles at once one gets success, the others the same hash', async () => {
    const before = await merchantBalance()
    const payment = await aSignedPayment()
    const answers = await Promise.all(Array.from({ length: 20 }, () => settle(payment)))
    expect(successes(answers)).toHaveLength(1)
    const hash = successes(answers)[0]?.body.transaction
    for (const { body } of answers.filter(({ body }) => !body.success)) {
      expect(body).toMatchObject({ errorReason: used, transaction: hash })
      expect(body.errorMessage).toContain(
        `${world.url.replace('127.0.0.1', 'localhost')}/payments/`,
      )
    }
    expect((await merchantBalance()) - before).toBe(10_000n)
    const { body: status } = await lookUp(payment)
    expect(status).toMatchObject({
      state: 'confirmed',
      transaction: hash,
      amount: '10000',
      delivered: true,
    })
    const { createdAt, sentAt, updatedAt, deliveredAt } = status
    const times = [createdAt, sentAt, updatedAt, deliveredAt].map((time) => Date.parse(time))
    expect(times).toEqual([...times].sort((a, b) => a - b))
  })

  it('two hundred different ones at once all settle, each once', async () => {
    const before = await merchantBalance()
    const payments = await Promise.all(Array.from({ length: 200 }, () => aSignedPayment()))
    const answers = await Promise.all(payments.map((payment) => settle(payment)))
    expect(successes(answers)).toHaveLength(200)
    expect((await merchantBalance()) - before).toBe(2_000_000n)
    const costs = await Promise.all(payments.map(async (payment) => (await lookUp(payment)).body))
    for (const { gasUsd } of costs) expect(Number(gasUsd)).toBeGreaterThan(0)
  })

  it('all payments of a transaction are found by its hash', async () => {
    const payments = await Promise.all(Array.from({ length: 12 }, () => aSignedPayment()))
    const answers = await Promise.all(payments.map((payment) => settle(payment)))
    const byHash = new Map<string, string[]>()
    for (const { body } of answers) {
      const looked = await world.get(
        `/payments/${body.transaction.toUpperCase().replace('0X', '0x')}`,
      )
      expect(looked.body.transaction).toBe(body.transaction)
      byHash.set(
        body.transaction,
        looked.body.payments.map(({ nonce }: { nonce: string }) => nonce),
      )
    }
    const nonces = payments.map(({ paymentPayload }) => paymentPayload.payload.authorization.nonce)
    expect([...byHash.values()].flat().sort()).toEqual(nonces.sort())
    expect((await world.get(`/payments/0x${'1'.repeat(64)}`)).status).toBe(404)
    expect((await world.get('/payments/0x12')).status).toBe(400)
  })
})

describe('the Idempotency-Key', () => {
  const key = () => ({ 'idempotency-key': crypto.randomUUID() })

  it('gives the same caller the success again, and nobody else', async () => {
    const payment = await aSignedPayment()
    const headers = key()
    const [first, again] = [await settle(payment, headers), await settle(payment, headers)]
    expect(again.body).toEqual(first.body)
    expect(first.body.success).toBe(true)
    expect((await settle(payment, key())).body.errorReason).toBe(used)
    expect((await settle(payment)).body.errorReason).toBe(used)
  })

  it('is a conflict with another payment, and nothing is sent', async () => {
    const headers = key()
    await settle(await aSignedPayment(), headers)
    const other = await aSignedPayment()
    const { status, body } = await settle(other, headers)
    expect(status).toBe(200)
    expect(body).toMatchObject({ errorReason: 'idempotency_key_conflict', transaction: '' })
    expect((await lookUp(other)).status).toBe(404)
    expect((await settle(other)).body.success).toBe(true)
  })

  it.each(['short', 'x'.repeat(129), 'with a blank in it'])('%s is a 400', async (text) => {
    const answer = await settle(await aSignedPayment(), { 'idempotency-key': text })
    expect(answer.status).toBe(400)
    expect(answer.body.errorReason).toBe(reasons.invalidPayload.code)
  })
})

describe('what others do to a payment', () => {
  it('balance spent between verify and settle is the reason, and the payment may be tried again', async () => {
    const poor = devnetMerchant
    const value = 10n ** 13n
    const payment = await aSignedPayment({
      from: poor.address,
      signer: poor.account,
      to: devnetPayer.address,
      value,
    })
    const { body } = await settle(payment)
    expect(body).toMatchObject({
      errorReason: reasons.insufficientBalance.code,
      transaction: '',
    })
    await mintUsdc(world.chainUrl, poor.address, value)
    expect((await settle(payment)).body.success).toBe(true)
  })

  it('valid only from this second on, it waits for it', async () => {
    const payment = await aSignedPayment({ validAfter: nowSeconds() })
    expect((await settle(payment)).body).toMatchObject({ success: true })
  })
})

describe('a chain that does not answer in time', () => {
  it('leaves a payment pending with its hash, and the same settle waits on', async () => {
    await call(world.chainUrl, 'evm_setAutomine', [false])
    const payment = await aSignedPayment()
    const answer = settle(waiting(payment, 2))
    // Whoever could strike against it does not learn here that it is out.
    const inPool = () => call<{ pending: string }>(world.chainUrl, 'txpool_status')
    await expect.poll(async () => Number((await inPool()).pending)).toBe(1)
    expect((await lookUp(payment)).body).toMatchObject({ state: 'queued', transaction: null })
    const { body } = await answer
    expect(body).toMatchObject({ success: false, errorReason: 'settlement_pending' })
    expect(body.transaction).toMatch(/^0x[0-9a-f]{64}$/)
    expect((await lookUp(payment)).body).toMatchObject({ state: 'submitted' })
    expect((await world.post('/verify', payment)).body.invalidReason).toBe(used)
    await call(world.chainUrl, 'evm_setAutomine', [true])
    await call(world.chainUrl, 'evm_mine')
    expect((await settle(payment)).body).toMatchObject({
      success: true,
      transaction: body.transaction,
    })
  })
})

describe('anybody who knows the nonce of a payment can look it up', () => {
  it.each([
    ['eip155:5042/0x1234/0x00', 400],
    [`eip155:5042/${devnetPayer.address}/0x${'00'.repeat(31)}`, 400],
    [`eip155:5042/${devnetPayer.address}/0x${'00'.repeat(32)}`, 404],
    [`eip155:1/${devnetPayer.address}/0x${'00'.repeat(32)}`, 404],
  ])('%s answers %i', async (path, status) => {
    const answer = await world.get(`/payments/${path}`)
    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({ error: expect.any(String), message: expect.any(String) })
  })
})
