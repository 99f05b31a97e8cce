import type { SupportedAnswer } from '../../../../api/payments.js'
import { parseJson } from '../../../../x402/calls.js'
import { isObject, memberOf } from '../../../../x402/json.js'
import { otherRailOf, paidThrough } from '../../../../x402/rails.js'
import { atomicToUsd, exactAmount } from '../../../format/amounts.js'
import { sameAddress } from '../../../format/untrusted-text.js'
import { words } from './words.js'

/** The terms on the screen, which a 402 has to keep before anything is signed. */
export interface ShownTerms {
  network: string
  payTo: string
  /** The token, as this service knows it. */
  asset: { address: string; symbol: string; name: string; version: string }
  /** The most that is signed, in atomic units. */
  maxAmount: string
  /** Whether the price is listed as a ceiling. */
  isMetered: boolean
}

/** How this service settles by Permit2 on the network. */
export interface Permit2Service {
  isExactOffered: boolean
  /** The addresses of this service that a payer of `upto` may name; none where it is not settled. */
  facilitators: readonly string[]
  /** Whether the service sends a payer's signed permit of the token along. */
  isSponsoring: boolean
}

/** One way to pay of a 402. Members that are not named here are sent back as they came. */
export interface Offer extends Record<string, unknown> {
  amount: string
  maxTimeoutSeconds: number
}

/** An offer that a wallet can pay, and the method: the token's own (EIP-3009), `exact` or `upto` by Permit2. */
export interface Way {
  offer: Offer
  by: 'eip3009' | 'permit2' | 'upto'
  /** The address that alone may settle, for `upto`; it is one of this service. */
  facilitator?: string
}

type Choice =
  /** The ways to pay, the best one first. */
  | { ok: true; required: Record<string, unknown>; ways: readonly Way[] }
  /** Why nothing is signed, in a sentence. */
  | { ok: false; why: string }

/** A seller could use an authorization until it ends, so one that is valid for longer is not signed. */
const MAX_TIMEOUT_SECONDS = 3_600
const MAX_OFFERS = 16
/** The terms are sent back to the seller in one header, and servers take 16 KiB of headers in all. */
const MAX_ECHO_BYTES = 9_000

/** Reads what a 402 asks for: the header of version 2, else its body. */
export function readTerms(header: string | undefined, body: string): unknown {
  return (header === undefined ? undefined : parseJson(fromBase64(header))) ?? parseJson(body)
}

/**
 * Chooses the ways to pay that keep the terms on the screen, the cheapest first; of two, the one that needs no approval, or
 * for a metered price the one that takes only what was used. Otherwise it says which term is not kept.
 */
export function choose(required: unknown, shown: ShownTerms, service?: Permit2Service): Choice {
  if (!isObject(required)) return refuse(words.noTerms)
  if (required.x402Version === 1) return refuse(words.version1)
  if (required.x402Version !== 2 || !Array.isArray(required.accepts)) return refuse(words.noTerms)
  const offers = required.accepts.slice(0, MAX_OFFERS).filter(isObject)
  const here = offers.filter(
    ({ network, asset }) => network === shown.network && isSame(asset, shown.asset.address),
  )
  if (here.length === 0) return refuse(words.otherMoney(shown.asset.symbol, shown.network))
  const plain = here.filter(({ asset, extra }) => otherRailOf(asset, extra) === undefined)
  const [other] = here
  if (plain.length === 0 && other !== undefined) {
    return refuse(words.otherRail(paidThrough(otherRailOf(other.asset, other.extra) ?? '')))
  }
  const payable = plain.flatMap((offer): Way[] => {
    const by = isPayable(offer, shown) ? methodOf(offer) : undefined
    return by === undefined ? [] : [{ offer: offer as Offer, by }]
  })
  if (payable.length === 0) return refuse(words.needsAgent)
  const owed = payable.filter(({ offer }) => isSame(offer.payTo, shown.payTo))
  if (owed.length === 0) return refuse(words.otherPayTo)
  const settled = owed.flatMap((way) => settledHere(way, service))
  if (settled.length === 0) {
    const isOther = owed.some(({ by }) => by === 'upto') && service?.facilitators.length
    return refuse(isOther ? words.otherFacilitator : words.notByPermit2)
  }
  const ways = settled.toSorted((a, b) => order(a, b, shown))
  const cheapest = ways[0] as Way
  if (!isWithin(cheapest, shown)) {
    const asked = exactAmount(atomicToUsd(cheapest.offer.amount), shown.asset.symbol)
    const cap = exactAmount(atomicToUsd(shown.maxAmount), shown.asset.symbol)
    return refuse(words.tooDear(asked, cap))
  }
  const { resource, extensions } = required
  const isShort = ({ offer }: Way) =>
    new TextEncoder().encode(JSON.stringify([offer, resource, extensions])).length <= MAX_ECHO_BYTES
  const fitting = ways.filter((way) => isWithin(way, shown) && isShort(way))
  return fitting.length > 0 ? { ok: true, required, ways: fitting } : refuse(words.tooLong)
}

function isWithin({ offer }: Way, { maxAmount }: ShownTerms): boolean {
  return BigInt(offer.amount) <= BigInt(maxAmount)
}

function order(a: Way, b: Way, { isMetered }: ShownTerms): number {
  const difference = BigInt(a.offer.amount) - BigInt(b.offer.amount)
  if (difference !== 0n) return difference < 0n ? -1 : 1
  const ranks = isMetered ? ['upto', 'eip3009', 'permit2'] : ['eip3009', 'permit2', 'upto']
  return ranks.indexOf(a.by) - ranks.indexOf(b.by)
}

/** Tells whether the form of an offer is one that a wallet can pay: in this token, and not for too long. */
function isPayable(offer: Record<string, unknown>, { asset }: ShownTerms): boolean {
  const { amount, maxTimeoutSeconds, extra = {} } = offer
  if (!isObject(extra)) return false
  const { name = asset.name, version = asset.version } = extra
  return (
    typeof amount === 'string' &&
    /^(0|[1-9]\d{0,77})$/.test(amount) &&
    Number.isInteger(maxTimeoutSeconds) &&
    Number(maxTimeoutSeconds) > 0 &&
    Number(maxTimeoutSeconds) <= MAX_TIMEOUT_SECONDS &&
    name === asset.name &&
    version === asset.version
  )
}

/** Returns how an offer is paid; `undefined` for a scheme or a method that needs more than a wallet. */
function methodOf({ scheme, extra }: Record<string, unknown>): Way['by'] | undefined {
  const method = memberOf(extra, 'assetTransferMethod')
  if (scheme === 'upto') return method === undefined || method === 'permit2' ? 'upto' : undefined
  if (scheme !== 'exact') return undefined
  if (method === undefined || method === 'eip3009') return 'eip3009'
  return method === 'permit2' ? 'permit2' : undefined
}

/** Returns the way if this service settles it, with the address that may, as the service writes it. */
function settledHere(way: Way, service: Permit2Service | undefined): Way[] {
  if (way.by === 'eip3009') return [way]
  if (way.by === 'permit2') return service?.isExactOffered === true ? [way] : []
  const named = memberOf(way.offer.extra, 'facilitatorAddress')
  const facilitator = service?.facilitators.find((address) => isSame(named, address))
  return facilitator === undefined ? [] : [{ ...way, facilitator }]
}

/** Reads how the service settles by Permit2 from its `GET /supported`. */
export function readPermit2Service(
  { kinds, extensions, signers }: SupportedAnswer,
  network: string,
): Permit2Service {
  const kindOf = (scheme: string) =>
    kinds.find((kind) => kind.scheme === scheme && kind.network === network)?.extra
  const named = kindOf('upto')?.facilitatorAddress
  // Its wallets take turns, so a 402 may name another one than this answer.
  const facilitators = named === undefined ? [] : [named, ...Object.values(signers).flat()]
  const isExactOffered = kindOf('exact')?.assetTransferMethods?.includes('permit2') === true
  return { isExactOffered, facilitators, isSponsoring: extensions.includes('eip2612GasSponsoring') }
}

function isSame(a: unknown, b: string): boolean {
  return typeof a === 'string' && sameAddress(a, b)
}

function refuse(why: string): Choice {
  return { ok: false, why }
}

/** Reads base64 of either alphabet as UTF-8; an empty text when it is none. */
export function fromBase64(text: string): string {
  try {
    return new TextDecoder().decode(bytesOf(text.replaceAll('-', '+').replaceAll('_', '/')))
  } catch {
    return ''
  }
}

/** Reads base64. Throws when it is none. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
}
