import type { Address } from 'viem'
import { z } from 'zod'
import { parseUint256 } from '../x402/amounts.js'
import { addressField, parseBody } from './listing-body.js'
import { listingLimits as limits } from './listing-limits.js'

const nothing = z.strictObject({})

const agentId = z.string().refine((digits) => parseUint256(digits) !== undefined, {
  error: `must be a uint256 in at most ${limits.agentId.maxDigits} decimal digits, without leading zeros, or null`,
})

const offer = z.strictObject({ to: addressField.nullable() })
const confirmation = z.strictObject({ owner: addressField.nullable() })
const link = z.strictObject({ agentId: agentId.nullable() })

/** The bodies beside the listing itself. All throw a `WriteFault` (`invalid_listing`). */
export function parseDeletion(body: unknown): Record<string, never> {
  return parseBody(nothing, body)
}

export function parseAcceptance(body: unknown): Record<string, never> {
  return parseBody(nothing, body)
}

/** `null` takes an offer back. */
export function parseOffer(body: unknown): { to: Address | null } {
  return parseBody(offer, body)
}

export function parseLink(body: unknown): { agentId: string | null } {
  return parseBody(link, body)
}

/** `null` takes the word back. */
export function parseConfirmation(body: unknown): { owner: Address | null } {
  return parseBody(confirmation, body)
}
