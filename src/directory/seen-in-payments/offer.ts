import { createHash } from 'node:crypto'
import {
  type BazaarResource,
  canonicalUrl,
  parseBazaar,
  toolNameOf,
} from '@arcus/protocol/x402/bazaar'
import { targetKey } from '@arcus/protocol/x402/calls'
import { findToken, type Stablecoin } from '@arcus/protocol/x402/currencies'
import { defined, memberOf } from '@arcus/protocol/x402/json'
import { parseUrl } from '@arcus/protocol/x402/parse-url'
import { otherRailOf } from '@arcus/protocol/x402/rails'
import type { Address } from 'viem'
import { type QuotedTerms, readQuotedTerms } from '../probe/payment-required.js'
import { whyUncalled } from '../probe/probe.js'
import { checkTarget, type TargetRules } from '../probe/target-rules.js'
import type { QuotedRequirement } from '../store/listings.js'
import type { EndpointClaims } from './draft.js'
import { leftOut } from './left-out.js'

export interface OfferingPayment {
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

/** A resource that may get an entry, with the terms on which it was paid. */
export interface OfferedResource {
  /** The key of its entry. */
  key: string
  /** The hash of all its content. */
  fingerprint: string
  /** Without its description where that repeats what the buyer wrote into the paid URL. */
  resource: EndpointClaims
  terms: Pick<OfferingPayment, 'network' | 'asset' | 'payTo' | 'payer' | 'amount'> & {
    symbol: string
    requirement: QuotedRequirement
  }
  /** Why it is never called, if it is not: a verdict and a sentence. */
  uncalled: { verdict: 'blocked_target' | 'not_called'; message: string } | undefined
  settlementId: string
}

/** A settled payment without a bazaar extension, or without a URL. Nothing that its buyer wrote is believed but the URL. */
export interface BarePayment
  extends Pick<
    OfferingPayment,
    'network' | 'asset' | 'payTo' | 'payer' | 'amount' | 'settlementId'
  > {
  /** The key under which its outcome is kept. */
  key: string
  fingerprint: string
  /** Origin and path of what was bought; absent where the payment names no web address. */
  url?: string
  toolName?: string
}

/** A paid resource that is not taken into the catalog, and why. */
export interface RefusedOffer {
  /** Without its query; absent where the payment named no web address. */
  url?: string
  payTo: Address
  /** A sentence. */
  rejectedReason: string
}

export interface OfferRules {
  /** Networks whose endpoints the directory lists, each with its stablecoins. */
  networks: ReadonlyMap<string, readonly Pick<Stablecoin, 'address' | 'symbol'>[]>
  /** An entry whose URL may not be called never becomes live. */
  targetRules: TargetRules
  /** Returns whether the operator blocks a recipient; takes lower-case addresses. */
  isPayToBlocked: (payTo: Address) => boolean
}

/** Reads the offer of a payment to the catalog, with the checks that need no I/O; `undefined` when there is none. */
export function readOffer(
  settled: OfferingPayment,
  rules: OfferRules,
): { ok: true; offer: OfferedResource } | { ok: false; rejectedReason: string } | undefined {
  const parsed = parseBazaar(settled.payload)
  if (parsed === undefined) return undefined
  if (!parsed.ok) return rejected(`${parsed.rejectedReason} ${leftOut.malformed}`)
  const { resource } = parsed
  const requirement = readAgreedTerms(settled)
  if (requirement === undefined) {
    return rejected('accepted and paymentRequirements must agree on what was paid, and to whom.')
  }
  const token = listedToken(settled, rules)
  if (typeof token === 'string') return rejected(token)
  const target = checkTarget(resource.url, rules.targetRules)
  const offer = offerOn({ ...settled, symbol: token.symbol }, requirement, resource)
  return {
    ok: true,
    offer: {
      ...offer,
      resource: repeatsQuery(resource, paidUrlOf(settled.payload)) ? bareOf(resource) : resource,
      uncalled: target.isAllowed
        ? offer.uncalled
        : { verdict: 'blocked_target', message: target.message },
    },
  }
}

type OfferedTo = Pick<OfferedResource['terms'], 'network' | 'asset' | 'symbol' | 'payTo' | 'payer'>

/** Makes the offer of a resource on terms that are known to be true. */
export function offerOn(
  { settlementId, network, asset, symbol, payTo, payer }: OfferedTo & { settlementId: string },
  requirement: QuotedTerms,
  resource: BazaarResource,
): OfferedResource {
  const paid = { network, asset, symbol, payTo, payer, amount: BigInt(requirement.amount) }
  return {
    key: `${payTo} ${network} ${targetKey(resource)}`,
    fingerprint: fingerprintOf([resource, requirement]),
    resource,
    terms: { ...paid, requirement: { ...requirement } },
    uncalled: uncalledBy(whyUncalled(resource)),
    settlementId,
  }
}

/**
 * Reads a payment that carries no bazaar extension or no URL, with the checks that need no I/O; `undefined` where it has
 * both, and where it gives money back.
 */
export function readBare(
  settled: OfferingPayment,
  rules: OfferRules,
): { ok: true; bare: BarePayment } | { ok: false; rejectedReason: string } | undefined {
  const { network, asset, payTo, payer, amount, payload, settlementId } = settled
  const url = canonicalUrl(paidUrlOf(payload))
  const extensions = memberOf(payload, 'extensions')
  const isDescribed = (memberOf(extensions, 'bazaar') ?? null) !== null
  if (isDescribed && url !== undefined) return undefined
  if (memberOf(extensions, 'refund') !== undefined) return undefined
  const token = listedToken(settled, rules)
  if (typeof token === 'string') return rejected(token)
  const target = url === undefined ? undefined : checkTarget(url, rules.targetRules)
  if (target?.isAllowed === false) return rejected(`${target.message} ${leftOut.privateHost}`)
  const toolName = toolNameOf(payload)
  const fingerprint = `${asset} ${amount} ${toolName ?? ''}`
  const key = `${payTo} ${network} bare ${url ?? fingerprint}`
  const terms = { network, asset, payTo, payer, amount, settlementId }
  return { ok: true, bare: { key, fingerprint, ...terms, ...defined({ url, toolName }) } }
}

/** Returns the token of a payment, or the reason why nothing is listed on its terms. */
function listedToken(
  { network, asset, payTo }: OfferingPayment,
  { networks, isPayToBlocked }: OfferRules,
): Pick<Stablecoin, 'address' | 'symbol'> | string {
  const tokens = networks.get(network)
  if (tokens === undefined) return notListed(network, [...networks.keys()])
  const token = findToken(tokens, asset)
  if (token === undefined) return `payments in ${asset} are not listed here.`
  return isPayToBlocked(payTo) ? 'this payTo is not listed here.' : token
}

function paidUrlOf(payload: unknown): unknown {
  return memberOf(memberOf(payload, 'resource'), 'url')
}

/** A shorter value is found in any text. */
const MIN_REPEATED_CHARS = 8

/**
 * Returns whether a description repeats a value of the paid URL's query. The extension is the seller's, and its values are
 * examples; but a seller may write the call itself into it, and then they are the buyer's own.
 */
function repeatsQuery(resource: BazaarResource, paidUrl: unknown): boolean {
  const url = typeof paidUrl === 'string' ? parseUrl(paidUrl) : undefined
  if (url === undefined) return false
  const example = memberOf(memberOf(resource.info, 'input'), 'queryParams')
  const query = [...url.searchParams]
  if (query.some(([name, value]) => String(memberOf(example, name)) === value)) return true
  const raw = [url.username, url.password, ...`${url.search}&${url.hash}`.split(/[?&=#]/)]
  const values = [...query.map(([, value]) => value), ...raw].filter(
    (value) => value.length >= MIN_REPEATED_CHARS,
  )
  if (values.length === 0) return false
  const { url: _, ...texts } = resource
  const written = JSON.stringify(texts)
  return values.some((value) => written.includes(JSON.stringify(value).slice(1, -1)))
}

/** Leaves out the description, which the endpoint's own 402 gives to our probe. */
function bareOf({ url, method, toolName, transport, routeTemplate, dropped }: BazaarResource) {
  return { url, method, ...defined({ toolName, transport, routeTemplate, dropped }) }
}

function uncalledBy(message: string | undefined): OfferedResource['uncalled'] {
  return message === undefined ? undefined : { verdict: 'not_called', message }
}

/** Returns the requirement as discovery shows it, if payload and requirements agree with the settled payment. */
function readAgreedTerms(settled: OfferingPayment): QuotedTerms | undefined {
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

/** Returns the amount that the endpoint asks for. Of a metered price the merchant settles a part; the ceiling is asked for. */
function askedAmount(requirement: QuotedTerms, accepted: QuotedTerms): string {
  const isMetered = requirement.scheme === 'batch-settlement' || requirement.scheme === 'upto'
  const isPart = isMetered && BigInt(requirement.amount) < BigInt(accepted.amount)
  return isPart ? accepted.amount : requirement.amount
}

function fingerprintOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64')
}

/** Says why a payment that settled here makes no entry, and what helps. */
function notListed(network: string, listed: readonly string[]): string {
  const own = listed.join(' and ')
  return `payments on ${network} are not listed here: this service settles on several networks, and its directory lists endpoints on ${own} alone. Offer the endpoint on ${own} too, or settle its payments at a service that serves ${network} alone.`
}

function rejected(rejectedReason: string): { ok: false; rejectedReason: string } {
  return { ok: false, rejectedReason }
}

/** Returns whether a live endpoint asks for exactly the terms that were paid. */
export function agrees(
  quoted: readonly QuotedRequirement[],
  paid: readonly QuotedRequirement[],
): boolean {
  const terms = ({ scheme, network, asset, payTo, amount, extra }: QuotedRequirement) =>
    JSON.stringify([scheme, network, asset, payTo, amount, otherRailOf(asset, extra)]).toLowerCase()
  const asked = new Set(quoted.map(terms))
  return paid.every((requirement) => asked.has(terms(requirement)))
}
