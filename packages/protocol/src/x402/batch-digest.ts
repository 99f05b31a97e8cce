import { type Address, bytesToHex, type Hex } from 'viem'
import { channelContracts } from './address.js'
import { computeDomainSeparator, createWords, WORD_BYTES } from './authorization-digest.js'
import type { ChannelConfig, ClaimRow } from './batch-schemas.js'
import type { Keccak256 } from './keccak.js'

/** The digests of `batch-settlement` on one chain, by EIP-712 under the domain of the settlement contract. */
export interface BatchDigests {
  /** Returns the id of a channel: the digest of its configuration. Each configuration is hashed once. */
  channel(config: ChannelConfig): Hex
  /** Returns what the authorizer signs for a claim of all rows. */
  claims(rows: readonly ClaimRow[]): Hex
  /** Returns what the authorizer signs for a refund. */
  refund(message: { channelId: Hex; nonce: bigint; amount: bigint }): Hex
}

const CHANNEL_TYPE =
  'ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)'
const ENTRY_TYPE = 'ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)'
const BATCH_TYPE = `ClaimBatch(ClaimEntry[] claims)${ENTRY_TYPE}`
const REFUND_TYPE = 'Refund(bytes32 channelId,uint256 nonce,uint128 amount)'

/**
 * Makes the digests over buffers that every call reuses. They throw a `TypeError` for input that no parsed request
 * holds.
 */
export function createBatchDigests(keccak256: Keccak256, chainId: number): BatchDigests {
  const separator = computeDomainSeparator(keccak256, {
    name: 'x402 Batch Settlement',
    version: '1',
    chainId,
    verifyingContract: channelContracts.settlement as Address,
  })
  const structOf = (type: string, words: number) => {
    const struct = createWords(1 + words)
    struct.bytes.set(keccak256(new TextEncoder().encode(type)))
    return struct
  }
  const channelStruct = structOf(CHANNEL_TYPE, 7)
  const entryStruct = structOf(ENTRY_TYPE, 3)
  const batchStruct = structOf(BATCH_TYPE, 1)
  const refundStruct = structOf(REFUND_TYPE, 3)
  const ids = new WeakMap<ChannelConfig, Hex>()
  const envelope = new Uint8Array(2 + 2 * WORD_BYTES)
  envelope.set([0x19, 0x01])
  envelope.set(separator, 2)

  function digestOf({ bytes }: { bytes: Uint8Array }): Hex {
    envelope.set(keccak256(bytes), 2 + WORD_BYTES)
    return bytesToHex(keccak256(envelope))
  }

  function hashChannel(config: ChannelConfig): Hex {
    channelStruct.writeAddress(1, 'payer', config.payer)
    channelStruct.writeAddress(2, 'payerAuthorizer', config.payerAuthorizer)
    channelStruct.writeAddress(3, 'receiver', config.receiver)
    channelStruct.writeAddress(4, 'receiverAuthorizer', config.receiverAuthorizer)
    channelStruct.writeAddress(5, 'token', config.token)
    channelStruct.writeUint256(6, 'withdrawDelay', BigInt(config.withdrawDelay))
    channelStruct.writeBytes32(7, 'salt', config.salt)
    return digestOf(channelStruct)
  }

  function channel(config: ChannelConfig): Hex {
    const known = ids.get(config)
    if (known !== undefined) return known
    const id = hashChannel(config)
    ids.set(config, id)
    return id
  }

  return {
    channel,
    claims(rows) {
      const entries = new Uint8Array(rows.length * WORD_BYTES)
      rows.forEach(({ voucher, totalClaimed }, i) => {
        entryStruct.writeBytes32(1, 'channelId', channel(voucher.channel))
        entryStruct.writeUint256(2, 'maxClaimableAmount', BigInt(voucher.maxClaimableAmount))
        entryStruct.writeUint256(3, 'totalClaimed', BigInt(totalClaimed))
        entries.set(keccak256(entryStruct.bytes), i * WORD_BYTES)
      })
      batchStruct.bytes.set(keccak256(entries), WORD_BYTES)
      return digestOf(batchStruct)
    },
    refund({ channelId, nonce, amount }) {
      refundStruct.writeBytes32(1, 'channelId', channelId)
      refundStruct.writeUint256(2, 'nonce', nonce)
      refundStruct.writeUint256(3, 'amount', amount)
      return digestOf(refundStruct)
    },
  }
}
