import { createHash } from 'node:crypto'
import { parseRequest } from '@arcus/protocol/x402/parse-request'
import { LRUCache } from 'lru-cache'
import { bytesToHex, type Hex } from 'viem'
import type { NetworkTerms } from '../methods/network.js'
import type { PaymentDigest } from '../methods/payment-method.js'

/** A payment with the exact signature that verify accepted. */
export interface SignedDigest {
  /** CAIP-2. */
  network: string
  digest: Hex
  signature: Hex
}

/** Payments that verify found valid. The rate limit does not refuse their settles. */
export interface VerifiedPayments {
  note(payment: SignedDigest): void
  /** Uses up one turn of the payment; returns `false` if it has none. */
  take(payment: SignedDigest): boolean
  takeSignature: TakeSignature
}

/** Uses up one turn of a signature, in lower case; returns `false` if verify did not accept it, or it has none left. */
export type TakeSignature = (signature: string) => boolean

/** Some 4 MB at most. Settle follows verify within seconds, so few payments need to be remembered. */
const MAX_VERIFIED = 20_000
/** The settles that one valid verify is good for: a merchant settles again if an answer was lost. */
const TURNS = 4

/** Remembers valid payments in this process. The oldest are forgotten, and their settles are counted like any other. */
export function createVerifiedPayments(): VerifiedPayments {
  const turns = new LRUCache<string, number>({ max: MAX_VERIFIED })
  const signatures = new LRUCache<string, number>({ max: MAX_VERIFIED })
  /** Uses up one of the turns that are left of a key. */
  function takeOne(turns: LRUCache<string, number>, key: string): boolean {
    const left = turns.get(key) ?? 0
    if (left > 0) turns.set(key, left - 1)
    return left > 0
  }
  return {
    note(payment) {
      const key = keyOf(payment)
      if (turns.get(key) === undefined) turns.set(key, TURNS)
      const signature = hashOf(payment.signature.toLowerCase())
      if (signatures.get(signature) === undefined) signatures.set(signature, 2 * TURNS)
    },
    // A body is parsed for it past the limit, so that it counts more times than its payment.
    takeSignature: (signature) => takeOne(signatures, hashOf(signature)),
    take: (payment) => takeOne(turns, keyOf(payment)),
  }
}

/** Hashes a payment to a short key: the signature of a contract wallet may have thousands of bytes. */
function keyOf({ network, digest, signature }: SignedDigest): string {
  return createHash('sha256').update(network).update(digest).update(signature).digest('base64')
}

function hashOf(signature: string): string {
  return createHash('sha256').update(signature).digest('base64')
}

/** Uses up a turn of the payment in a body; returns `false` if verify did not find it valid or its turns are used up. */
export type TakeVerified = (body: unknown) => boolean

export function createVerifiedCheck(
  verified: VerifiedPayments,
  terms: ReadonlyMap<string, NetworkTerms>,
  computeDigest: PaymentDigest,
): TakeVerified {
  return (body) => {
    const parsed = parseRequest(body)
    if (!parsed.ok) return false
    const { network, asset, signature } = parsed.payment
    const token = terms.get(network)?.tokens.get(asset)
    if (token === undefined) return false
    const digest = bytesToHex(computeDigest(parsed.payment, token))
    return verified.take({ network, digest, signature })
  }
}
