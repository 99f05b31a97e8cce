import type { Cashier, Refusal, Settled } from './cashier.js'
import type { NewRefund, PlannedRefund, Refunds } from './refunds.js'
import type { Offer } from './terms.js'

const PENDING = 'settlement_pending'

/**
 * Settles what is kept of the price where the scheme lets one; else the whole price, and gives back the rest. The
 * refund is on disk before the payment is settled: a crash between the two forgets none.
 */
export async function settleMetered(
  offer: Offer,
  kept: bigint,
  { cashier, refunds }: { cashier: Cashier; refunds: Refunds | undefined },
): Promise<Settled> {
  const rest = BigInt(offer.requirements.amount) - kept
  if (offer.requirements.scheme !== 'exact') {
    return rest === 0n ? cashier.settle(offer) : cashier.settle(offer, kept)
  }
  if (!offer.terms.isMetered || refunds === undefined) return cashier.settle(offer)
  const wanted = describeRefund(offer, rest)
  // Nothing is left over: noted only where an earlier call with this payment planned to give something back.
  if (rest === 0n && !refunds.isKnown(wanted)) return cashier.settle(offer)
  let planned: PlannedRefund
  try {
    planned = await refunds.plan(wanted)
  } catch (cause) {
    return { ok: false, refusal: notKept, cause }
  }
  const settled = await cashier.settle(offer)
  // What cannot be written now is found out later, as after a crash.
  const refund = await conclude(planned, settled).catch(() => void planned.leave())
  if (!settled.ok) return settled
  const back = BigInt(refund ?? rest)
  const charged = String(BigInt(offer.requirements.amount) - back)
  const extra = { ...settled.settlement.extra, charged, refund: String(back) }
  return { ok: true, settlement: { ...settled.settlement, extra } }
}

/** How much goes back, where the payment was settled. */
async function conclude(planned: PlannedRefund, settled: Settled): Promise<string | undefined> {
  if (settled.ok) return planned.confirm()
  const { status, error } = settled.refusal
  if (status === 402 && error !== PENDING) await planned.drop()
  else planned.leave()
  return undefined
}

function describeRefund({ payload, requirements }: Offer, rest: bigint): NewRefund {
  const { network, asset, extra } = requirements
  const { authorization = {} } = payload.payload as { authorization?: Record<string, unknown> }
  const { from, nonce, validBefore } = authorization
  return {
    network,
    asset,
    extra: { name: String(extra.name), version: String(extra.version) },
    amount: String(rest),
    payer: String(from),
    paymentNonce: String(nonce),
    paymentValidBefore: Number(validBefore),
  }
}

const notKept: Refusal = {
  status: 502,
  error: 'refund_unavailable',
  message:
    'The change of this payment could not be noted, so it was not settled. Nothing was charged.',
}
