import {
  computeChannelId,
  createBatchSettlementEIP3009DepositPayload,
  signVoucher,
} from '@x402/evm/batch-settlement/client'
import {
  type Address,
  encodeAbiParameters,
  type Hex,
  keccak256,
  numberToHex,
  parseAbiParameters,
  toHex,
} from 'viem'
import type { HDAccount, PrivateKeyAccount } from 'viem/accounts'
import { devnetContracts } from '../../src/devnet/fixtures.js'
import { callBatch } from '../../src/devnet/rpc.js'
import { anAccount } from './an-account.js'

export const network = 'eip155:5042'
export const asset: Address = devnetContracts.usdc
const dollars = asset

export interface ChannelWish {
  /** The token, dollars unless given. */
  token?: { asset: Address; name: string }
  payer?: PrivateKeyAccount | HDAccount
  receiver?: Address
  authorizer?: PrivateKeyAccount
  /** Members over those of the configuration. */
  config?: Partial<ReturnType<typeof configOf>>
}

export interface ClaimWish {
  max: string
  total: string
}

export interface BatchBody {
  x402Version: number
  paymentPayload: { x402Version: number; accepted: object; payload: Record<string, unknown> }
  paymentRequirements: Record<string, unknown>
}

const domain = {
  name: 'x402 Batch Settlement',
  version: '1',
  chainId: 5042,
  verifyingContract: devnetContracts.batchSettlement,
} as const

/** A channel with real keys, and the bodies that buyer and merchant post about it, signed by the official package. */
export function aChannel(wish: ChannelWish = {}) {
  const payer = wish.payer ?? anAccount()
  const receiver = wish.receiver ?? anAccount().address
  const authorizer = wish.authorizer ?? anAccount()
  const { asset, name } = wish.token ?? { asset: dollars, name: 'USDC' }
  const own = { ...configOf(payer.address, receiver, authorizer.address), token: asset }
  const config = { ...own, ...wish.config }
  const channelId = computeChannelId(config, network)
  const requirements = (amount = '1000') => ({
    scheme: 'batch-settlement',
    network,
    asset,
    amount,
    payTo: receiver,
    maxTimeoutSeconds: 60,
    extra: {
      name,
      version: '2',
      receiverAuthorizer: config.receiverAuthorizer,
      withdrawDelay: config.withdrawDelay,
    },
  })
  const managerRequirements = { ...requirements('0'), maxTimeoutSeconds: 0, extra: {} }
  const body = (payload: Record<string, unknown>, asked: object = requirements()): BatchBody => ({
    x402Version: 2,
    paymentPayload: { x402Version: 2, accepted: asked, payload },
    paymentRequirements: asked as Record<string, unknown>,
  })
  const claimsOf = async (wishes: ClaimWish[]) =>
    Promise.all(
      wishes.map(async ({ max, total }) => ({
        voucher: { channel: config, maxClaimableAmount: max },
        signature: (await signVoucher(payer, channelId, max, network)).signature,
        totalClaimed: total,
      })),
    )
  const signClaims = (wishes: ClaimWish[]) =>
    authorizer.signTypedData({
      domain,
      types: claimTypes,
      primaryType: 'ClaimBatch',
      message: {
        claims: wishes.map(({ max, total }) => ({
          channelId,
          maxClaimableAmount: BigInt(max),
          totalClaimed: BigInt(total),
        })),
      },
    })

  return {
    payer,
    receiver,
    authorizer,
    config,
    channelId,
    requirements,
    body,
    /** A deposit with the voucher that came with it. */
    async deposit(amount = '100000', max = '1000', extra: object = {}): Promise<BatchBody> {
      const asked = { ...requirements(), ...extra }
      const { payload } = await createBatchSettlementEIP3009DepositPayload(
        payer,
        2,
        asked as never,
        config,
        amount,
        max,
      )
      return body(payload as Record<string, unknown>, asked)
    },
    async voucher(max: string): Promise<BatchBody> {
      const voucher = await signVoucher(payer, channelId, max, network)
      return body({ type: 'voucher', channelConfig: config, voucher })
    },
    /** Makes a claim as the channel manager posts it. */
    async claim(...wishes: ClaimWish[]): Promise<BatchBody> {
      const [claims, claimAuthorizerSignature] = await Promise.all([
        claimsOf(wishes),
        signClaims(wishes),
      ])
      return body({ type: 'claim', claims, claimAuthorizerSignature }, managerRequirements)
    },
    settle: (): BatchBody => body({ type: 'settle', receiver, token: asset }, managerRequirements),
    async refund(
      amount: string,
      nonce: string,
      max: string,
      wishes: ClaimWish[] = [],
    ): Promise<BatchBody> {
      const message = { channelId, nonce: BigInt(nonce), amount: BigInt(amount) }
      const refundAuthorizerSignature = await authorizer.signTypedData({
        domain,
        types: refundTypes,
        primaryType: 'Refund',
        message,
      })
      const voucher = await signVoucher(payer, channelId, max, network)
      const claims = await claimsOf(wishes)
      return body(
        {
          type: 'refund',
          channelConfig: config,
          voucher,
          amount,
          refundNonce: nonce,
          claims,
          refundAuthorizerSignature,
          ...(claims.length > 0 && { claimAuthorizerSignature: await signClaims(wishes) }),
        },
        managerRequirements,
      )
    },
  }
}

export type Channel = ReturnType<typeof aChannel>

/** One claim of the same total of each channel, signed by the authorizer that they share. */
export async function aClaimOf(channels: readonly Channel[], total: string): Promise<BatchBody> {
  const bodies = await Promise.all(channels.map((it) => it.claim({ max: total, total })))
  const [first, { authorizer }] = [bodies[0] as BatchBody, channels[0] as Channel]
  const rows = bodies.flatMap((body) => body.paymentPayload.payload.claims as object[])
  const amount = BigInt(total)
  const claims = channels.map(({ channelId }) => {
    return { channelId, maxClaimableAmount: amount, totalClaimed: amount }
  })
  const typed = {
    domain,
    types: claimTypes,
    primaryType: 'ClaimBatch',
    message: { claims },
  } as const
  const claimAuthorizerSignature = await authorizer.signTypedData(typed)
  Object.assign(first.paymentPayload.payload, { claims: rows, claimAuthorizerSignature })
  return first
}

/** Writes balances of channels into the settlement contract, which saves their deposits. */
export async function fillChannels(
  chainUrl: string,
  channels: readonly Channel[],
  balance: bigint,
): Promise<void> {
  // The first variable of a contract whose storage begins at erc7201('arcus.devnet.BatchSettlement').
  const namespace = BigInt(keccak256(toHex('arcus.devnet.BatchSettlement'))) - 1n
  const base = BigInt(keccak256(numberToHex(namespace, { size: 32 }))) & ~0xffn
  const words = parseAbiParameters('bytes32, uint256')
  const writes = channels.map(({ channelId }) => {
    const slot = keccak256(encodeAbiParameters(words, [channelId, base]))
    const value = numberToHex(balance, { size: 32 })
    return ['anvil_setStorageAt', [devnetContracts.batchSettlement, slot, value]] as const
  })
  await callBatch(chainUrl, writes)
}

function configOf(payer: Address, receiver: Address, receiverAuthorizer: Address) {
  return {
    payer,
    payerAuthorizer: payer,
    receiver,
    receiverAuthorizer,
    token: asset as Address,
    withdrawDelay: 900,
    salt: toHex(crypto.getRandomValues(new Uint8Array(32))) as Hex,
  }
}

const refundTypes = {
  Refund: [
    { name: 'channelId', type: 'bytes32' },
    { name: 'nonce', type: 'uint256' },
    { name: 'amount', type: 'uint128' },
  ],
} as const

const claimTypes = {
  ClaimBatch: [{ name: 'claims', type: 'ClaimEntry[]' }],
  ClaimEntry: [
    { name: 'channelId', type: 'bytes32' },
    { name: 'maxClaimableAmount', type: 'uint128' },
    { name: 'totalClaimed', type: 'uint128' },
  ],
} as const
