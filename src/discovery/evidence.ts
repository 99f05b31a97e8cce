import type { Usage } from '../store/usage.js'

/** The figures of an endpoint by which lists are sorted and search results are ranked. All are of 30 days. */
export interface Evidence {
  /** Calls without those of the busiest payer, so that one wallet alone gains nothing. */
  othersCalls: number
  payers: number
  /** Unix seconds; 0 is never. */
  lastPaid: number
  /** 0 to `TOP_LEVEL`. */
  level: number
}

export const TOP_LEVEL = 7

export const NO_EVIDENCE: Evidence = { othersCalls: 0, payers: 0, lastPaid: 0, level: 0 }

/**
 * Weighs the figures. The level is the binary logarithm of the geometric mean of two counts: the payers, and the payers
 * that there would be if each made as many calls as the busiest. It needs twice as many payers for each step, and calls
 * of one wallet lower it.
 */
export function evidenceOf({ calls, payers, topPayerShare, lastPaid }: Usage): Evidence {
  const share = topPayerShare ?? 1
  const even = payers['30d'] === 0 ? 0 : Math.sqrt(payers['30d'] / share)
  return {
    othersCalls: Math.round(calls['30d'] * (1 - share)),
    payers: payers['30d'],
    lastPaid,
    // An exact power of two must not fall short by the last digit of a fraction.
    level: even < 1 ? 0 : Math.min(TOP_LEVEL, Math.floor(Math.log2(even) + 1e-6)),
  }
}

export const sorts = ['calls', 'payers', 'price', 'new', 'lastPaid'] as const
export type Sort = (typeof sorts)[number]

/** The largest number to sort by, and the most endpoints: one number holds both, because those are sorted fast. */
const MAX_KEY = 2 ** 32 - 1
const PLACES = 2 ** 21
/** Atomic units: $2,147. Dearer ones count as equal. */
const MAX_PRICE = 2 ** 31 - 1

/** The parts of an endpoint by which it is sorted. */
interface Sortable {
  id: number
  price: number
  /** ISO 4217; `null` if not known. */
  currency: string | null
  evidence: Evidence
}

/** Numbers that put the first one first when they rise. */
const keys: Record<Sort, (endpoint: Sortable) => number> = {
  calls: ({ evidence }) => MAX_KEY - evidence.othersCalls,
  payers: ({ evidence }) => MAX_KEY - evidence.payers,
  // Prices in other money come after those in dollars: without a rate nobody can compare them.
  price: ({ price, currency }) => Math.min(price, MAX_PRICE) + (currency === 'USD' ? 0 : MAX_PRICE),
  new: ({ id }) => MAX_KEY - id,
  lastPaid: ({ evidence }) => MAX_KEY - evidence.lastPaid,
}

/** Returns the ids in order; endpoints with the same number stay as they are. */
export function sortedIds(endpoints: readonly Sortable[], sort: Sort): number[] {
  const keyOf = keys[sort]
  const packed = Float64Array.from(
    endpoints,
    (endpoint, place) => Math.min(MAX_KEY, Math.max(0, keyOf(endpoint))) * PLACES + place,
  ).sort()
  return Array.from(packed, (key) => endpoints[key % PLACES]?.id as number)
}
