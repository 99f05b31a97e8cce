import { bytesToHex } from 'viem'
import type { SightingStore } from '../store/sightings.js'
import type { AuthorizationDigest } from '../x402/authorization-digest.js'
import { parseRequest } from '../x402/parse-request.js'
import type { Terms } from './ladder.js'

/** Tells whether a body holds a payment that was seen valid here before. */
export function createVerifiedCheck(
  sightings: SightingStore,
  terms: ReadonlyMap<string, Terms>,
  computeDigest: AuthorizationDigest,
) {
  return async (body: unknown): Promise<boolean> => {
    const parsed = parseRequest(body)
    if (!parsed.ok) return false
    const token = terms.get(parsed.payment.network)?.token
    if (token === undefined) return false
    const digest = bytesToHex(computeDigest(token.domainSeparator, parsed.payment.authorization))
    return (await sightings.findSighting(parsed.payment.network, digest)) !== undefined
  }
}
