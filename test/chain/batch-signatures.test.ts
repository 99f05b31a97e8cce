import { type ReasonKey, reasons } from '@arcus/protocol/x402/reasons'
import { type Hex, zeroAddress } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetContracts, mintUsdc, readArtifact, usdcBalance } from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aChannel, type BatchBody, type Channel, type ChannelWish } from '../support/a-channel.js'
import { startWorld, type World } from '../support/arcus.js'
import { type Bend, bend } from '../support/bent-signature.js'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

const verify = async (body: unknown) => (await world.post('/verify', body)).body
const settle = async (body: unknown) => (await world.post('/settle', body)).body
const invalid = (reason: ReasonKey) => ({ isValid: false, invalidReason: reasons[reason].code })
const hash = expect.stringMatching(/^0x[0-9a-f]{64}$/)

async function aFundedChannel(config: ChannelWish['config'] = {}): Promise<Channel> {
  const channel = aChannel({ config })
  await mintUsdc(world.chainUrl, channel.payer.address, 1_000_000n)
  return channel
}

/** The same body with each signature in another form. */
function bent(body: BatchBody, how: Bend): BatchBody {
  const text = JSON.stringify(body, (name, value) =>
    /signature$/i.test(name) ? bend(value as Hex, how) : value,
  )
  return JSON.parse(text)
}

const setCode = ({ payer }: Channel, code: Hex) =>
  call(world.chainUrl, 'anvil_setCode', [payer.address, code])

const forms = ['v of 0 or 1', 'a high s', 'the compact form'] as const

describe.each(forms)('signatures with %s', (how) => {
  it('are good from the first deposit to the last claim', async () => {
    const channel = await aFundedChannel()
    const deposit = bent(await channel.deposit('100000'), how)
    expect(await verify(deposit)).toMatchObject({ isValid: true })
    const first = await settle(deposit)
    expect(first).toMatchObject({ success: true, transaction: hash })
    expect(await settle(deposit)).toEqual(first)
    expect(await verify(bent(await channel.voucher('3000'), how))).toMatchObject({ isValid: true })
    const claim = bent(await channel.claim({ max: '3000', total: '3000' }), how)
    expect(await settle(claim)).toMatchObject({ success: true, transaction: hash })
    const wishes = [{ max: '4000', total: '4000' }]
    const refund = bent(await channel.refund('90000', '0', '4000', wishes), how)
    expect(await settle(refund)).toMatchObject({ success: true, amount: '90000' })
  })

  it('are good from a payer who signs vouchers', async () => {
    const channel = await aFundedChannel({ payerAuthorizer: zeroAddress })
    await settle(await channel.deposit('100000'))
    expect(await verify(bent(await channel.voucher('3000'), how))).toMatchObject({ isValid: true })
    const claim = bent(await channel.claim({ max: '3000', total: '3000' }), how)
    expect(await settle(claim)).toMatchObject({ success: true })
  })

  it('are left to an account with code, which reads them itself', async () => {
    const channel = await aFundedChannel({ payerAuthorizer: zeroAddress })
    await settle(await channel.deposit('100000'))
    await setCode(channel, readArtifact('Wallet1271').deployedBytecode)
    const voucher = await channel.voucher('3000')
    expect(await verify(voucher)).toMatchObject({ isValid: true })
    expect(await verify(bent(voucher, how))).toMatchObject(invalid('batchVoucherSignature'))
    const claim = await channel.claim({ max: '3000', total: '3000' })
    expect(await settle(bent(claim, how))).toMatchObject({ success: false, transaction: '' })
    expect(await settle(claim)).toMatchObject({ success: true })
  })
})

it('a signature of another account is refused in every form', async () => {
  const channel = await aFundedChannel()
  await settle(await channel.deposit('100000'))
  const theirs = (await aChannel({ receiver: channel.receiver }).voucher('3000')).paymentPayload
  const voucher = await channel.voucher('3000')
  const own = voucher.paymentPayload.payload.voucher as { signature: Hex }
  own.signature = bend((theirs.payload.voucher as typeof own).signature, 'v of 0 or 1')
  expect(await verify(voucher)).toMatchObject(invalid('batchVoucherSignature'))
})

/** Runtime code that leaves the word of ERC-1271 for yes, if the top of the stack is 1. */
const yesIf = (condition: string): Hex => `0x${condition}631626ba7e60e01b025f5260205ff3`
const settlement = devnetContracts.batchSettlement.slice(2).toLowerCase()
/** Wallets that say yes to whoever asks, and no to the settlement contract. */
const liars: [string, Hex][] = [
  ['looks at who asks', yesIf(`3373${settlement}1415`)],
  ['notices whether a contract asks', yesIf('323314')],
  ['writes, which the contract does not let it', yesIf('60015f556001')],
  ['answers with more than the word', '0x6101ff631626ba7e60e01b175f5260205ff3'],
  ['needs more gas than a claim has', yesIf('5a620493e010')],
]

describe.each(liars)('a wallet that %s', (_, code) => {
  it('has no voucher that is good, neither of a channel nor of its first deposit', async () => {
    const channel = await aFundedChannel({ payerAuthorizer: zeroAddress })
    expect(await settle(await channel.deposit('100000'))).toMatchObject({ success: true })
    await setCode(channel, code)
    expect(await verify(await channel.voucher('3000'))).toMatchObject(
      invalid('batchVoucherSignature'),
    )
    expect(await verify(await channel.deposit('100000', '3000'))).toMatchObject({ isValid: false })
  })
})

it('an honest wallet fills its channel and pays by voucher', async () => {
  const channel = await aFundedChannel({ payerAuthorizer: zeroAddress })
  await setCode(channel, readArtifact('Wallet1271').deployedBytecode)
  const deposit = await channel.deposit('100000')
  expect(await verify(deposit)).toMatchObject({ isValid: true })
  expect(await settle(deposit)).toMatchObject({ success: true })
  expect(await verify(await channel.voucher('3000'))).toMatchObject({ isValid: true })
  await settle(await channel.claim({ max: '3000', total: '3000' }))
  await settle(channel.settle())
  expect(await usdcBalance(world.chainUrl, channel.receiver)).toBe(3_000n)
})
