import { reasons } from '@arcus/protocol/x402/reasons'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetPayer } from '../../src/devnet/accounts.js'
import { mintUsdc } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aChannel } from '../support/a-channel.js'
import { aPermit2Payment, approvePermit2, charging } from '../support/a-permit2-payment.js'
import { aSignedPayment, type SignedPayment } from '../support/a-signed-payment.js'
import { anAccount } from '../support/an-account.js'
import { type Answer, startWorld, type World } from '../support/arcus.js'

const LIMIT = 20
/** Answers about one payment that cost nothing, and turns that a verify buys: few, whatever the number is. */
const FEW = 12

let world: World
beforeAll(async () => {
  world = await startWorld({ env: { RATE_LIMIT_MAX: String(LIMIT), TRUST_PROXY: 'true' } })
})
afterAll(() => world.stop())

let callers = 0
/** A caller nobody has heard of, with an allowance of its own. */
function aCaller() {
  callers++
  const address = `198.51.${Math.floor(callers / 250)}.${(callers % 250) + 1}`
  const headers = (more: Record<string, string> = {}) => ({ 'x-forwarded-for': address, ...more })
  return {
    address,
    verify: (body: unknown) => world.post('/verify', body, headers()),
    settle: (body: unknown, more?: Record<string, string>) =>
      world.post('/settle', body, headers(more)),
  }
}

const many = <Item>(count: number, make: (i: number) => Promise<Item>): Promise<Item[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => make(i)))
const passed = (answers: Answer[]) => answers.filter(({ status }) => status !== 429)
const successes = (answers: Answer[]) => answers.filter(({ body }) => body.success)
/** Signed by somebody else than who pays. */
const forged = (payment: SignedPayment): SignedPayment => {
  const { signature } = payment.paymentPayload.payload
  const turned = signature.slice(2, 4) === 'ab' ? 'cd' : 'ab'
  const copy = structuredClone(payment)
  copy.paymentPayload.payload.signature = `0x${turned}${signature.slice(4)}`
  return copy
}

/** Verifies through callers of their own, so that the one that settles has its allowance. */
async function verifyAll(payments: readonly object[]): Promise<void> {
  for (let from = 0; from < payments.length; from += LIMIT) {
    const { verify } = aCaller()
    const answers = await Promise.all(payments.slice(from, from + LIMIT).map(verify))
    expect(answers.every(({ body }) => body.isValid)).toBe(true)
  }
}

/** Leaves nothing of the allowance. */
async function spend({ verify }: ReturnType<typeof aCaller>): Promise<void> {
  const bent = forged(await aSignedPayment())
  await many(LIMIT, () => verify(bent))
  expect((await verify(bent)).status).toBe(429)
}

describe('settles that buy nothing count', () => {
  it('100 forged ones at once: no more than the limit are checked', async () => {
    const payments = (await many(100, () => aSignedPayment())).map(forged)
    const { settle } = aCaller()
    const answers = await Promise.all(payments.map((payment) => settle(payment)))
    expect(passed(answers).length).toBeLessThanOrEqual(LIMIT)
    const refused = answers.find(({ status }) => status === 429)
    expect(refused?.body).toMatchObject({ success: false, errorReason: 'rate_limited' })
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  it('100 forged copies of payments that were verified here', async () => {
    const payments = await many(20, () => aSignedPayment())
    await verifyAll(payments)
    const { settle } = aCaller()
    const copies = payments.flatMap((payment) => Array(5).fill(forged(payment)))
    const answers = await Promise.all(copies.map((payment) => settle(payment)))
    expect(passed(answers).length).toBeLessThanOrEqual(LIMIT)
  })

  it('300 repetitions of one payment that settled', async () => {
    const payment = await aSignedPayment()
    await verifyAll([payment])
    const { settle } = aCaller()
    const answers = [await settle(payment)]
    expect(answers[0]?.body.success).toBe(true)
    for (let i = 0; i < 3; i++) answers.push(...(await many(100, () => settle(payment))))
    expect(passed(answers).length).toBeLessThanOrEqual(LIMIT + FEW)
  })

  it('300 repetitions with the key that received the success', async () => {
    const payment = await aSignedPayment()
    await verifyAll([payment])
    const { settle } = aCaller()
    const key = { 'idempotency-key': crypto.randomUUID() }
    const answers = [await settle(payment, key)]
    for (let i = 0; i < 3; i++) answers.push(...(await many(100, () => settle(payment, key))))
    expect(successes(answers).length).toBeGreaterThan(3)
    expect(passed(answers).length).toBeLessThanOrEqual(LIMIT + FEW)
  })

  it('past the limit no body is parsed, unless it has a signature that was verified here', async () => {
    const payment = await aSignedPayment()
    await verifyAll([payment])
    const caller = aCaller()
    await spend(caller)
    const answer = await fetch(`${world.url}/settle`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': caller.address },
      body: '{"broken": ',
    })
    expect(answer.status).toBe(429)
    expect(await answer.json()).toMatchObject({ success: false, errorReason: 'rate_limited' })
    expect(answer.headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/)
    expect((await caller.settle(payment)).body).toMatchObject({ success: true })
  })

  it('past the limit one verified signature has a few bodies parsed, not any number', async () => {
    const payment = await aSignedPayment()
    await verifyAll([payment])
    const caller = aCaller()
    await spend(caller)
    const broken = `${JSON.stringify(payment).slice(0, -1)}, "broken": `
    const answers = await many(30, () => caller.settle(broken))
    const parsed = answers.filter(({ status }) => status === 400)
    expect(parsed.length).toBeGreaterThan(0)
    expect(parsed.length).toBeLessThanOrEqual(8)
    expect(passed(answers)).toEqual(parsed)
  })

  it('charges of nothing, by wallets that hold nothing', async () => {
    const payments = await many(100, async () => {
      const signer = anAccount()
      return charging(await aPermit2Payment({ from: signer.address, signer }), 0n)
    })
    const { settle } = aCaller()
    const answers = await Promise.all(payments.map((payment) => settle(payment)))
    expect(successes(answers).length).toBeGreaterThan(0)
    expect(passed(answers).length).toBeLessThanOrEqual(LIMIT)
  })

  it('charges of nothing for one verified payment, after a few', async () => {
    await approvePermit2(world.chainUrl, devnetPayer.address, 10n ** 12n)
    const payment = await aPermit2Payment()
    await verifyAll([payment])
    const { settle } = aCaller()
    const answers = await many(100, () => settle(charging(payment, 0n)))
    expect(passed(answers).length).toBeLessThanOrEqual(LIMIT + FEW)
  })

  it('a body that cannot be read', async () => {
    const { settle } = aCaller()
    const answers = await many(100, () => settle({ x402Version: 2 }))
    expect(passed(answers).length).toBeLessThanOrEqual(LIMIT)
  })

  it('a forged deposit whose sound form was verified here', async () => {
    const channel = aChannel({ payer: devnetPayer.account })
    const deposit = await channel.deposit()
    expect((await aCaller().verify(deposit)).body).toMatchObject({ isValid: true })
    const bent = structuredClone(deposit)
    const authorization = (
      bent.paymentPayload.payload.deposit as {
        authorization: { erc3009Authorization: { signature: string } }
      }
    ).authorization.erc3009Authorization
    authorization.signature = `0x${'12'.repeat(64)}1b`
    const { settle } = aCaller()
    const answers = await many(60, () => settle(bent))
    expect(passed(answers).length).toBeLessThanOrEqual(LIMIT)
  })
})

describe('settles that buy something do not', () => {
  it('verified here they pass, with nothing left of the allowance', async () => {
    const payments = await many(60, () => aSignedPayment())
    await verifyAll(payments)
    const caller = aCaller()
    await spend(caller)
    const answers = await Promise.all(payments.map((payment) => caller.settle(payment)))
    expect(successes(answers)).toHaveLength(60)
    const stranger = await aSignedPayment()
    expect((await caller.settle(stranger)).status).toBe(429)
  })

  it('so they do when the seller charges nothing', async () => {
    await approvePermit2(world.chainUrl, devnetPayer.address, 10n ** 12n)
    const payments = await many(LIMIT + 5, () => aPermit2Payment())
    await verifyAll(payments)
    const caller = aCaller()
    const charged = payments.map((payment) => caller.settle(charging(payment, 0n)))
    expect(successes(await Promise.all(charged))).toHaveLength(payments.length)
    expect(passed(await many(LIMIT, () => caller.settle({})))).toHaveLength(LIMIT)
  })

  it('so does a deposit of a channel', async () => {
    const deposit = await aChannel({ payer: devnetPayer.account }).deposit()
    expect((await aCaller().verify(deposit)).body).toMatchObject({ isValid: true })
    const caller = aCaller()
    await spend(caller)
    expect((await caller.settle(deposit)).body).toMatchObject({ success: true })
  })

  it('60 at once that nobody verified all settle, and leave the allowance as it was', async () => {
    const payments = await many(60, () => aSignedPayment())
    const caller = aCaller()
    const answers = await Promise.all(payments.map((payment) => caller.settle(payment)))
    expect(successes(answers)).toHaveLength(60)
    const verified = await many(LIMIT, async () => caller.verify(await aSignedPayment()))
    expect(passed(verified)).toHaveLength(LIMIT)
  })

  it('under way they keep nobody from verifying', async () => {
    const payments = await many(LIMIT + 5, () => aSignedPayment())
    await verifyAll(payments)
    const caller = aCaller()
    await call(world.chainUrl, 'evm_setAutomine', [false])
    const settling = Promise.all(payments.map((payment) => caller.settle(payment)))
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect((await caller.verify(await aSignedPayment())).body.isValid).toBe(true)
    await call(world.chainUrl, 'evm_setAutomine', [true])
    await call(world.chainUrl, 'evm_mine')
    expect(successes(await settling)).toHaveLength(payments.length)
  })

  it('pending is waited for a few times for nothing, not for ever', async () => {
    await mintUsdc(world.chainUrl, devnetPayer.address, 1_000_000n)
    await call(world.chainUrl, 'evm_setAutomine', [false])
    const payment = await aSignedPayment({ requirement: { maxTimeoutSeconds: 1 } })
    const caller = aCaller()
    const pending = await many(4, () => caller.settle(payment))
    for (const { body } of pending) {
      expect(body.errorReason).toBe(reasons.settlementPending.code)
    }
    const answers = await many(80, () => caller.settle(payment))
    expect(passed(answers).length).toBeLessThanOrEqual(LIMIT + FEW)
    await call(world.chainUrl, 'evm_setAutomine', [true])
    await call(world.chainUrl, 'evm_mine')
    expect((await aCaller().settle(payment)).body.success).toBe(true)
  })
})
