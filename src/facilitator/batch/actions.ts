import { type Address, concat, encodeAbiParameters, type Hex, keccak256 } from 'viem'
import { zeroAddress } from '../../x402/address.js'
import type { Claim, ClaimRow, Deposit, EnrichedRefund } from '../../x402/batch-schemas.js'
import { hashChannel, hashClaims, hashDeposit, hashRefund } from './typed-data.js'

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
  /** The accounts whose code checks signatures of it, if they have any; rows of earlier versions lack them. */
  runners?: readonly Address[]
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
  /** As for a claim. */
  runners?: readonly Address[]
  /** What it was found to move, with what its rows claim; rows of earlier versions lack it. */
  gain?: string
}

/** A signature under which a thing is asked for. */
export interface Proof {
  hash: Hex
  signature: Hex
  signer: Address
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
  /** Whose word it is; a payout is for anybody to ask. */
  proof?: Proof
}

/** One thing to do on chain, with what makes it the same thing when it is asked for again. */
export type BatchJob =
  | Identified<'deposit', DepositDetails>
  | Identified<'claim', ClaimDetails>
  | Identified<'settle', SettleDetails>
  | Identified<'refund', RefundDetails>

export function identifyDeposit(
  { channelConfig, deposit }: Deposit,
  chainId: number,
  { name, version }: { name: string; version: string },
): BatchJob {
  const channelId = hashChannel(channelConfig, chainId)
  const { validAfter, validBefore, salt, signature } = deposit.authorization.erc3009Authorization
  const nonce = keccak256(
    encodeAbiParameters([{ type: 'bytes32' }, { type: 'uint256' }], [channelId, BigInt(salt)]),
  )
  const { payer, receiver: payTo, token: asset } = channelConfig
  const { amount } = deposit
  const end = BigInt(validBefore)
  const digest = hashDeposit(
    { name, version, chainId, asset },
    {
      from: payer,
      value: BigInt(amount),
      validAfter: BigInt(validAfter),
      validBefore: end,
      nonce,
    },
  )
  return {
    action: 'deposit',
    key: `${asset}/${payer}/${nonce}`,
    digest,
    expiresAt: end > BigInt(never) ? never : Number(end),
    details: { channelId, payer, payTo, asset, amount, nonce, validAfter },
    proof: { hash: digest, signature, signer: payer },
  }
}

export function identifyClaim(claims: Claim['claims'], chainId: number, signature: Hex): BatchJob {
  const digest = hashClaims(claims, chainId)
  const { receiverAuthorizer, receiver } = (claims[0] as ClaimRow).voucher.channel
  return {
    action: 'claim',
    key: digest,
    digest,
    expiresAt: never,
    details: {
      authorizer: receiverAuthorizer,
      payTo: receiver,
      claims: totalsOf(claims, chainId),
      runners: runnersOf(claims, receiverAuthorizer),
    },
    proof: { hash: digest, signature, signer: receiverAuthorizer },
  }
}

export function identifySettle(receiver: Address, token: Address, settledBefore: bigint): BatchJob {
  const key = `${token}/${receiver}/${settledBefore}`
  return {
    action: 'settle',
    key,
    digest: keccak256(Buffer.from(key)),
    expiresAt: never,
    details: { receiver, token, settledBefore: settledBefore.toString() },
  }
}

export function identifyRefund(payload: EnrichedRefund, chainId: number, signature: Hex): BatchJob {
  const { channelConfig, refundNonce: nonce, amount, claims } = payload
  const channelId = hashChannel(channelConfig, chainId)
  const message = { channelId, nonce: BigInt(nonce), amount: BigInt(amount) }
  const refund = hashRefund(message, chainId)
  const { payer, receiver: payTo, token: asset, receiverAuthorizer: authorizer } = channelConfig
  const rows = claims.length
  const runners = runnersOf(claims, authorizer)
  return {
    action: 'refund',
    key: `${channelId}/${message.nonce}`,
    digest: keccak256(concat([refund, hashClaims(claims, chainId)])),
    expiresAt: never,
    details: { channelId, payer, payTo, asset, authorizer, nonce, amount, rows, runners },
    proof: { hash: refund, signature, signer: authorizer },
  }
}

/** The accounts that the settlement contract asks about signatures, if they have code (ERC-1271). */
function runnersOf(claims: readonly ClaimRow[], authorizer: Address): Address[] {
  const ofRows = claims.flatMap(({ voucher: { channel } }) => [
    channel.receiverAuthorizer,
    ...(channel.payerAuthorizer === zeroAddress ? [channel.payer] : []),
  ])
  return [...new Set([authorizer, ...ofRows])]
}

function totalsOf(claims: readonly ClaimRow[], chainId: number) {
  return claims.map(({ voucher, totalClaimed }) => ({
    channelId: hashChannel(voucher.channel, chainId),
    totalClaimed,
  }))
}

/** What no clock ends. */
const never = Number.MAX_SAFE_INTEGER
