import { type Address, type Hex, hashTypedData, type TypedDataDomain } from 'viem'
import { batchContracts } from '../../chain/batch-settlement.js'
import type { ChannelConfig, ClaimRow } from '../../x402/batch-schemas.js'

/** The id of a channel: the EIP-712 digest of its configuration. */
export function hashChannel(channel: ChannelConfig, chainId: number): Hex {
  return hashTypedData({
    domain: domainOf(chainId),
    types: channelTypes,
    primaryType: 'ChannelConfig',
    message: channel,
  })
}

/** What the authorizer signs to claim, all rows in one. */
export function hashClaims(claims: readonly ClaimRow[], chainId: number): Hex {
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

/** What the authorizer signs to give money back. */
export function hashRefund(
  message: { channelId: Hex; nonce: bigint; amount: bigint },
  chainId: number,
): Hex {
  return hashTypedData({
    domain: domainOf(chainId),
    types: refundTypes,
    primaryType: 'Refund',
    message,
  })
}

/** What the payer signs to fill a channel, under the domain of the token (EIP-3009). */
export function hashDeposit(
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

const receiveTypes = {
  ReceiveWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
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
