import type { DiscoveryItem } from '@arcus/protocol/answers/discovery'
import type { CallExample } from '@arcus/protocol/x402/calls'
import type { Address, Hex } from 'viem'

/** A payment that is about to be signed. */
export interface SignedTerms {
  nonce: Hex
  /** Atomic units. */
  amount: bigint
  /** Unix seconds. */
  validBefore: number
}

export interface Purchase {
  item: DiscoveryItem
  example: CallExample
  /** One of the buyer's wallets. */
  wallet: Address
  /** CAIP-2. */
  network: string
  asset: Address
  /** The most that is paid, atomic units. */
  maxAmount: bigint
  fetch: typeof globalThis.fetch
  signal: AbortSignal
  /** Called once, right before the signature. Nothing is signed if it rejects. */
  beforeSigning(terms: SignedTerms): Promise<void>
}

/**
 * How a purchase ended: with the answer to the payment, its body unread; with a 402 that was not paid, `isDearer` if only its
 * terms were wrong; or without an answer that could be bought or judged.
 */
export type PurchaseResult =
  | { kind: 'answered'; response: Response }
  | { kind: 'refused'; isDearer: boolean }
  | { kind: 'redirected' }
  | { kind: 'failed' }

/** Buys like anybody with `@arcus/client`, from wallets of the operator. */
export interface CheckBuyer {
  /** In lower case; at least one. */
  wallets: readonly Address[]
  /** Never rejects. */
  buy(purchase: Purchase): Promise<PurchaseResult>
}
