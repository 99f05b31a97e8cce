import { createHash } from 'node:crypto'
import { bytesToHex, type Hex } from 'viem'
import type { AuthorizationDigest } from '../x402/authorization-digest.js'
import { parseRequest } from '../x402/parse-request.js'
import type { Terms } from './ladder.js'
import { createRecentMemory } from './recent-memory.js'

/** A payment with the very signature it was found valid with. */
export interface SignedDigest {
  /** CAIP-2. */
  network: string
  digest: Hex
  signature: Hex
}

/** What verify found valid here: it may be settled whatever the caller's pace. */
export interface VerifiedPayments {
  note(payment: SignedDigest): void
  /** Uses up one turn of the payment; `false` where it has none. */
  take(payment: SignedDigest): boolean
}

/** Some 4 MB at most; between verify and settle lie seconds. */
const MAX_REMEMBERED = 20_000
/** Settles one valid verify is good for: a merchant asks again where an answer was lost. */
const TURNS = 4

/** Remembers in this process alone, and forgets the oldest: whoever is forgotten is counted as others are. */
export function createVerifiedPayments(): VerifiedPayments {
  const turns = createRecentMemory<string, number>(MAX_REMEMBERED)
  return {
    note(payment) {
      const key = keyOf(payment)
      if (turns.get(key) === undefined) turns.set(key, TURNS)
    },
    take(payment) {
      const key = keyOf(payment)
      const left = turns.get(key) ?? 0
      if (left > 0) turns.set(key, left - 1)
      return left > 0
    },
  }
}

/** A signature of a contract wallet may have thousands of bytes. */
function keyOf({ network, digest, signature }: SignedDigest): string {
  return createHash('sha256').update(network).update(digest).update(signature).digest('base64')
}

/** Uses up a turn of the payment in a body, if it was found valid here and has any. */
export type TakeVerified = (body: unknown) => boolean

export function createVerifiedCheck(
  verified: VerifiedPayments,
  terms: ReadonlyMap<string, Terms>,
  computeDigest: AuthorizationDigest,
): TakeVerified {
  return (body) => {
    const parsed = parseRequest(body)
    if (!parsed.ok) return false
    const { network, authorization, signature } = parsed.payment
    const token = terms.get(network)?.token
    if (token === undefined) return false
    const digest = bytesToHex(computeDigest(token.domainSeparator, authorization))
    return verified.take({ network, digest, signature })
  }
}
