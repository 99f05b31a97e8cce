import { zeroAddress } from '@arcus/protocol/x402/address'
import { authorizationFields } from '@arcus/protocol/x402/authorization-types'
import type { BatchDigests } from '@arcus/protocol/x402/batch-digest'
import type { Claim, ClaimRow, Deposit, EnrichedRefund } from '@arcus/protocol/x402/batch-schemas'
import { type Address, concat, encodeAbiParameters, type Hex, hashTypedData, keccak256 } from 'viem'
import { batchContracts } from '../../chain/batch-settlement.js'
import type { Brought } from '../relayer/gas-guard.js'

/** The kinds of job that `batch-settlement` has in the journal. */
export const batchKinds = {
  deposit: 'batch-deposit',
  claim: 'batch-claim',
  settle: 'batch-settle',
  refund: 'batch-refund',
} as const

export type BatchAction = keyof typeof batchKinds

/** What every job also stores: who brought it, and the standing of its recipient. */
export type BroughtDetails = Pick<Brought, 'caller' | 'standing'>

/** The details of a deposit's job; amounts are decimal strings in 6-decimal units. */
export interface DepositDetails {
  channelId: Hex
  payer: Address
  payTo: Address
  asset: Address
  amount: string
  nonce: Hex
  validAfter: string
}

export interface ClaimDetails {
  /** The account that signed the claim, and is charged for gas spent without a settlement. */
  authorizer: Address
  payTo: Address
  claims: { channelId: Hex; totalClaimed: string }[]
  /** The accounts whose code, if they have any, checks signatures of the claim. */
  accountsThatRun: readonly Address[]
}

/** The details of a payout's job. */
export interface SettleDetails {
  receiver: Address
  token: Address
  /** The total that was paid out before. */
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
  /** The same as for a claim. */
  accountsThatRun: readonly Address[]
  /** The amount it moves together with its claims, 6-decimal units; the plan adds it. */
  gain?: string
}

/** The signature that authorizes a job. */
interface Proof {
  hash: Hex
  signature: Hex
  signer: Address
}

interface Identified<Action extends BatchAction, Details> {
  action: Action
  /** The key that the chain lets happen once. */
  key: string
  /** The digest of what was authorized under the key, independent of the signature's form. */
  digest: Hex
  /** Unix seconds. */
  expiresAt: number
  details: Details
  /** Absent for a payout, which anybody may ask for. */
  proof?: Proof
}

/** A job of one kind, with the key and digest by which a repeated request is recognised. */
export type BatchJob =
  | Identified<'deposit', DepositDetails>
  | Identified<'claim', ClaimDetails>
  | Identified<'settle', SettleDetails>
  | Identified<'refund', RefundDetails>

export function identifyDeposit(
  { channelConfig, deposit }: Deposit,
  { name, version, chainId }: { name: string; version: string; chainId: number },
  digests: BatchDigests,
): BatchJob {
  const channelId = digests.channel(channelConfig)
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

export function identifyClaim(
  claims: Claim['claims'],
  digests: BatchDigests,
  signature: Hex,
): BatchJob {
  const digest = digests.claims(claims)
  const { receiverAuthorizer, receiver } = (claims[0] as ClaimRow).voucher.channel
  return {
    action: 'claim',
    key: digest,
    digest,
    expiresAt: never,
    details: {
      authorizer: receiverAuthorizer,
      payTo: receiver,
      claims: totalsOf(claims, digests),
      accountsThatRun: accountsThatRunIn(claims, receiverAuthorizer),
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

export function identifyRefund(
  payload: EnrichedRefund,
  digests: BatchDigests,
  signature: Hex,
): BatchJob {
  const { channelConfig, refundNonce: nonce, amount, claims } = payload
  const channelId = digests.channel(channelConfig)
  const message = { channelId, nonce: BigInt(nonce), amount: BigInt(amount) }
  const refund = digests.refund(message)
  const { payer, receiver: payTo, token: asset, receiverAuthorizer: authorizer } = channelConfig
  const rows = claims.length
  const accountsThatRun = accountsThatRunIn(claims, authorizer)
  return {
    action: 'refund',
    key: `${channelId}/${message.nonce}`,
    digest: keccak256(concat([refund, digests.claims(claims)])),
    expiresAt: never,
    details: { channelId, payer, payTo, asset, authorizer, nonce, amount, rows, accountsThatRun },
    proof: { hash: refund, signature, signer: authorizer },
  }
}

/** Lists the accounts that the settlement contract asks about signatures if they have code (ERC-1271). */
function accountsThatRunIn(claims: readonly ClaimRow[], authorizer: Address): Address[] {
  const ofRows = claims.flatMap(({ voucher: { channel } }) => [
    channel.receiverAuthorizer,
    ...(channel.payerAuthorizer === zeroAddress ? [channel.payer] : []),
  ])
  return [...new Set([authorizer, ...ofRows])]
}

/** Returns what each row claims of which channel. */
export function totalsOf(claims: readonly ClaimRow[], digests: BatchDigests) {
  return claims.map(({ voucher, totalClaimed }) => ({
    channelId: digests.channel(voucher.channel),
    totalClaimed,
  }))
}

/** The expiry of a job that does not expire. */
const never = Number.MAX_SAFE_INTEGER

/** Returns the digest that the payer signs for a deposit, under the domain of the token (EIP-3009). */
function hashDeposit(
  token: { name: string; version: string; chainId: number; asset: Address },
  message: { from: Address; value: bigint; validAfter: bigint; validBefore: bigint; nonce: Hex },
): Hex {
  const { name, version, chainId, asset } = token
  return hashTypedData({
    domain: { name, version, chainId, verifyingContract: asset },
    types: receiveTypes,
    primaryType: 'ReceiveWithAuthorization',
    message: { ...message, to: batchContracts.erc3009Collector },
  })
}

const receiveTypes = { ReceiveWithAuthorization: authorizationFields } as const
