import { parseAmount } from './price.js'
import type { NewRefund, PlannedRefund, Refunds } from './refunds.js'
import type { PaymentRefusal, ResourceServer, SettleOutcome } from './resource-server.js'
import type { RouteOffer } from './terms.js'

/** The part of a price that is charged. */
export type Meter = ReturnType<typeof createMeter>

/** Makes a meter that charges the whole price until a handler charges less. */
export function createMeter({ requirements, terms: { isMetered } }: RouteOffer) {
  const price = BigInt(requirements.amount)
  let charged = price
  let isClosed = false
  return {
    /** Throws for more than the price, or when it is too late. */
    charge(amount: string): void {
      if (!isMetered) throw new Error('x402: only a route with pricing "metered" may charge less')
      if (isClosed) throw new Error('x402: the payment is settled already; charge before')
      const wanted = parseAmount(amount, requirements)
      if (wanted > price) throw new Error(`x402: ${amount} is more than the buyer agreed to`)
      charged = wanted
    },
    /** Returns the charge in atomic units. */
    read: () => charged,
    /** Returns the final charge: nothing else can be charged from here on. */
    close(): bigint {
      isClosed = true
      return charged
    },
  }
}

const PENDING = 'settlement_pending'

/**
 * Settles only the charged part of the price where the scheme allows it. Otherwise settles the whole price and returns
 * the rest. The refund is on disk before the payment is settled: a crash between the two loses no refund.
 */
export async function settleMetered(
  offer: RouteOffer,
  charged: bigint,
  { server, refunds }: { server: ResourceServer; refunds: Refunds | undefined },
): Promise<SettleOutcome> {
  const rest = BigInt(offer.requirements.amount) - charged
  if (offer.requirements.scheme !== 'exact') {
    return rest === 0n ? server.settle(offer) : server.settle(offer, charged)
  }
  if (!offer.terms.isMetered || refunds === undefined) return server.settle(offer)
  const wanted = describeRefund(offer, rest)
  // Where nothing is left over, a refund is recorded only if an earlier call with this payment planned one.
  if (rest === 0n && !refunds.isKnown(wanted)) return server.settle(offer)
  let planned: PlannedRefund
  try {
    planned = await refunds.plan(wanted)
  } catch (cause) {
    return { ok: false, refusal: notRecorded, cause }
  }
  const settled = await server.settle(offer)
  // If the outcome cannot be written now, it is found out later, as after a crash.
  const refund = await conclude(planned, settled).catch(() => void planned.leave())
  if (!settled.ok) return settled
  const back = BigInt(refund ?? rest)
  const kept = BigInt(offer.requirements.amount) - back
  const extra = { ...settled.settlement.extra, charged: String(kept), refund: String(back) }
  return { ok: true, settlement: { ...settled.settlement, extra } }
}

/** Records the outcome of the payment, and returns the amount of the refund where it was settled. */
async function conclude(
  planned: PlannedRefund,
  settled: SettleOutcome,
): Promise<string | undefined> {
  if (settled.ok) return planned.confirm()
  const { status, error } = settled.refusal
  if (status === 402 && error !== PENDING) await planned.drop()
  else planned.leave()
  return undefined
}

/** Returns the refund of a part of the price, in atomic units. */
export function describeRefund({ payload, requirements }: RouteOffer, rest: bigint): NewRefund {
  const { network, asset, extra } = requirements
  const signed = payload.payload as Record<string, Record<string, unknown> | undefined>
  const { permit2Authorization: permitted } = signed
  const { from, nonce, validBefore } =
    permitted === undefined ? (signed.authorization ?? {}) : asEip3009(permitted)
  return {
    network,
    asset,
    extra: { name: String(extra.name), version: String(extra.version) },
    amount: String(rest),
    payer: String(from),
    paymentNonce: String(nonce),
    ...(permitted !== undefined && { method: 'permit2' as const }),
    paymentValidBefore: Number(validBefore),
  }
}

/** Returns the members of an authorization for Permit2 under the names that EIP-3009 has for them. */
function asEip3009({ from, nonce, deadline }: Record<string, unknown>) {
  const hex = BigInt(String(nonce)).toString(16).padStart(64, '0')
  return { from, nonce: `0x${hex}`, validBefore: Number(deadline) + 1 }
}

const notRecorded: PaymentRefusal = {
  status: 502,
  error: 'refund_unavailable',
  message:
    'The refund of this payment could not be recorded, so it was not settled. Nothing was charged.',
}
