import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { x402 } from '@arcus/merchant'
import { type Channels, createChannels } from '@arcus/merchant/channels'
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  decodePaymentSignatureHeader,
  encodePaymentSignatureHeader,
} from '@x402/core/http'
import { toClientEvmSigner } from '@x402/evm'
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client'
import { FileChannelStorage } from '@x402/evm/batch-settlement/server/file-storage'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import fastify, { type FastifyInstance } from 'fastify'
import { createPublicClient, encodeFunctionData, http, zeroAddress } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  devnetContracts,
  fundNative,
  mintUsdc,
  readArtifact,
  usdcBalance,
} from '../../../src/devnet/fixtures.js'
import { call as callNode } from '../../../src/devnet/rpc.js'
import { startWorld, type World } from '../../support/arcus.js'
import { type Bend, bendingAccount, bends } from '../../support/bent-signature.js'
import { payingBy } from '../../support/paying.js'
import { withResolvers } from '../../support/with-resolvers.js'
import { aShop, payTo as somebody } from './a-shop.js'

const receiver = privateKeyToAccount(generatePrivateKey()).address
const signer = privateKeyToAccount(generatePrivateKey())
const folder = mkdtempSync(join(tmpdir(), 'arcus-channels-'))

let world: World
let app: FastifyInstance
let channels: Channels
let url: string
let served = 0
let left = 0
let isBroken = false
let hold: Promise<unknown> | undefined
/** The price of a call. Buyers by channel deposit a hundred times as much. */
const price = 10_000n

const openChannels = (storage: string, changes: object = {}) =>
  createChannels({ facilitator: world.url, payTo: receiver, signer, storage, ...changes })

beforeAll(async () => {
  world = await startWorld()
  channels = openChannels(folder)
  app = fastify()
  app.addHook('onRequestAbort', async (_request) => {
    left++
  })
  await app.register(x402, { facilitator: world.url, payTo: receiver, channels })
  app.get('/quote', { config: { x402: '$0.01' } }, async ({ payment }) => {
    served++
    await hold
    if (isBroken) throw new Error('broken')
    return { scheme: payment?.scheme, payer: payment?.payer }
  })
  const metered = { price: '$0.01', pricing: 'metered', schemes: ['batch-settlement'] } as const
  app.get<{ Querystring: { used: string } }>(
    '/metered',
    { config: { x402: metered } },
    async ({ payment, query }) => {
      payment?.charge(query.used)
      return 'metered goods'
    },
  )
  url = await app.listen({ port: 0, host: '127.0.0.1' })
})
afterAll(async () => {
  await app?.close()
  await channels?.close()
  await world?.stop()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  served = 0
  isBroken = false
  hold = undefined
})

/** Makes a buyer with money who knows one scheme. A new client does not know the channel. */
async function aBuyer(account: PrivateKeyAccount = privateKeyToAccount(generatePrivateKey())) {
  await mintUsdc(world.chainUrl, account.address, 1_000_000n)
  const scheme = new BatchSettlementEvmScheme(account)
  const through = (fetcher: typeof fetch) => payBy(scheme, fetcher)
  return { account, scheme, pay: Object.assign(payBy(scheme), { through }) }
}

function payBy(
  scheme: BatchSettlementEvmScheme | ExactEvmScheme,
  fetcher: typeof fetch = fetch,
): typeof fetch {
  return payingBy(scheme, { send: fetcher })
}

const balanceOf = (address: `0x${string}`) => usdcBalance(world.chainUrl, address)

function settlementOf(response: Response) {
  return decodePaymentResponseHeader(response.headers.get('PAYMENT-RESPONSE') as string)
}

/** Returns the total charge of the buyer's channel. */
function chargedIn(response: Response): bigint {
  const { channelState } = settlementOf(response).extra as {
    channelState: { chargedCumulativeAmount: string }
  }
  return BigInt(channelState.chargedCumulativeAmount)
}

it('offers both schemes, exact first, and serves the stock buyer of either', async () => {
  const asked = await fetch(`${url}/quote`)
  const { accepts } = decodePaymentRequiredHeader(asked.headers.get('PAYMENT-REQUIRED') as string)
  expect(accepts.map(({ scheme, amount }) => [scheme, amount])).toEqual([
    ['exact', '10000'],
    ['batch-settlement', '10000'],
  ])
  expect(accepts[1]?.extra).toMatchObject({
    name: 'USDC',
    version: '2',
    receiverAuthorizer: signer.address,
    withdrawDelay: 86_400,
    minDeposit: '100000',
  })

  const { account, pay } = await aBuyer()
  const exact = await payBy(new ExactEvmScheme(account))(`${url}/quote`)
  expect(await exact.json()).toMatchObject({ scheme: 'exact' })
  const first = await pay(`${url}/quote`)
  expect(await first.json()).toEqual({ scheme: 'batch-settlement', payer: account.address })
  expect(settlementOf(first)).toMatchObject({ success: true, payer: account.address })
  expect(settlementOf(first).transaction).toMatch(/^0x/)
  const second = await pay(`${url}/quote`)
  expect(settlementOf(second)).toMatchObject({ success: true, transaction: '' })
  expect(chargedIn(second)).toBe(2n * price)
})

it('takes only the amount that the handler charged, without a refund', async () => {
  const { pay } = await aBuyer()
  expect(chargedIn(await pay(`${url}/metered?used=$0.004`))).toBe(4_000n)
  const free = await pay(`${url}/metered?used=$0`)
  expect(await free.text()).toBe('metered goods')
  expect(free.headers.get('PAYMENT-RESPONSE')).toBeNull()
  expect(chargedIn(await pay(`${url}/metered?used=2500`))).toBe(6_500n)
})

it('charges nothing for a failed handler, and releases the channel for the next call', async () => {
  const { pay } = await aBuyer()
  isBroken = true
  expect((await pay(`${url}/quote`)).status).toBe(500)
  isBroken = false
  expect(chargedIn(await pay(`${url}/quote`))).toBe(price)
  isBroken = true
  expect((await pay(`${url}/quote`)).status).toBe(500)
  isBroken = false
  expect(chargedIn(await pay(`${url}/quote`))).toBe(2n * price)
})

it('charges nothing when the buyer disconnects, and releases the channel for the next call', async () => {
  const { pay } = await aBuyer()
  await pay(`${url}/quote`)
  const { promise, resolve: finish } = withResolvers()
  hold = promise
  const leaving = new AbortController()
  const call = pay(`${url}/quote`, { signal: leaving.signal }).catch((error: Error) => error.name)
  await vi.waitUntil(() => served === 2, 15_000)
  leaving.abort()
  expect(await call).toBe('AbortError')
  await vi.waitUntil(() => left === 1, 15_000)
  finish()
  hold = undefined
  expect(chargedIn(await pay(`${url}/quote`))).toBe(2n * price)
})

it('serves one of two simultaneous calls with the same voucher', async () => {
  const { pay } = await aBuyer()
  await pay(`${url}/quote`)
  served = 0
  const answers = await Promise.all([pay(`${url}/quote`), pay(`${url}/quote`)])
  const good = answers.filter(({ ok }) => ok)
  // The refused call may have been signed again with the balance that the served one left.
  expect(served).toBe(good.length)
  expect(good.map(chargedIn).sort().at(-1)).toBe(BigInt(good.length + 1) * price)
})

it('sends the channel state to a buyer whose own record is out of date', async () => {
  const { account, pay } = await aBuyer()
  await pay(`${url}/quote`)
  await pay(`${url}/quote`)
  const chain = createPublicClient({ transport: http(world.chainUrl) })
  const forgetful = new BatchSettlementEvmScheme(toClientEvmSigner(account, chain))
  const response = await payBy(forgetful)(`${url}/quote`)
  expect(response.status).toBe(200)
  expect(chargedIn(response)).toBe(3n * price)
})

it('claims and settles the earnings, and refunds the rest of the deposit on request', async () => {
  const { account, scheme, pay } = await aBuyer()
  const before = await balanceOf(receiver)
  for (let i = 0; i < 3; i++) await pay(`${url}/quote`)
  await channels.run()
  const earned = (await balanceOf(receiver)) - before
  expect(earned).toBeGreaterThanOrEqual(3n * price)
  await channels.run()
  expect((await balanceOf(receiver)) - before).toBe(earned)
  served = 0
  await scheme.refund(`${url}/quote`)
  expect(served).toBe(0)
  expect(await balanceOf(account.address)).toBe(1_000_000n - 3n * price)
})

const refusalOf = async (response: Response) => ({
  status: response.status,
  error: decodePaymentRequiredHeader(response.headers.get('PAYMENT-REQUIRED') as string).error,
})

describe('vouchers in a form that the contract does not accept', () => {
  it.each(Object.keys(bends) as Bend[])(
    'with %s are converted to the accepted form, and claimed',
    async (how) => {
      const account = privateKeyToAccount(generatePrivateKey())
      const isVoucher = (typed: { primaryType: string }) => typed.primaryType === 'Voucher'
      const { pay, scheme } = await aBuyer(bendingAccount(account, how, isVoucher))
      const before = await balanceOf(receiver)
      await channels.run()
      const earnedBefore = (await balanceOf(receiver)) - before
      for (let i = 0; i < 3; i++) expect((await pay(`${url}/quote`)).status).toBe(200)
      await channels.run()
      expect((await balanceOf(receiver)) - before - earnedBefore).toBe(3n * price)
      await scheme.refund(`${url}/quote`)
      expect(await balanceOf(account.address)).toBe(1_000_000n - 3n * price)
    },
  )

  type Voucher = Record<'maxClaimableAmount' | 'signature' | 'channelId', string>
  const oddities: [string, (voucher: Voucher) => object, RegExp][] = [
    ['a byte too many', (it) => ({ signature: `${it.signature}00` }), /voucher_signature/],
    ['no signature', () => ({ signature: undefined }), /voucher_signature/],
    [
      'its amount in hex',
      (it) => ({ maxClaimableAmount: `0x${BigInt(it.maxClaimableAmount).toString(16)}` }),
      /maxClaimableAmount/,
    ],
    [
      'its amount as a number',
      (it) => ({ maxClaimableAmount: Number(it.maxClaimableAmount) }),
      /maxClaimableAmount/,
    ],
  ]
  it.each(oddities)(
    'with %s are refused, and earlier vouchers are not lost',
    async (_, odd, said) => {
      const { pay } = await aBuyer()
      await pay(`${url}/quote`)
      served = 0
      let refused: Response | undefined
      const bendHeader: typeof fetch = async (input, init) => {
        const request = new Request(input, init)
        const header = request.headers.get('PAYMENT-SIGNATURE')
        if (header === null) return fetch(request)
        const payment = decodePaymentSignatureHeader(header)
        const { voucher } = payment.payload as { voucher: Voucher }
        const payload = { ...payment.payload, voucher: { ...voucher, ...odd(voucher) } }
        const bent = encodePaymentSignatureHeader({ ...payment, payload })
        refused = await fetch(request.url, { headers: { 'PAYMENT-SIGNATURE': bent } })
        return refused.clone()
      }
      await pay.through(bendHeader)(`${url}/quote`)
      expect(await refusalOf(refused as Response)).toMatchObject({
        status: 402,
        error: expect.stringMatching(said),
      })
      expect(served).toBe(0)
      expect(chargedIn(await pay(`${url}/quote`))).toBe(2n * price)
    },
  )
})

it('refuses a channel without a payerAuthorizer', async () => {
  const account = privateKeyToAccount(generatePrivateKey())
  await mintUsdc(world.chainUrl, account.address, 1_000_000n)
  const open = new BatchSettlementEvmScheme(account, { payerAuthorizer: zeroAddress })
  const refused = await refusalOf(await payBy(open)(`${url}/quote`))
  expect(refused).toMatchObject({ status: 402, error: expect.stringMatching(/payerAuthorizer/) })
  expect(await balanceOf(account.address)).toBe(1_000_000n)
  expect(served).toBe(0)
})

it('serves a contract wallet that names a key for its vouchers', async () => {
  const account = privateKeyToAccount(generatePrivateKey())
  const voucherSigner = privateKeyToAccount(generatePrivateKey())
  await mintUsdc(world.chainUrl, account.address, 1_000_000n)
  const { deployedBytecode } = readArtifact('Wallet1271')
  await callNode(world.chainUrl, 'anvil_setCode', [account.address, deployedBytecode])
  const pay = payBy(new BatchSettlementEvmScheme(account, { voucherSigner }))
  expect(chargedIn(await pay(`${url}/quote`))).toBe(price)
  expect(chargedIn(await pay(`${url}/quote`))).toBe(2n * price)
})

it('settles the claims of a buyer’s refund to the receiver', async () => {
  await channels.run()
  const before = await balanceOf(receiver)
  const { scheme, pay } = await aBuyer()
  for (let i = 0; i < 3; i++) await pay(`${url}/quote`)
  await scheme.refund(`${url}/quote`)
  await channels.run()
  expect((await balanceOf(receiver)) - before).toBe(3n * price)
})

it('accepts no more calls by a channel whose deposit is being withdrawn', async () => {
  const { account, pay } = await aBuyer()
  await pay(`${url}/quote`)
  const storage = new FileChannelStorage({ directory: folder })
  const own = (await storage.list()).find(
    ({ channelConfig: { payer } }) => payer === account.address,
  )
  if (own === undefined) throw new Error('no channel was kept')
  const { abi } = readArtifact('BatchSettlement')
  const args = [own.channelConfig, 1n]
  const data = encodeFunctionData({ abi, functionName: 'initiateWithdraw', args })
  await fundNative(world.chainUrl, account.address, 10n ** 18n)
  await callNode(world.chainUrl, 'anvil_impersonateAccount', [account.address])
  const transaction = { from: account.address, to: devnetContracts.batchSettlement, data }
  await callNode(world.chainUrl, 'eth_sendTransaction', [transaction])
  // The state that was read from the chain is cached for some minutes.
  await storage.updateChannel(own.channelId, (it) => it && { ...it, onchainSyncedAt: 0 })
  served = 0
  const refused = await refusalOf(await pay(`${url}/quote`))
  expect(refused).toMatchObject({ status: 402, error: expect.stringMatching(/withdraw/) })
  expect(served).toBe(0)
  expect((await storage.get(own.channelId))?.pendingRequest).toBeUndefined()
})

it('claims and settles the earnings of an earlier run after a restart', async () => {
  const { pay } = await aBuyer()
  await pay(`${url}/quote`)
  const before = await balanceOf(receiver)
  const another = openChannels(folder, { isTurn: () => false })
  await another.run()
  await another.close()
  expect(await balanceOf(receiver)).toBe(before)
  const reopened = openChannels(folder)
  await reopened.run()
  await reopened.close()
  expect((await balanceOf(receiver)) - before).toBeGreaterThanOrEqual(price)
  expect(chargedIn(await pay(`${url}/quote`))).toBe(2n * price)
})

it('refuses a deposit below the minimum', async () => {
  const account = privateKeyToAccount(generatePrivateKey())
  await mintUsdc(world.chainUrl, account.address, 1_000_000n)
  const stingy = new BatchSettlementEvmScheme(account, {
    depositStrategy: async () => '10000',
  })
  const response = await payBy(stingy)(`${url}/quote`)
  expect(response.status).toBe(402)
  const { error } = decodePaymentRequiredHeader(response.headers.get('PAYMENT-REQUIRED') as string)
  expect(error).toBe('invalid_batch_settlement_evm_deposit_below_min_deposit')
})

it.each([
  ['the receiver is another', { x402: { payTo: somebody } }, {}, /another payTo/],
  ['the network is another', { x402: { network: 'eip155:5042002' } }, {}, /another network/],
  ['the scheme is unknown', { x402: {} }, { schemes: ['deferred'] }, /schemes are/],
  ['no scheme is left', { x402: {} }, { schemes: [] }, /schemes are/],
  [
    'there are no channels',
    { x402: { channels: undefined } },
    { schemes: ['batch-settlement'] },
    /needs channels/,
  ],
])('a server does not start when %s', async (_, { x402 }, own, said) => {
  const route = { config: { x402: { price: '$0.01' as const, ...(own as object) } } }
  await expect(
    aShop((it) => it.get('/quote', route, () => 'goods'), {
      x402: { payTo: receiver, channels, ...x402 } as object,
    }),
  ).rejects.toThrow(said)
})

it.each([
  [{ withdrawDelaySeconds: 899 }, /withdrawDelaySeconds/],
  [{ withdrawDelaySeconds: 2_592_001 }, /withdrawDelaySeconds/],
  [{ withdrawDelaySeconds: 900, claimSeconds: 451 }, /claimSeconds/],
  [{ claimSeconds: 0 }, /claimSeconds/],
])('channels are not opened with %j', (changes, said) => {
  expect(() => openChannels(folder, changes)).toThrow(said)
})
