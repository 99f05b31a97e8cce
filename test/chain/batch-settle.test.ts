import { type ReasonKey, reasons } from '@arcus/protocol/x402/reasons'
import { encodeAbiParameters, encodeFunctionData, type Hex, parseAbiParameters } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  devnetContracts,
  fundNative,
  mintUsdc,
  readArtifact,
  usdcBalance,
} from '../../src/devnet/fixtures.js'
import { call } from '../../src/devnet/rpc.js'
import { aChannel, type BatchBody, type Channel } from '../support/a-channel.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'

const hash = expect.stringMatching(/^0x[0-9a-f]{64}$/)
const extensions = {
  'settlement-status': expect.objectContaining({
    status: 'completed',
    paymentId: expect.any(String),
    statusUrl: expect.stringContaining('/payments/status/'),
  }),
}
let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

const verify = async (body: unknown) => (await world.post('/verify', body)).body
const settle = async (body: unknown) => (await world.post('/settle', body)).body
const refusal = (reason: ReasonKey) => ({ success: false, errorReason: reasons[reason].code })
const invalid = (reason: ReasonKey) => ({ isValid: false, invalidReason: reasons[reason].code })
const balanceOf = (address: `0x${string}`) => usdcBalance(world.chainUrl, address)

async function aFundedChannel(): Promise<Channel> {
  const channel = aChannel()
  await mintUsdc(world.chainUrl, channel.payer.address, 1_000_000n)
  return channel
}

async function anOpenChannel(amount = '100000'): Promise<Channel> {
  const channel = await aFundedChannel()
  expect(await settle(await channel.deposit(amount))).toMatchObject({ success: true })
  return channel
}

describe.concurrent('a deposit', () => {
  it('is verified with the state of the channel before it, and settled with the state after', async () => {
    const channel = await aFundedChannel()
    const body = await channel.deposit()
    const { channelId, payer } = channel
    const empty = {
      channelId,
      balance: '0',
      totalClaimed: '0',
      withdrawRequestedAt: 0,
      refundNonce: '0',
    }
    expect(await verify(body)).toEqual({ isValid: true, payer: payer.address, extra: empty })
    expect(await settle(body)).toEqual({
      success: true,
      transaction: hash,
      network: 'eip155:5042',
      payer: payer.address,
      amount: '100000',
      extra: { channelState: { ...empty, balance: '100000' } },
      extensions,
    })
    expect(await balanceOf(payer.address)).toBe(900_000n)
  })

  it('that is settled again, at once or later, stays one transaction with one hash', async () => {
    const channel = await aFundedChannel()
    const body = await channel.deposit()
    const answers = await Promise.all(Array.from({ length: 8 }, () => settle(body)))
    const again = await settle(body)
    const hashes = new Set([...answers, again].map(({ transaction }) => transaction))
    expect([...answers, again].every(({ success }) => success)).toBe(true)
    expect([...hashes]).toEqual([hash])
    expect(await verify(body)).toMatchObject({ isValid: true, extra: { balance: '100000' } })
    expect(await balanceOf(channel.payer.address)).toBe(900_000n)
  })

  it('with another signature gains nothing from one that landed', async () => {
    const channel = await aFundedChannel()
    const body = await channel.deposit()
    await settle(body)
    const forged = structuredClone(body)
    const deposit = forged.paymentPayload.payload.deposit as {
      authorization: { erc3009Authorization: { signature: string } }
    }
    deposit.authorization.erc3009Authorization.signature = `0x${'ab'.repeat(64)}1b`
    expect(await settle(forged)).toMatchObject({
      ...refusal('batchReceiveAuthorizationSignature'),
      transaction: '',
    })
  })

  it('that others brought on chain is found there', async () => {
    const channel = await aFundedChannel()
    const body = await channel.deposit()
    const transaction = await depositByStranger(channel, body)
    expect(await verify(body)).toMatchObject({ isValid: true, extra: { balance: '100000' } })
    expect(await settle(body)).toMatchObject({ success: true, transaction })
  })

  it('tops a channel up', async () => {
    const channel = await anOpenChannel()
    const more = await channel.deposit('50000', '2000')
    expect(await settle(more)).toMatchObject({
      success: true,
      extra: { channelState: { balance: '150000' } },
    })
  })
})

describe.concurrent('what is wrong with a payload', () => {
  const cases: [string, (channel: Channel) => Promise<BatchBody>, ReasonKey][] = [
    [
      'more than the payer holds',
      (channel) => channel.deposit('2000000'),
      'batchInsufficientBalance',
    ],
    [
      'a voucher above the deposit',
      (channel) => channel.deposit('1000', '1001'),
      'batchCumulativeExceedsBalance',
    ],
    [
      'a voucher for nothing',
      (channel) => channel.deposit('1000', '0'),
      'batchCumulativeBelowClaimed',
    ],
    ['a deposit of nothing', (channel) => channel.deposit('0', '1000'), 'amountBelowMinimum'],
    [
      'another receiver',
      (channel) => channel.deposit('1000', '1000', { payTo: anAccount().address }),
      'batchReceiverMismatch',
    ],
    [
      'another asset',
      (channel) => channel.deposit('1000', '1000', { asset: devnetContracts.multicall }),
      'unsupportedAsset',
    ],
    [
      'no domain',
      async (channel) => without(await channel.deposit(), 'name'),
      'batchMissingEip712Domain',
    ],
    [
      'no authorizer',
      async (channel) => without(await channel.deposit(), 'receiverAuthorizer'),
      'batchReceiverAuthorizerMismatch',
    ],
    [
      'another network accepted',
      async (channel) => {
        const body = await channel.deposit()
        body.paymentPayload.accepted = { ...body.paymentPayload.accepted, network: 'eip155:1' }
        return body
      },
      'batchNetworkMismatch',
    ],
    [
      'another scheme accepted',
      async (channel) => {
        const body = await channel.deposit()
        body.paymentPayload.accepted = { ...body.paymentPayload.accepted, scheme: 'exact' }
        return body
      },
      'batchScheme',
    ],
  ]
  it.each(cases)('%s is refused alike by verify and settle', async (_, make, reason) => {
    const body = await make(await aFundedChannel())
    expect(await verify(body)).toMatchObject(invalid(reason))
    expect(await settle(body)).toMatchObject({ ...refusal(reason), transaction: '' })
  })

  it('is named for a channel that does not match its id', async () => {
    const channel = await aFundedChannel()
    const body = await channel.deposit()
    const payload = body.paymentPayload.payload as { channelConfig: object }
    payload.channelConfig = { ...channel.config, withdrawDelay: 901 }
    expect(await verify(body)).toMatchObject(invalid('batchChannelIdMismatch'))
  })

  it('is named for withdrawal delays out of range and other than asked', async () => {
    const short = aChannel({ config: { withdrawDelay: 899 } })
    expect(await verify(await short.deposit())).toMatchObject(
      invalid('batchWithdrawDelayOutOfRange'),
    )
    const channel = await aFundedChannel()
    const asked = channel.requirements()
    const body = await channel.deposit('1000', '1000', {
      extra: { ...asked.extra, withdrawDelay: 1_000 },
    })
    expect(await verify(body)).toMatchObject(invalid('batchWithdrawDelayMismatch'))
  })

  it('is a 400 with the member that is malformed', async () => {
    const channel = await aFundedChannel()
    const body = await channel.deposit()
    const voucher = body.paymentPayload.payload.voucher as Record<string, unknown>
    voucher.maxClaimableAmount = '-1'
    const { status, body: answer } = await world.post('/settle', body)
    expect(status).toBe(400)
    expect(answer.errorReason).toBe('invalid_payload')
    expect(answer.errorMessage).toMatch(/voucher\.maxClaimableAmount/)
  })
})

describe.concurrent('a voucher', () => {
  it('is valid up to what the channel holds and above what was claimed', async () => {
    const channel = await anOpenChannel()
    const state = { channelId: channel.channelId, balance: '100000', totalClaimed: '0' }
    expect(await verify(await channel.voucher('2000'))).toMatchObject({
      isValid: true,
      extra: state,
    })
    expect(await verify(await channel.voucher('100001'))).toMatchObject(
      invalid('batchCumulativeExceedsBalance'),
    )
    await settle(await channel.claim({ max: '2000', total: '2000' }))
    expect(await verify(await channel.voucher('2000'))).toMatchObject(
      invalid('batchCumulativeBelowClaimed'),
    )
  })

  it('is refused without a channel, with another signature, and by settle', async () => {
    const channel = aChannel()
    const body = await channel.voucher('1000')
    expect(await verify(body)).toMatchObject(invalid('batchChannelNotFound'))
    expect(await settle(body)).toMatchObject(refusal('batchPayloadType'))
    const voucher = body.paymentPayload.payload.voucher as Record<string, unknown>
    voucher.signature = (await aChannel().voucher('1000')).paymentPayload.payload.voucher
    voucher.signature = `0x${'cd'.repeat(64)}1c`
    expect(await verify(body)).toMatchObject(invalid('batchVoucherSignature'))
  })
})

describe.each([
  ['the settlement contract', devnetContracts.batchSettlement],
  ['the collector', devnetContracts.erc3009Collector],
])('a channel whose receiver is %s', (_, receiver) => {
  it('is not served: what it pays would be lost', async () => {
    const channel = aChannel({ receiver })
    await mintUsdc(world.chainUrl, channel.payer.address, 1_000_000n)
    const deposit = await channel.deposit()
    expect(await verify(deposit)).toMatchObject(invalid('invalidPayTo'))
    expect(await settle(deposit)).toMatchObject(refusal('invalidPayTo'))
    const claim = await channel.claim({ max: '5000', total: '5000' })
    expect(await settle(claim)).toMatchObject(refusal('invalidPayTo'))
    expect(await settle(channel.settle())).toMatchObject(refusal('invalidPayTo'))
  })
})

describe('a claim', () => {
  it('is settled once, and answered again with its hash', async () => {
    const channel = await anOpenChannel()
    const body = await channel.claim({ max: '5000', total: '4000' })
    const [first, second] = await Promise.all([settle(body), settle(body)])
    expect(first).toEqual({ success: true, transaction: hash, network: 'eip155:5042', extensions })
    expect(second).toEqual(first)
    expect(await settle(body)).toEqual(first)
    expect(await verify(body)).toMatchObject(invalid('batchPayloadType'))
  })

  it('of totals that were claimed before costs no gas', async () => {
    const channel = await anOpenChannel()
    const { transaction } = await settle(await channel.claim({ max: '5000', total: '5000' }))
    const spent = await relayerNonces()
    const lower = await channel.claim({ max: '5000', total: '4000' })
    expect(await settle(lower)).toMatchObject({ success: true, transaction })
    expect(await relayerNonces()).toEqual(spent)
  })

  it('without the authorizer’s signature, or with another, is refused', async () => {
    const channel = await anOpenChannel()
    const body = await channel.claim({ max: '5000', total: '5000' })
    const unsigned = structuredClone(body)
    delete unsigned.paymentPayload.payload.claimAuthorizerSignature
    expect(await settle(unsigned)).toMatchObject(refusal('batchAuthorizerNotConfigured'))
    const forged = structuredClone(body)
    forged.paymentPayload.payload.claimAuthorizerSignature = `0x${'ab'.repeat(64)}1b`
    expect(await settle(forged)).toMatchObject(refusal('batchClaimSimulationFailed'))
    await settle(body)
    expect(await settle(forged)).toMatchObject(refusal('batchClaimSimulationFailed'))
  })

  it('above what was signed or deposited is refused, with the text of the contract', async () => {
    const channel = await anOpenChannel()
    const above = await settle(await channel.claim({ max: '5000', total: '5001' }))
    expect(above).toMatchObject(refusal('batchClaimSimulationFailed'))
    expect(above.errorMessage).toMatch(/ClaimExceedsCeiling/)
    const drained = await settle(await channel.claim({ max: '200000', total: '200000' }))
    expect(drained.errorMessage).toMatch(/ClaimExceedsBalance/)
  })
})

describe('a payout', () => {
  it('moves what was claimed, joins duplicates, and moves nothing a second time', async () => {
    const channel = await anOpenChannel()
    expect(await settle(channel.settle())).toMatchObject(refusal('batchNothingToSettle'))
    await settle(await channel.claim({ max: '7000', total: '7000' }))
    const answers = await Promise.all(Array.from({ length: 4 }, () => settle(channel.settle())))
    const expected = { success: true, transaction: hash, network: 'eip155:5042', amount: '7000' }
    expect(answers[0]).toEqual({ ...expected, extensions })
    expect(new Set(answers.map(({ transaction }) => transaction)).size).toBe(1)
    expect(await balanceOf(channel.receiver)).toBe(7_000n)
    expect(await settle(channel.settle())).toMatchObject({
      ...refusal('batchNothingToSettle'),
      transaction: answers[0].transaction,
    })
  })
})

describe.concurrent('a refund', () => {
  it('gives back what is not claimed, with the claim that goes before it', async () => {
    const channel = await anOpenChannel()
    const body = await channel.refund('90000', '0', '3000', [{ max: '3000', total: '3000' }])
    const first = await settle(body)
    expect(first).toEqual({
      success: true,
      transaction: hash,
      network: 'eip155:5042',
      payer: channel.payer.address,
      amount: '90000',
      extra: {
        channelState: {
          channelId: channel.channelId,
          balance: '10000',
          totalClaimed: '3000',
          withdrawRequestedAt: 0,
          refundNonce: '1',
        },
      },
      extensions,
    })
    expect(await settle(body)).toEqual(first)
    expect(await balanceOf(channel.payer.address)).toBe(990_000n)
  })

  it('is capped at what is left', async () => {
    const channel = await anOpenChannel()
    const body = await channel.refund('500000', '0', '0')
    expect(await settle(body)).toMatchObject({ success: true, amount: '100000' })
    const next = await channel.refund('1', '1', '0')
    expect(await settle(next)).toMatchObject(refusal('batchRefundNoBalance'))
  })

  it('posted by a third party without signatures is refused, also after it landed', async () => {
    const channel = await anOpenChannel()
    const body = await channel.refund('1000', '0', '0')
    const unsigned = structuredClone(body)
    delete unsigned.paymentPayload.payload.refundAuthorizerSignature
    expect(await settle(unsigned)).toMatchObject(refusal('batchAuthorizerNotConfigured'))
    await settle(body)
    expect(await settle(unsigned)).toMatchObject(refusal('batchAuthorizerNotConfigured'))
  })

  it('under a nonce that another one used goes second, and names the other', async () => {
    const channel = await anOpenChannel()
    const [first, second] = await Promise.all([
      settle(await channel.refund('1000', '0', '0')),
      settle(await channel.refund('2000', '0', '0')),
    ])
    const won = first.success ? first : second
    const lost = first.success ? second : first
    expect(won).toMatchObject({ success: true })
    expect(lost).toMatchObject(refusal('batchRefundSimulationFailed'))
    expect((await balanceOf(channel.payer.address)) - 900_000n).toBe(BigInt(won.amount))
  })

  it('in the buyer’s form is verified, and settled only once the merchant has added their part', async () => {
    const channel = await anOpenChannel()
    const { paymentPayload } = await channel.voucher('0')
    const { channelConfig, voucher } = paymentPayload.payload
    const body = channel.body({ type: 'refund', channelConfig, voucher })
    expect(await verify(body)).toMatchObject({ isValid: true, extra: { refundNonce: '0' } })
    expect(await settle(body)).toMatchObject(refusal('batchPayloadType'))
  })
})

it('never answers with anything but the shapes of the protocol', () => {
  expect(world.said.filter((text) => /http:\/\/127|stack|private/i.test(text))).toEqual([])
})

function without(body: BatchBody, member: string): BatchBody {
  const { [member]: _, ...extra } = body.paymentRequirements.extra as Record<string, unknown>
  return { ...body, paymentRequirements: { ...body.paymentRequirements, extra } }
}

async function relayerNonces(): Promise<string[]> {
  const { signers } = (await world.get('/supported')).body
  const addresses = signers['eip155:*'] as string[]
  return Promise.all(
    addresses.map((address) =>
      call<string>(world.chainUrl, 'eth_getTransactionCount', [address, 'latest']),
    ),
  )
}

/** Brings a deposit on chain past the facilitator. */
async function depositByStranger({ config }: Channel, body: BatchBody): Promise<Hex> {
  const { chainUrl } = world
  const { amount, authorization } = body.paymentPayload.payload.deposit as {
    amount: string
    authorization: { erc3009Authorization: Record<string, string> }
  }
  const { validAfter, validBefore, salt, signature } = authorization.erc3009Authorization
  const numbers = [validAfter, validBefore, salt].map((it) => BigInt(it ?? 0))
  const collectorData = encodeAbiParameters(
    parseAbiParameters('uint256, uint256, uint256, bytes'),
    [...(numbers as [bigint, bigint, bigint]), signature as Hex],
  )
  const { abi } = readArtifact('BatchSettlement')
  const args = [config, BigInt(amount), devnetContracts.erc3009Collector, collectorData]
  const data = encodeFunctionData({ abi, functionName: 'deposit', args })
  const from = anAccount().address
  await fundNative(chainUrl, from, 10n ** 18n)
  await call(chainUrl, 'anvil_impersonateAccount', [from])
  const transaction = { from, to: devnetContracts.batchSettlement, data }
  return call<Hex>(chainUrl, 'eth_sendTransaction', [transaction])
}
