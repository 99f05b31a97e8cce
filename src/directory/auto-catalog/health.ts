import type { Endpoint, EndpointHealth, QuotedRequirement } from '../../store/listings.js'

/** A look that young is not repeated for a payment's sake. */
const FRESH_LOOK_SECONDS = 600

/**
 * The health of an entry after a payment for it. What the endpoint itself answered stands over what a buyer brought;
 * where it never answered, the requirement that was settled is shown until the next look, which comes soon.
 */
export function healthAfterPayment(
  current: Endpoint | undefined,
  accepts: QuotedRequirement[],
  nowSeconds: number,
): EndpointHealth {
  if (current === undefined) {
    return { accepts, status: 'unverified', probe: null, failures: 0, nextProbeAt: nowSeconds }
  }
  const { status, probe, failures } = current
  const isLive = status === 'live'
  const isSettled = isLive && agrees(current.accepts, accepts)
  return {
    accepts: isLive ? current.accepts : accepts,
    status,
    probe,
    failures,
    nextProbeAt: isSettled ? current.nextProbeAt : soon(current, nowSeconds),
  }
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

function soon({ probe, nextProbeAt }: Endpoint, nowSeconds: number): number {
  const earliest = probe === null ? nowSeconds : probe.checkedAt + FRESH_LOOK_SECONDS
  const wanted = Math.max(nowSeconds, earliest)
  return nextProbeAt === null ? wanted : Math.min(nextProbeAt, wanted)
}
