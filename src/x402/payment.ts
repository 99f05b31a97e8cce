import type { Address, Hex } from 'viem'
import type { Authorization } from './authorization-digest.js'

/**
 * A payment as the core sees it: parsed, bounded, in bigints and seconds.
 * Addresses and the nonce are lower-case; the wire form is made at the edge.
 */
export interface Payment {
  scheme: 'exact'
  /** CAIP-2, as the requirement names it; known and served only once the ladder said so. */
  network: string
  asset: Address
  payTo: Address
  /** What the requirement asks for, in 6-decimal units. */
  amount: bigint
  maxTimeoutSeconds: number
  /** The EIP-712 domain the merchant quotes in `extra`; judged, never used to verify. */
  quotedDomain: { name?: string; version?: string }
  acceptedScheme: string
  acceptedNetwork: string
  authorization: Authorization
  signature: Hex
  /** URL of the paid resource as the payload tells it; unauthenticated. */
  resourceUrl?: string
}

/** The on-chain identity of a payment: the token forgets everything else. */
export interface PaymentKey {
  network: string
  asset: Address
  payer: Address
  nonce: Hex
}

export function paymentKey(payment: Payment): PaymentKey {
  const { from, nonce } = payment.authorization
  return { network: payment.network, asset: payment.asset, payer: from, nonce }
}
