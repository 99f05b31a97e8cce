import { createHash } from 'node:crypto'
import type { Address } from 'viem'
import type { QuotedRequirement } from '../../store/listings.js'
import { type BazaarResource, parseBazaar } from '../../x402/bazaar.js'
import { memberOf } from '../../x402/json-walk.js'
import { type QuotedTerms, readQuotedTerms } from '../probe/payment-required.js'
import { checkTarget, type TargetRules } from '../probe/target-rules.js'
import { agrees } from './health.js'

/** A payment that has settled, with what its sender said beside it. */
export interface SettledPayment {
  network: string
  /** Lower case. */
  asset: Address
  payTo: Address
  payer: Address
  amount: bigint
  /** `paymentRequirements` and `paymentPayload` as they came. */
  requirements: unknown
  payload: unknown
  settlementId: string
}

/** A resource that may be worth an entry, with the terms on which it was paid. */
export interface Offer {
  /** Of the entry it would make. */
  key: string
  /** Of all it says. */
  fingerprint: string
  resource: BazaarResource
  terms: Pick<SettledPayment, 'network' | 'asset' | 'payTo' | 'payer' | 'amount'> & {
    requirement: QuotedRequirement
  }
  /** Why its URL is never called, in a sentence. */
  blockedBecause: string | undefined
  settlementId: string
}

export interface OfferRules {
  /** Networks whose endpoints the directory lists, each with its stablecoin in lower case. */
  networks: ReadonlyMap<string, { asset: Address }>
  /** What may not be looked at never becomes live. */
  targetRules: TargetRules
  /** Whom the operator refuses as recipient; asked with lower-case addresses. */
  isPayToBlocked: (payTo: Address) => boolean
}

/** Reads what a payment offers to the catalog, as far as it can be judged at once; `undefined` when nothing. */
export function readOffer(
  settled: SettledPayment,
  rules: OfferRules,
): { ok: true; offer: Offer } | { ok: false; rejectedReason: string } | undefined {
  const parsed = parseBazaar(settled.payload)
  if (parsed === undefined || !parsed.ok) return parsed
  const { resource } = parsed
  const requirement = readAgreedTerms(settled)
  if (requirement === undefined) {
    return rejected('accepted and paymentRequirements must agree on what was paid, and to whom.')
  }
  const { network, asset, payTo, payer, settlementId } = settled
  const amount = BigInt(requirement.amount)
  if (rules.networks.get(network)?.asset !== asset) {
    return rejected(`payments on ${network} are not listed here.`)
  }
  if (rules.isPayToBlocked(payTo)) return rejected('this payTo is not listed here.')
  const target = checkTarget(resource.url, rules.targetRules)
  const offer = {
    key: `${payTo} ${network} ${resource.method} ${resource.url}`,
    fingerprint: fingerprintOf([resource, requirement]),
    resource,
    terms: { network, asset, payTo, payer, amount, requirement: { ...requirement } },
    blockedBecause: target.isAllowed ? undefined : target.message,
    settlementId,
  }
  return { ok: true, offer }
}

/** The requirement as discovery shows it, when payload and requirements agree with what was settled. */
function readAgreedTerms(settled: SettledPayment): QuotedTerms | undefined {
  const requirement = readQuotedTerms(settled.requirements)
  const accepted = readQuotedTerms(memberOf(settled.payload, 'accepted'))
  if (requirement === undefined || accepted === undefined) return undefined
  const isPaid =
    requirement.network === settled.network &&
    requirement.asset.toLowerCase() === settled.asset &&
    requirement.payTo.toLowerCase() === settled.payTo &&
    requirement.amount === settled.amount.toString()
  if (!isPaid) return undefined
  const asked = { ...requirement, amount: askedAmount(requirement, accepted) }
  return agrees([{ ...asked }], [{ ...accepted }]) ? asked : undefined
}

/** Of a metered price the merchant settles what was used, where its scheme lets it; what it asks for is the ceiling. */
function askedAmount(requirement: QuotedTerms, accepted: QuotedTerms): string {
  const isPart =
    requirement.scheme === 'batch-settlement' &&
    BigInt(requirement.amount) < BigInt(accepted.amount)
  return isPart ? accepted.amount : requirement.amount
}

function fingerprintOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64')
}

function rejected(rejectedReason: string): { ok: false; rejectedReason: string } {
  return { ok: false, rejectedReason }
}
