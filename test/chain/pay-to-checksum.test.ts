import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { mintUsdc, usdcBalance } from '../../src/devnet/fixtures.js'
import { aChannel, asset } from '../support/a-channel.js'
import { aSignedPayment } from '../support/a-signed-payment.js'
import { startWorld, type World } from '../support/arcus.js'

let world: World
beforeAll(async () => {
  world = await startWorld({ env: { RATE_LIMIT_MAX: '0' } })
})
afterAll(() => world.stop())

const right = devnetMerchant.address
const lower = right.toLowerCase() as Address
const upper = `0x${right.slice(2).toUpperCase()}` as Address
/** One digit is another, as a slip of the finger leaves it. */
const mistyped = right.replace(/\d(?=[^x]*$)/, (digit) => `${(Number(digit) + 1) % 10}`) as Address

/** A payment that is sound in all but how its requirement spells whom it pays. */
const paidTo = (payTo: Address, wish: object = {}) =>
  aSignedPayment({ to: payTo.toLowerCase() as Address, requirement: { payTo }, ...wish })

describe('a payTo with a wrong checksum', () => {
  it('is refused by verify and settle with words, and nobody is paid', async () => {
    expect(mistyped).not.toBe(right)
    const payment = await paidTo(mistyped)
    const verify = await world.post('/verify', payment)
    expect([verify.status, verify.body.isValid, verify.body.invalidReason]).toEqual([
      400,
      false,
      'invalid_payment_requirements',
    ])
    expect(verify.body.invalidMessage).toMatch(/paymentRequirements\.payTo .*EIP-55 checksum/)
    expect(verify.body.invalidMessage).toContain(mistyped)
    const settle = await world.post('/settle', payment)
    expect([settle.status, settle.body.success, settle.body.errorReason]).toEqual([
      400,
      false,
      'invalid_payment_requirements',
    ])
    expect(settle.body.errorMessage).toMatch(/EIP-55 checksum/)
    expect(settle.body.payer).toBe(devnetPayer.address)
    expect(await usdcBalance(world.chainUrl, mistyped.toLowerCase() as Address)).toBe(0n)
  })

  it('is refused for a channel as well: its deposit, its voucher, and a payout to it', async () => {
    const channel = aChannel({ receiver: mistyped.toLowerCase() as Address })
    await mintUsdc(world.chainUrl, channel.payer.address, 1_000_000n)
    const deposit = await channel.deposit('100000', '1000', { payTo: mistyped })
    const asked = { ...channel.requirements(), payTo: mistyped }
    const { payload: voucher } = (await channel.voucher('2000')).paymentPayload
    const payoutOf = (receiver: Address) => ({ type: 'settle', receiver, token: asset })
    for (const [path, body] of [
      ['/verify', deposit],
      ['/settle', deposit],
      ['/verify', channel.body(voucher, asked)],
      ['/settle', channel.body(payoutOf(lower), asked)],
    ] as const) {
      const { status, body: answer } = await world.post(path, body)
      const reason = answer.invalidReason ?? answer.errorReason
      expect([path, status, reason]).toEqual([path, 400, 'invalid_payment_requirements'])
    }
    const { status, body } = await world.post('/settle', channel.body(payoutOf(mistyped)))
    expect([status, body.errorReason]).toEqual([400, 'invalid_payload'])
    expect(body.errorMessage).toMatch(/receiver .*EIP-55 checksum/)
  })
})

describe('other spellings', () => {
  it.each([
    ['a right checksum', right],
    ['lower case', lower],
    ['upper case', upper],
  ])('of payTo settle: %s', async (_, payTo) => {
    const payment = await paidTo(payTo)
    expect((await world.post('/verify', payment)).body).toMatchObject({ isValid: true })
    expect((await world.post('/settle', payment)).body).toMatchObject({ success: true })
  })

  it('are the buyer’s own affair in what they state', async () => {
    const oddly = (address: string) => address.replace(/[a-f]/, (letter) => letter.toUpperCase())
    const [from, to] = [oddly(devnetPayer.address.toLowerCase()), oddly(lower)]
    const payment = await paidTo(right, { authorization: { from, to } })
    expect((await world.post('/settle', payment)).body).toMatchObject({ success: true })
  })
})
