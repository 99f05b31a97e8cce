import {
  type Address,
  concat,
  encodeAbiParameters,
  type Hex,
  hashTypedData,
  keccak256,
  type TypedDataDomain,
} from 'viem'
import { batchContracts } from '../../chain/batch-settlement.js'
import type {
  ChannelConfig,
  Claim,
  ClaimRow,
  Deposit,
  EnrichedRefund,
} from '../../x402/batch-schemas.js'

/** The kinds of job that `batch-settlement` adds to the journal. */
export const batchKinds = {
  deposit: 'batch-deposit',
  claim: 'batch-claim',
  settle: 'batch-settle',
  refund: 'batch-refund',
} as const

export type BatchAction = keyof typeof batchKinds

/** What a deposit's job keeps; amounts as decimal strings, 6-decimal units. */
export interface DepositDetails {
  channelId: Hex
  payer: Address
  payTo: Address
  asset: Address
  amount: string
  /** Of the EIP-3009 authorization. */
  nonce: Hex
  validAfter: string
}

export interface ClaimDetails {
  /** Signed the batch, and answers for gas it burns. */
  authorizer: Address
  payTo: Address
  claims: { channelId: Hex; totalClaimed: string }[]
}

export interface SettleDetails {
  receiver: Address
  token: Address
  /** What was paid out before. */
  settledBefore: string
}

export interface RefundDetails {
  channelId: Hex
  payer: Address
  payTo: Address
  asset: Address
  authorizer: Address
  nonce: string
  amount: string
  rows: number
}

interface Identified<Action extends BatchAction, Details> {
  action: Action
  /** What the chain lets happen once. */
  key: string
  /** What was authorized under the key, whatever bytes sign it. */
  digest: Hex
  /** Unix seconds. */
  expiresAt: number
  details: Details
}

/** One thing to do on chain, with what makes it the same thing when it is asked for again. */
export type BatchJob =
  | Identified<'deposit', DepositDetails>
  | Identified<'claim', ClaimDetails>
  | Identified<'settle', SettleDetails>
  | Identified<'refund', RefundDetails>

export function identifyDeposit({ channelConfig, deposit }: Deposit, chainId: number): BatchJob {
  const channelId = hashChannel(channelConfig, chainId)
  const { validAfter, validBefore, salt } = deposit.authorization.erc3009Authorization
  const nonce = keccak256(
    encodeAbiParameters([{ type: 'bytes32' }, { type: 'uint256' }], [channelId, BigInt(salt)]),
  )
  const { payer, receiver: payTo, token: asset } = channelConfig
  const { amount } = deposit
  const window = [validAfter, validBefore, amount].map(BigInt) as [bigint, bigint, bigint]
  const end = window[1]
  return {
    action: 'deposit',
    key: `${asset}/${payer}/${nonce}`,
    digest: keccak256(
      encodeAbiParameters(
        [{ type: 'bytes32' }, { type: 'uint256' }, { type: 'uint256' }, { type: 'uint256' }],
        [nonce, ...window],
      ),
    ),
    expiresAt: end > BigInt(never) ? never : Number(end),
    details: { channelId, payer, payTo, asset, amount, nonce, validAfter },
  }
}

export function identifyClaim({ claims }: Claim, chainId: number): BatchJob {
  const digest = hashClaims(claims, chainId)
  const { receiverAuthorizer, receiver } = (claims[0] as ClaimRow).voucher.channel
  return {
    action: 'claim',
    key: digest,
    digest,
    expiresAt: never,
    details: { authorizer: receiverAuthorizer, payTo: receiver, claims: totalsOf(claims, chainId) },
  }
}

export function identifySettle(receiver: Address, token: Address, settledBefore: bigint): BatchJob {
  const key = `${settleKeyPrefix(receiver, token)}${settledBefore}`
  return {
    action: 'settle',
    key,
    digest: keccak256(Buffer.from(key)),
    expiresAt: never,
    details: { receiver, token, settledBefore: settledBefore.toString() },
  }
}

export function settleKeyPrefix(receiver: Address, token: Address): string {
  return `${token}/${receiver}/`
}

export function identifyRefund(payload: EnrichedRefund, chainId: number): BatchJob {
  const { channelConfig, refundNonce: nonce, amount, claims } = payload
  const channelId = hashChannel(channelConfig, chainId)
  const message = { channelId, nonce: BigInt(nonce), amount: BigInt(amount) }
  const refund = hashTypedData({
    domain: domainOf(chainId),
    types: refundTypes,
    primaryType: 'Refund',
    message,
  })
  const { payer, receiver: payTo, token: asset, receiverAuthorizer: authorizer } = channelConfig
  const rows = claims.length
  return {
    action: 'refund',
    key: `${channelId}/${message.nonce}`,
    digest: keccak256(concat([refund, hashClaims(claims, chainId)])),
    expiresAt: never,
    details: { channelId, payer, payTo, asset, authorizer, nonce, amount, rows },
  }
}

export function hashChannel(channel: ChannelConfig, chainId: number): Hex {
  return hashTypedData({
    domain: domainOf(chainId),
    types: channelTypes,
    primaryType: 'ChannelConfig',
    message: channel,
  })
}

export function totalsOf(claims: readonly ClaimRow[], chainId: number) {
  return claims.map(({ voucher, totalClaimed }) => ({
    channelId: hashChannel(voucher.channel, chainId),
    totalClaimed,
  }))
}

function hashClaims(claims: readonly ClaimRow[], chainId: number): Hex {
  const entries = claims.map(({ voucher, totalClaimed }) => ({
    channelId: hashChannel(voucher.channel, chainId),
    maxClaimableAmount: BigInt(voucher.maxClaimableAmount),
    totalClaimed: BigInt(totalClaimed),
  }))
  return hashTypedData({
    domain: domainOf(chainId),
    types: claimTypes,
    primaryType: 'ClaimBatch',
    message: { claims: entries },
  })
}

/** What no clock ends. */
const never = Number.MAX_SAFE_INTEGER

function domainOf(chainId: number): TypedDataDomain {
  const verifyingContract = batchContracts.settlement
  return { name: 'x402 Batch Settlement', version: '1', chainId, verifyingContract }
}

const channelTypes = {
  ChannelConfig: [
    { name: 'payer', type: 'address' },
    { name: 'payerAuthorizer', type: 'address' },
    { name: 'receiver', type: 'address' },
    { name: 'receiverAuthorizer', type: 'address' },
    { name: 'token', type: 'address' },
    { name: 'withdrawDelay', type: 'uint40' },
    { name: 'salt', type: 'bytes32' },
  ],
} as const

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
