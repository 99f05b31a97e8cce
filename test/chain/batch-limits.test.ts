import { type ReasonKey, reasons } from '@arcus/protocol/x402/reasons'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetContracts, mintUsdc, usdcBalance } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aChannel, aClaimOf, anAccount, type BatchBody } from '../support/a-channel.js'
import { startWorld, type World } from '../support/arcus.js'

let world: World

const verify = async (body: BatchBody) => (await world.post('/verify', body)).body
const settle = async (body: BatchBody) => (await world.post('/settle', body)).body
const refused = (reason: ReasonKey) => ({ success: false, errorReason: reasons[reason].code })
const invalid = (reason: ReasonKey) => ({ isValid: false, invalidReason: reasons[reason].code })

describe('an operator with limits on gas', () => {
  beforeAll(async () => {
    world = await startWorld({ env: { MIN_AMOUNT: '2000', DAILY_GAS_LIMIT_USD: '0.00000001' } })
  })
  afterAll(() => world.stop())

  it('sends nothing below the minimum, and nothing at all past the daily limit', async () => {
    const channel = aChannel()
    await mintUsdc(world.chainUrl, channel.payer.address, 1_000_000n)
    const small = await channel.deposit('1999', '1000')
    expect(await verify(small)).toMatchObject(invalid('amountBelowMinimum'))
    expect(await settle(small)).toMatchObject(refused('amountBelowMinimum'))
    const first = await channel.deposit('100000')
    expect(await settle(first)).toMatchObject({ success: true })
    const little = await channel.claim({ max: '5000', total: '1999' })
    expect(await settle(little)).toMatchObject(refused('amountBelowMinimum'))
    const back = await channel.refund('1999', '0', '5000')
    expect(await settle(back)).toMatchObject(refused('amountBelowMinimum'))
    // Something would stay behind.
    const most = await channel.refund('1999', '0', '98000', [{ max: '98000', total: '98000' }])
    expect(await settle(most)).toMatchObject(refused('amountBelowMinimum'))

    // The deposit spent more than the day allows.
    const next = await channel.deposit('100000', '6000')
    expect(await verify(next)).toMatchObject(invalid('gasBudgetExceeded'))
    expect(await settle(next)).toMatchObject(refused('gasBudgetExceeded'))
    const enough = await channel.claim({ max: '5000', total: '2000' })
    expect(await settle(enough)).toMatchObject(refused('gasBudgetExceeded'))
    expect(await settle(first)).toMatchObject({ success: true })
    expect(await verify(await channel.voucher('5000'))).toMatchObject({ isValid: true })
  })
})

describe('the last of a payer’s money, below the minimum', () => {
  beforeAll(async () => {
    world = await startWorld({ env: { MIN_AMOUNT: '2000' } })
  })
  afterAll(() => world.stop())

  it('goes back when the refund empties the channel, and a repetition is the same refund', async () => {
    const channel = aChannel()
    await mintUsdc(world.chainUrl, channel.payer.address, 100_000n)
    expect(await settle(await channel.deposit('100000'))).toMatchObject({ success: true })
    const back = await channel.refund('500', '0', '99999', [{ max: '99999', total: '99999' }])
    const told = await settle(back)
    expect(told).toMatchObject({ success: true, amount: '1' })
    expect(await settle(back)).toEqual(told)
    expect(await usdcBalance(world.chainUrl, channel.payer.address)).toBe(1n)
    // Now it is empty: a second one moves nothing, and costs nothing.
    const again = await channel.refund('500', '1', '99999')
    expect(await settle(again)).toMatchObject({ success: false, transaction: '' })
  })
})

describe('a refund that empties its channel, below the minimum', () => {
  beforeAll(async () => {
    world = await startWorld({ env: { MIN_AMOUNT: '2000' } })
  })
  afterAll(() => world.stop())

  it('brings no rows of other channels along: they would cost gas each time', async () => {
    const authorizer = anAccount()
    const channels = [aChannel({ authorizer }), aChannel({ authorizer })] as const
    for (const { payer, deposit } of channels) {
      await mintUsdc(world.chainUrl, payer.address, 100_000n)
      expect(await settle(await deposit('100000'))).toMatchObject({ success: true })
    }
    const back = await channels[0].refund('500', '0', '99500')
    const { claims, claimAuthorizerSignature } = (await aClaimOf(channels, '99500')).paymentPayload
      .payload
    Object.assign(back.paymentPayload.payload, { claims, claimAuthorizerSignature })
    expect(await settle(back)).toMatchObject(refused('amountBelowMinimum'))
    const own = [{ max: '99500', total: '99500' }]
    const alone = await channels[0].refund('500', '0', '99500', own)
    expect(await settle(alone)).toMatchObject({ success: true, amount: '500' })
  })
})

describe('a network without the contracts', () => {
  beforeAll(async () => {
    world = await startWorld({
      async between(chainUrl) {
        await call(chainUrl, 'anvil_setCode', [devnetContracts.erc3009Collector, '0x'])
        return chainUrl
      },
    })
  })
  afterAll(() => world.stop())

  it('is not offered, and says why', async () => {
    const { kinds } = (await world.get('/supported')).body
    const schemes = kinds.map(({ scheme }: { scheme: string }) => scheme)
    expect(schemes).toContain('exact')
    expect(schemes).not.toContain('batch-settlement')
    const body = await aChannel().deposit()
    expect(await verify(body)).toMatchObject({
      ...invalid('unsupportedScheme'),
      invalidMessage: expect.stringMatching(/contracts/),
    })
    expect(await settle(body)).toMatchObject({ ...refused('unsupportedScheme'), transaction: '' })
  })
})
