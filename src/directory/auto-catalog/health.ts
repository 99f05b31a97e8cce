import type { Endpoint, EndpointHealth, QuotedRequirement } from '../../store/listings.js'

/** A look that young is not repeated for a payment's sake. */
const FRESH_LOOK_SECONDS = 600

/**
 * The health of an entry that nobody looked at: it waits for its first look, which is due at once, or is never called
 * because of its address, and says why.
 */
export function healthOfFound(
  accepts: QuotedRequirement[],
  blockedBecause: string | undefined,
  nowSeconds: number,
): Omit<EndpointHealth, 'extras'> {
  const waiting = { accepts, status: 'unverified', probe: null, failures: 0 } as const
  if (blockedBecause === undefined) return { ...waiting, nextProbeAt: nowSeconds }
  const probe = {
    verdict: 'blocked_target',
    message: blockedBecause,
    warnings: [],
    seen: {},
    checkedAt: nowSeconds,
  }
  return { ...waiting, probe, nextProbeAt: null }
}

/** Whether a live endpoint asks for just what was paid. */
export function agrees(
  quoted: readonly QuotedRequirement[],
  paid: readonly QuotedRequirement[],
): boolean {
  const terms = ({ scheme, network, asset, payTo, amount }: QuotedRequirement) =>
    JSON.stringify([scheme, network, asset, payTo, amount]).toLowerCase()
  const asked = new Set(quoted.map(terms))
  return paid.every((requirement) => asked.has(terms(requirement)))
}

/** Whether a look at it was so long ago that a payment may ask for another. */
export function isStale({ probe }: Pick<Endpoint, 'probe'>, nowSeconds: number): boolean {
  return probe === null || nowSeconds - probe.checkedAt >= FRESH_LOOK_SECONDS
}
