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
  if (rest === 0n) return cashier.settle(offer)
  if (offer.requirements.scheme !== 'exact') return cashier.settle(offer, kept)
  if (refunds === undefined) return cashier.settle(offer)
  let planned: PlannedRefund
  try {
    planned = await refunds.plan(describeRefund(offer, rest))
  } catch (cause) {
    return { ok: false, refusal: notKept, cause }
  }
  const settled = await cashier.settle(offer)
  // What cannot be written now is found out later, as after a crash.
  await conclude(planned, settled).catch(() => planned.leave())
  if (!settled.ok) return settled
  const extra = { ...settled.settlement.extra, charged: String(kept), refund: String(rest) }
  return { ok: true, settlement: { ...settled.settlement, extra } }
}

async function conclude(planned: PlannedRefund, settled: Settled): Promise<void> {
  if (settled.ok) return planned.confirm()
  const { status, error } = settled.refusal
  return status === 402 && error !== PENDING ? planned.drop() : planned.leave()
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
