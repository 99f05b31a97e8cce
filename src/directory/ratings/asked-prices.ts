import { otherRailOf } from '@arcus/protocol/x402/rails'
import type { NotedPrice } from '../store/endpoint-history.js'
import type { IndexedEndpoint } from '../store/listings.js'

/** A payment, as far as it says what it paid for. */
export interface PaidTerms {
  scheme: 'exact' | 'upto'
  network: string
  /** Lower-case. */
  asset: string
  /** `null` for a token that is no longer taken. */
  symbol: string | null
  /** Atomic units. */
  amount: bigint
  /** When it was accepted, Unix seconds. */
  at: number
}

/** A call of a metered endpoint counts from a tenth of its ceiling. */
const SHARE_OF_CEILING = 10n
/** It counts from a cent at least, unless the ceiling is lower. */
const LEAST_PART = 10_000n
/** A buyer may have signed the price before its last change. */
const SIGNED_BEFORE_SECONDS = 600
/** A probe sees the new price of a 402 some six hours later at most, or twice that if one fails. */
const SEEN_AFTER_SECONDS = 43_200

/**
 * Returns what a payment counts for: its amount, at most the highest price that the endpoint asked by that scheme, in that
 * token, when it was paid. `undefined` if it paid none of them: less than the cheapest price, or less than a tenth of the
 * ceiling of a metered one.
 */
export function paidPrice(
  endpoint: Pick<IndexedEndpoint, 'accepts' | 'asset' | 'price'>,
  noted: readonly NotedPrice[],
  paid: PaidTerms,
): bigint | undefined {
  const asked = askedPrices(endpoint, noted, paid)
  const [first, ...others] = asked
  if (first === undefined) return undefined
  const cheapest = others.reduce((least, it) => (it < least ? it : least), first)
  const dearest = others.reduce((most, it) => (it > most ? it : most), first)
  const least = paid.scheme === 'upto' ? floorOf(cheapest) : cheapest
  if (paid.amount < least) return undefined
  return paid.amount < dearest ? paid.amount : dearest
}

/** Returns the least part of a ceiling that counts. */
function floorOf(ceiling: bigint): bigint {
  const tenth = (ceiling + SHARE_OF_CEILING - 1n) / SHARE_OF_CEILING
  const floor = tenth > LEAST_PART ? tenth : LEAST_PART
  return floor < ceiling ? floor : ceiling
}

function askedPrices(
  { accepts, asset, price }: Pick<IndexedEndpoint, 'accepts' | 'asset' | 'price'>,
  noted: readonly NotedPrice[],
  paid: PaidTerms,
): bigint[] {
  const inAsset = accepts.filter(
    (it) =>
      it.network === paid.network &&
      String(it.asset).toLowerCase() === paid.asset &&
      otherRailOf(it.asset, it.extra) === undefined,
  )
  const byScheme = inAsset.filter(({ scheme }) => scheme === paid.scheme)
  // Which scheme asked an earlier price is not known. Terms of today in this token must have the scheme; without such
  // terms the token was given up, and only a whole price can have been asked.
  if (inAsset.length > 0 ? byScheme.length === 0 : paid.scheme !== 'exact') return []
  const listed = valid(noted, 'listed', paid)
  const asked = valid(noted, 'asked', paid)
  const past = [...listed.prices, ...asked.prices]
  // Terms of today are not those of a payment before a price changed.
  const isSame = listed.isCurrent && asked.isCurrent
  const today = [...byScheme.map(({ amount }) => amount), ...(asset === paid.asset ? [price] : [])]
  const now = (isSame ? today : []).flatMap((it) =>
    /^[0-9]{1,78}$/.test(String(it)) ? [BigInt(String(it))] : [],
  )
  return [...now, ...past].filter((it) => it > 0n)
}

/** Finds the prices of one source that held when the payment was made, and whether the last of them still holds. */
function valid(
  noted: readonly NotedPrice[],
  source: NotedPrice['source'],
  { at, symbol }: PaidTerms,
) {
  const all = noted.filter((it) => it.source === source)
  const later = all.filter((it) => it.at > at)
  const [next] = later
  // A 402 changes before a probe sees it, and what was found in a payment is listed after it.
  const isUnseen =
    next !== undefined &&
    next.at <= at + SEEN_AFTER_SECONDS &&
    (source === 'asked' || later.length === all.length)
  const held = all.filter(
    (it, i) => it.at <= at && (all[i + 1]?.at ?? Infinity) >= at - SIGNED_BEFORE_SECONDS,
  )
  const prices = [...held, ...(isUnseen ? [next] : [])]
    .filter((it) => it.symbol === symbol)
    .map(({ amount }) => BigInt(amount))
  return { prices, isCurrent: later.length === 0 || (isUnseen && later.length === 1) }
}
