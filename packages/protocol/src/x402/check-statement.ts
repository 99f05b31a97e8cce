import type { Address, Hex } from 'viem'

/*
 * A signed statement about one paid check: what a directory bought, what it paid, and whether the answer was what the
 * listing says. Nothing on chain reads it. The payment is proven by the chain; the rest is the word of the signer.
 */

/** Texts are empty and hashes zero where there is nothing to name. */
export interface CheckStatement {
  /** CAIP-2. */
  network: string
  resource: string
  method: string
  toolName: string
  payTo: Address
  /** Atomic units that were paid; 0 if nothing was. */
  amount: string
  transaction: Hex
  delivered: boolean
  /** One of `checkReasons`. */
  reason: string
  /** Milliseconds from the payment to the end of the answer. */
  ms: number
  /** Bytes of the answer, decompressed. */
  bytes: number
  /** SHA-256 of these bytes. */
  sha256: Hex
  /** Unix seconds. */
  checkedAt: number
  /** The address of the key that signs. */
  checker: Address
}

const types = {
  DeliveryCheck: [
    { name: 'network', type: 'string' },
    { name: 'resource', type: 'string' },
    { name: 'method', type: 'string' },
    { name: 'toolName', type: 'string' },
    { name: 'payTo', type: 'address' },
    { name: 'amount', type: 'uint256' },
    { name: 'transaction', type: 'bytes32' },
    { name: 'delivered', type: 'bool' },
    { name: 'reason', type: 'string' },
    { name: 'ms', type: 'uint256' },
    { name: 'bytes', type: 'uint256' },
    { name: 'sha256', type: 'bytes32' },
    { name: 'checkedAt', type: 'uint256' },
    { name: 'checker', type: 'address' },
  ],
} as const

/** Returns a statement as wallets and viem take it, to sign it or to recover its signer. */
export function checkTypedData(statement: CheckStatement) {
  return {
    domain: { name: 'Arcus delivery check', version: '1', chainId: 1 },
    types,
    primaryType: 'DeliveryCheck',
    message: {
      ...statement,
      amount: BigInt(statement.amount),
      ms: BigInt(statement.ms),
      bytes: BigInt(statement.bytes),
      checkedAt: BigInt(statement.checkedAt),
    },
  } as const
}
