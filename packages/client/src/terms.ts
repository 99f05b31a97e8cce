import { isObject } from '@arcus/protocol/x402/json'
import { otherRailOf, paidThrough } from '@arcus/protocol/x402/rails'
import type { PaymentRequired, SettleResponse } from '@x402/core/types'
import type { Hex } from 'viem'
import { ArcusError } from './calls.js'

/*
 * The terms that a buyer signs. The console chooses by these rules too.
 */

export type { PaymentRequired, SettleResponse } from '@x402/core/types'
export type Requirement = PaymentRequired['accepts'][number]

export interface Limits {
  network: string
  asset: string
  /** Atomic units of the asset. */
  maxAmount: bigint
  /** Terms that are published, of which one must be kept; any are taken unless given. */
  listed?: readonly { network: string; asset: string; payTo: string }[] | undefined
  /** For a buyer that pays by `exact` with EIP-3009 alone: the domain that the token has. */
  plain?: { name: string; version: string }
  /** For a buyer that pays by channel too (`batch-settlement`), and rather so where the price is the same. */
  channels?: boolean
  /** The name of the asset and its amounts, as a reader knows them. */
  shown?: { asset: string; amount: (atomic: string) => string }
}

/** The scheme of payments by channel. */
export const CHANNEL = 'batch-settlement'

/** A seller could use an authorization until it ends, so one that is valid for longer is not signed. */
const MAX_TIMEOUT_SECONDS = 3_600

/** Limits of the settlement contract for the time that a buyer waits who takes a deposit back, in seconds. */
const WITHDRAW_DELAY = { min: 900, max: 2_592_000 }

/**
 * Returns the cheapest way to pay that is allowed; of two, a channel, or else the one that needs no approval. Throws `ArcusError` where there
 * is none: `not_payable`, `not_as_listed` or `too_dear`.
 */
export function choose(required: PaymentRequired | undefined, limits: Limits): Requirement {
  const { network, asset, maxAmount, listed, shown } = limits
  if (required === undefined) {
    const message = 'The seller asks for a payment and does not say how, in the form of x402 v2.'
    throw new ArcusError('not_payable', message, 402)
  }
  const { accepts } = required
  const offered = accepts.filter(
    (offer: Requirement | null) => offer?.network === network && isSame(asset, offer.asset),
  )
  const ofToken = offered.filter(({ extra }) => otherRailOf(asset, extra) === undefined)
  const payable = ofToken.filter((offer) => isPayable(offer, limits))
  const place = `on ${network} in ${shown?.asset ?? asset}`
  if (payable.length === 0) {
    const rail = otherRailOf(asset, offered[0]?.extra)
    const all = limits.channels ? 'exact, upto or batch-settlement' : 'exact or upto'
    const ways = limits.plain === undefined ? all : 'exact with EIP-3009'
    const message =
      ofToken.length > 0 || rail === undefined
        ? `The seller takes no payment by ${ways} ${place}.`
        : `What the seller asks for ${place} is ${paidThrough(rail)}.`
    throw new ArcusError('not_payable', message, 402, { accepts })
  }
  const known = payable.filter(
    (offer) =>
      listed === undefined ||
      listed.some(
        (terms) =>
          isSame(offer.payTo, terms.payTo) &&
          isSame(offer.asset, terms.asset) &&
          offer.network === terms.network,
      ),
  )
  if (known.length === 0) {
    const message =
      'The seller asks for a payment that the catalog does not name: another address, token or network.'
    throw new ArcusError('not_as_listed', message, 402, { accepts })
  }
  const cheapest = known.reduce((a, b) => {
    const difference = BigInt(b.amount) - BigInt(a.amount)
    return difference < 0n || (difference === 0n && rankOf(b) < rankOf(a)) ? b : a
  })
  if (BigInt(cheapest.amount) <= maxAmount) return cheapest
  const amount = shown?.amount ?? String
  const message = `The seller asks for ${amount(cheapest.amount)}, and the limit is ${amount(`${maxAmount}`)}.`
  throw new ArcusError('too_dear', message, 402, { accepts, amount: cheapest.amount })
}

/**
 * A metered price may depend on the request where its scheme is no ceiling by itself, so such a call may cost this multiple
 * of the price of its listing.
 */
export const METERED_MULTIPLE = 2n

/** The parts of an item of the catalog that say what a call costs. */
export interface Listed {
  accepts: readonly { network: string; asset: string; payTo: string; amount: string }[]
  metadata: { price: string; asset: string; pricing: string }
}

/**
 * Returns the most that a call of an item costs as its listing says, by these terms: the price, which is the ceiling of
 * `upto`, and `METERED_MULTIPLE` times that for other metered terms. In a token in which the listing names no price it is
 * what the last probe was asked for.
 */
export function listedCap(
  { accepts, metadata }: Listed,
  { scheme, network, asset }: Pick<Requirement, 'scheme' | 'network' | 'asset'>,
): { listed: bigint; cap: bigint } {
  const { price, pricing } = metadata
  const quoted = accepts
    .filter((it) => it.network === network && isSame(asset, it.asset) && isAmount(it.amount))
    .map((it) => BigInt(it.amount))
  const highest = quoted.reduce((a, b) => (a > b ? a : b), 0n)
  const listed = isSame(asset, metadata.asset) && isAmount(price) ? BigInt(price) : highest
  const isOpen = pricing === 'metered' && scheme !== 'upto'
  return { listed, cap: isOpen ? listed * METERED_MULTIPLE : listed }
}

/** Makes the error of a seller who asks for more than their listing says. `show` writes an amount for people. */
export function aboveListing(
  { amount, payTo }: Requirement,
  { listed, cap }: { listed: bigint; cap: bigint },
  show: (atomic: bigint) => string,
): ArcusError {
  const bound = cap === listed ? '' : `, of which ${METERED_MULTIPLE} times as much would be paid`
  const message = `The seller asks for ${show(BigInt(amount))}, and the catalog lists ${show(listed)}${bound}. Give a higher limit for this call to pay it all the same.`
  const details = { amount, listed: `${listed}`, cap: `${cap}`, payTo }
  return new ArcusError('too_dear', message, 402, details)
}

/** Returns whether terms can be signed. A seller wrote them, so nothing in them has its form yet. */
function isPayable(offer: Requirement, { plain, channels }: Limits): boolean {
  const { scheme, amount, payTo, maxTimeoutSeconds: seconds, extra } = offer
  const isTimely = Number.isInteger(seconds) && seconds > 0 && seconds <= MAX_TIMEOUT_SECONDS
  if (!isTimely || !isAmount(amount) || !isAddress(payTo)) return false
  const method = extra?.assetTransferMethod ?? (scheme === 'upto' ? 'permit2' : 'eip3009')
  if (method === 'permit2') {
    const isMetered = scheme === 'upto' && isAddress(extra?.facilitatorAddress)
    return plain === undefined && (scheme === 'exact' || isMetered)
  }
  if (method !== 'eip3009' || !isText(extra?.name, extra?.version)) return false
  if (scheme === CHANNEL) return channels === true && BigInt(amount) > 0n && canBeFilled(extra)
  const isOwn =
    plain === undefined || (extra.name === plain.name && extra.version === plain.version)
  return scheme === 'exact' && isOwn
}

/** Returns whether the settlement contract takes a deposit for a channel of these terms. */
function canBeFilled({ receiverAuthorizer, withdrawDelay }: Record<string, unknown>): boolean {
  const { min, max } = WITHDRAW_DELAY
  const isInRange = Number(withdrawDelay) >= min && Number(withdrawDelay) <= max
  const isSigned = isAddress(receiverAuthorizer) && BigInt(receiverAuthorizer) > 0n
  return Number.isInteger(withdrawDelay) && isInRange && isSigned
}

function rankOf({ scheme, extra }: Requirement): number {
  if (scheme === CHANNEL) return 0
  return scheme === 'upto' || extra?.assetTransferMethod === 'permit2' ? 2 : 1
}

function isText(...values: unknown[]): boolean {
  return values.every((value) => typeof value === 'string' && value !== '')
}

export function isAmount(value: unknown): value is string {
  return typeof value === 'string' && /^\d{1,78}$/.test(value)
}

export function isAddress(value: unknown): value is Hex {
  return typeof value === 'string' && /^0x[0-9a-f]{40}$/i.test(value)
}

function isSame(a: string, b: unknown): boolean {
  return typeof b === 'string' && a.toLowerCase() === b.toLowerCase()
}

/** Reads what a seller says of a payment. Malformed words say nothing. */
export function readOffer(
  required: unknown,
  settlement: unknown,
): { required?: PaymentRequired; settlement?: SettleResponse } {
  return {
    ...(isRequired(required) && { required }),
    ...(isSettlement(settlement) && { settlement }),
  }
}

function isRequired(value: unknown): value is PaymentRequired {
  return isObject(value) && value.x402Version === 2 && Array.isArray(value.accepts)
}

function isSettlement(value: unknown): value is SettleResponse {
  if (!isObject(value) || typeof value.success !== 'boolean') return false
  return typeof value.transaction === 'string' && /^(0x[0-9a-f]{64})?$/i.test(value.transaction)
}
