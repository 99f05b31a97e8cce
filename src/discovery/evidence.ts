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
/** The parts of an endpoint by which it is sorted. */
interface Sortable {
  id: number
  /** Atomic units of `asset`; from `MAX_KEY` ($4,294) on, prices count as equal. */
  price: number
  asset: string
  /** ISO 4217; `null` if not known. */
  currency: string | null
  evidence: Evidence
}

/** Numbers that put the first one first when they rise. */
const keys: Record<Sort, (endpoint: Sortable) => number> = {
  calls: ({ evidence }) => MAX_KEY - evidence.othersCalls,
  payers: ({ evidence }) => MAX_KEY - evidence.payers,
  price: ({ price }) => price,
  new: ({ id }) => MAX_KEY - id,
  lastPaid: ({ evidence }) => MAX_KEY - evidence.lastPaid,
}

/** Returns the ids in order; endpoints with the same number stay as they are. */
export function sortedIds(endpoints: readonly Sortable[], sort: Sort): number[] {
  if (sort !== 'price') return idsBy(keys[sort], endpoints)
  const groups = new Map<string, Sortable[]>()
  for (const endpoint of endpoints) {
    const group = groups.get(moneyOf(endpoint))
    if (group === undefined) groups.set(moneyOf(endpoint), [endpoint])
    else group.push(endpoint)
  }
  const inOrder = [...groups].sort(([one], [other]) => (one < other ? -1 : 1))
  return inOrder.flatMap(([, group]) => idsBy(keys.price, group))
}

/** Names the money of a price: dollars first, then each currency, then each token of an unknown one. Nobody has their rates. */
function moneyOf({ currency, asset }: Sortable): string {
  if (currency === null) return `2${asset}`
  return currency === 'USD' ? '0' : `1${currency}`
}

function idsBy(keyOf: (endpoint: Sortable) => number, endpoints: readonly Sortable[]): number[] {
  const packed = Float64Array.from(
    endpoints,
    (endpoint, place) => Math.min(MAX_KEY, Math.max(0, keyOf(endpoint))) * PLACES + place,
  ).sort()
  return Array.from(packed, (key) => endpoints[key % PLACES]?.id as number)
}
