import {
  BATCH_SETTLEMENT_ADDRESS,
  claimBatchTypes,
  ERC3009_DEPOSIT_COLLECTOR_ADDRESS,
  refundTypes,
  voucherTypes,
} from '@x402/evm'
import {
  type Address,
  createTestClient,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  hashTypedData,
  http,
  keccak256,
  publicActions,
  toEventSelector,
  walletActions,
} from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  batchContracts,
  claimedTopic,
  refundedTopic,
  settledTopic,
} from '../../src/chain/batch-settlement.js'
import { devnetPayer } from '../../src/devnet/accounts.js'
import { type Anvil, startAnvil } from '../../src/devnet/anvil.js'
import {
  devnetContracts,
  fundNative,
  mintUsdc,
  placeContracts,
  readArtifact,
  usdcBalance,
} from '../../src/devnet/fixtures.js'
import { hashChannel, hashClaims, hashRefund } from '../../src/facilitator/batch/jobs.js'
import { aChannel, anAccount, type BatchBody, type Channel } from '../support/a-channel.js'

const { batchSettlement: address, erc3009Collector, usdc } = devnetContracts
const { abi } = readArtifact('BatchSettlement')
const chainId = 5042
const domain = { name: 'x402 Batch Settlement', version: '1', chainId, verifyingContract: address }
let anvil: Anvil
let client: ReturnType<typeof connect>

const connect = (url: string) =>
  createTestClient({
    mode: 'anvil',
    account: devnetPayer.account,
    transport: http(url),
    pollingInterval: 20,
  })
    .extend(publicActions)
    .extend(walletActions)

beforeAll(async () => {
  anvil = await startAnvil()
  client = connect(anvil.url)
  await placeContracts(anvil.url)
})
afterAll(() => anvil?.stop())

const read = (functionName: string, args: unknown[]) =>
  client.readContract({ address, abi, functionName, args })

/** Returns the name of the error, or `undefined` when the call passes. */
async function errorOf(functionName: string, args: unknown[], from: Address = anAccount().address) {
  try {
    await client.simulateContract({ address, abi, functionName, args, account: from })
    return undefined
  } catch (error) {
    return /Error: (\w+)\([^)]*\)/.exec(String(error))?.[1] ?? String(error)
  }
}

async function send(functionName: string, args: unknown[], from?: Address): Promise<void> {
  const sender = from ?? anAccount().address
  await fundNative(anvil.url, sender, 10n ** 18n)
  await client.impersonateAccount({ address: sender })
  const data = encodeFunctionData({ abi, functionName, args })
  const hash = await client.sendTransaction({ account: sender, to: address, data, chain: null })
  const { status } = await client.waitForTransactionReceipt({ hash })
  expect(status).toBe('success')
}

type Payload = BatchBody['paymentPayload']['payload']

function depositArgs({ config }: Channel, { paymentPayload }: BatchBody): unknown[] {
  const { amount, authorization } = paymentPayload.payload.deposit as {
    amount: string
    authorization: { erc3009Authorization: Record<string, string> }
  }
  const { validAfter, validBefore, salt, signature } = authorization.erc3009Authorization
  const data = encodeAbiParameters(
    [{ type: 'uint256' }, { type: 'uint256' }, { type: 'uint256' }, { type: 'bytes' }],
    [BigInt(validAfter ?? 0), BigInt(validBefore ?? 0), BigInt(salt ?? 0), signature as Hex],
  )
  return [config, BigInt(amount), erc3009Collector, data]
}

const claimArgs = ({ claims, claimAuthorizerSignature }: Payload) => [
  claims,
  claimAuthorizerSignature,
]
const refundArgs = ({ config }: Channel, { amount, refundNonce, ...rest }: Payload) => [
  config,
  amount,
  refundNonce,
  rest.refundAuthorizerSignature,
]

async function anOpenChannel(amount = '1000'): Promise<Channel> {
  const channel = aChannel()
  await mintUsdc(anvil.url, channel.payer.address, 10_000n)
  await send('deposit', depositArgs(channel, await channel.deposit(amount)))
  return channel
}

it('has the address that the official package uses', () => {
  expect([address, erc3009Collector]).toEqual([
    BATCH_SETTLEMENT_ADDRESS,
    ERC3009_DEPOSIT_COLLECTOR_ADDRESS,
  ])
  const lower = [address, erc3009Collector].map((text) => text.toLowerCase())
  expect(Object.values(batchContracts)).toEqual(lower)
  expect(claimedTopic).toBe(toEventSelector('Claimed(bytes32,address,uint128,uint128)'))
  expect(settledTopic).toBe(toEventSelector('Settled(address,address,address,uint128)'))
  expect(refundedTopic).toBe(toEventSelector('Refunded(bytes32,address,uint128)'))
})

it('hashes the same as the official package and the facilitator', async () => {
  const channel = aChannel()
  const { channelId, config } = channel
  const maxClaimableAmount = 7n
  const message = { channelId, maxClaimableAmount }
  expect(await read('getChannelId', [config])).toBe(channelId)
  expect(hashChannel(config, chainId)).toBe(channelId)
  expect(await read('getVoucherDigest', [channelId, maxClaimableAmount])).toBe(
    hashTypedData({ domain, types: voucherTypes, primaryType: 'Voucher', message }),
  )
  const refund = { channelId, nonce: 3n, amount: 5n }
  const refundDigest = hashTypedData({
    domain,
    types: refundTypes,
    primaryType: 'Refund',
    message: refund,
  })
  expect(await read('getRefundDigest', [channelId, 3n, 5n])).toBe(refundDigest)
  expect(hashRefund(refund, chainId)).toBe(refundDigest)
  const { claims } = (await channel.claim({ max: '9', total: '4' }, { max: '8', total: '2' }))
    .paymentPayload.payload as { claims: Parameters<typeof hashClaims>[0] }
  const entries = [
    { channelId, maxClaimableAmount: 9n, totalClaimed: 4n },
    { channelId, maxClaimableAmount: 8n, totalClaimed: 2n },
  ]
  const batchDigest = hashTypedData({
    domain,
    types: claimBatchTypes,
    primaryType: 'ClaimBatch',
    message: { claims: entries },
  })
  expect(await read('getClaimBatchDigest', [claims])).toBe(batchDigest)
  expect(hashClaims(claims, chainId)).toBe(batchDigest)
})

it('refuses deposits without a valid channel or without money', async () => {
  const channel = aChannel()
  await mintUsdc(anvil.url, channel.payer.address, 10_000n)
  const body = await channel.deposit('1000')
  const [config, amount, collector, data] = depositArgs(channel, body)
  const withConfig = (changes: object) => [
    { ...(config as object), ...changes },
    amount,
    collector,
    data,
  ]
  const zero = '0x0000000000000000000000000000000000000000'
  for (const member of ['payer', 'receiver', 'receiverAuthorizer', 'token']) {
    expect(await errorOf('deposit', withConfig({ [member]: zero }))).toBe('InvalidChannel')
  }
  for (const withdrawDelay of [899, 2_592_001]) {
    const args = withConfig({ withdrawDelay })
    expect(await errorOf('deposit', args)).toBe('WithdrawDelayOutOfRange')
  }
  expect(await errorOf('deposit', [config, 0n, collector, data])).toBe('ZeroDeposit')
  expect(await errorOf('deposit', [config, amount, zero, data])).toBe('InvalidCollector')
  // The signature is for this channel and no other.
  const other = withConfig({ salt: keccak256('0x01') })
  expect(await errorOf('deposit', other)).toMatch(/invalid signature/)
  expect(await errorOf('deposit', [config, amount, collector, data])).toBeUndefined()
  const collect = client.simulateContract({
    address: erc3009Collector,
    abi: readArtifact('Erc3009Collector').abi,
    functionName: 'collect',
    args: [channel.payer.address, usdc, amount, channel.channelId, data],
  })
  await expect(collect).rejects.toThrow(/OnlyX402BatchSettlement/)
})

it('claims up to the signed and deposited amount, pays out once, and accepts no total twice', async () => {
  const channel = await anOpenChannel()
  const claim = async (max: string, total: string) =>
    claimArgs((await channel.claim({ max, total })).paymentPayload.payload)
  expect(await errorOf('claimWithSignature', await claim('500', '501'))).toBe('ClaimExceedsCeiling')
  expect(await errorOf('claimWithSignature', await claim('1001', '1001'))).toBe(
    'ClaimExceedsBalance',
  )
  expect(await errorOf('claimWithSignature', [[], '0x'])).toBe('EmptyBatch')
  const [claims, signature] = await claim('500', '400')
  expect(await errorOf('claimWithSignature', [claims, '0x'])).toBe('InvalidSignature')
  expect(await errorOf('claim', [claims])).toBe('NotAuthorizedToClaim')
  expect(await errorOf('claim', [claims], channel.receiver)).toBeUndefined()
  for (const [forgery, error] of [
    [`0x${'ab'.repeat(64)}1b`, 'ECDSAInvalidSignatureS'],
    [`0x${'11'.repeat(64)}`, 'ECDSAInvalidSignatureLength'],
    [`0x${'11'.repeat(64)}05`, 'ECDSAInvalidSignature'],
    [await anAccount().sign({ hash: channel.channelId }), 'InvalidSignature'],
  ] as const) {
    const forged = [{ ...(claims as object[])[0], signature: forgery }]
    expect(await errorOf('claim', [forged], channel.receiver)).toBe(error)
  }

  await send('claimWithSignature', [claims, signature])
  await send('claimWithSignature', [claims, signature])
  expect(await read('channels', [channel.channelId])).toEqual([1_000n, 400n])
  expect(await read('receivers', [channel.receiver, usdc])).toEqual([400n, 0n])
  await send('settle', [channel.receiver, usdc])
  await send('settle', [channel.receiver, usdc])
  expect(await usdcBalance(anvil.url, channel.receiver)).toBe(400n)
  expect(await read('receivers', [channel.receiver, usdc])).toEqual([400n, 400n])
})

it('refunds the unclaimed amount, once for each nonce', async () => {
  const channel = await anOpenChannel()
  const refund = async (amount: string, nonce: string) =>
    refundArgs(channel, (await channel.refund(amount, nonce, '0')).paymentPayload.payload)
  expect(await errorOf('refundWithSignature', await refund('5', '1'))).toBe('InvalidRefundNonce')
  expect(await errorOf('refundWithSignature', await refund('0', '0'))).toBe('ZeroRefund')
  const [config, amount, nonce] = await refund('300', '0')
  expect(await errorOf('refundWithSignature', [config, amount, nonce, '0x'])).toBe(
    'InvalidSignature',
  )
  await send('refundWithSignature', await refund('300', '0'))
  expect(await read('channels', [channel.channelId])).toEqual([700n, 0n])
  await send('refundWithSignature', await refund('9000', '1'))
  await send('refundWithSignature', await refund('1', '2'))
  expect(await read('refundNonce', [channel.channelId])).toBe(3n)
  expect(await usdcBalance(anvil.url, channel.payer.address)).toBe(10_000n)
})

it('runs several calls at once, all or none', async () => {
  const channel = await anOpenChannel()
  const { paymentPayload } = await channel.refund('500', '0', '100', [{ max: '100', total: '100' }])
  const { payload } = paymentPayload
  const claim = encodeFunctionData({
    abi,
    functionName: 'claimWithSignature',
    args: claimArgs(payload),
  })
  const args = refundArgs(channel, payload)
  const refund = encodeFunctionData({ abi, functionName: 'refundWithSignature', args })
  expect(await errorOf('multicall', [[claim, refund, refund]])).toBe('InvalidRefundNonce')
  await send('multicall', [[claim, refund]])
  expect(await read('channels', [channel.channelId])).toEqual([500n, 100n])
})

// This test comes last: it moves the chain's clock past the deadlines of the others.
it('lets the payer withdraw the unclaimed amount after the delay', async () => {
  const channel = await anOpenChannel()
  const { config, payer, channelId } = channel
  const withdraw = (amount: bigint) => [config, amount]
  expect(await errorOf('initiateWithdraw', withdraw(1n))).toBe('InvalidChannel')
  expect(await errorOf('initiateWithdraw', withdraw(0n), payer.address)).toBe('NothingToWithdraw')
  expect(await errorOf('initiateWithdraw', withdraw(1_001n), payer.address)).toBe(
    'WithdrawAmountExceedsAvailable',
  )
  await send('initiateWithdraw', withdraw(1_000n), payer.address)
  expect(await errorOf('initiateWithdraw', withdraw(1n), payer.address)).toBe(
    'WithdrawalAlreadyPending',
  )
  expect(await errorOf('finalizeWithdraw', [config], payer.address)).toBe('WithdrawDelayNotElapsed')
  const { paymentPayload } = await channel.claim({ max: '400', total: '400' })
  await send('claimWithSignature', claimArgs(paymentPayload.payload))
  await client.increaseTime({ seconds: 900 })
  await client.mine({ blocks: 1 })
  expect(await errorOf('finalizeWithdraw', [config])).toBe('NotAuthorizedToFinalizeWithdraw')
  await send('finalizeWithdraw', [config], payer.address)
  expect(await read('channels', [channelId])).toEqual([400n, 400n])
  expect(await read('pendingWithdrawals', [channelId])).toEqual([0n, 0])
  expect(await errorOf('finalizeWithdraw', [config], payer.address)).toBe('WithdrawalNotPending')
})
