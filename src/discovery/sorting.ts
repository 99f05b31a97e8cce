import { type Evidence, evidenceKeys, inOrderOf } from '../store/evidence.js'

export const sorts = ['calls', 'payers', 'price', 'new', 'lastPaid'] as const
export type Sort = (typeof sorts)[number]

/** The parts of an endpoint by which it is sorted. */
interface Sortable {
  id: number
  /** Atomic units of `asset`; from $4,294 on, prices count as equal. */
  price: number
  asset: string
  /** ISO 4217; `null` if not known. */
  currency: string | null
  evidence: Evidence
}

/** Returns the ids in order; endpoints that are equal in it stay as they are. */
export function sortedIds(endpoints: readonly Sortable[], sort: Sort): number[] {
  const inOrder =
    sort === 'price'
      ? byPrice(endpoints)
      : inOrderOf(endpoints, ({ id, evidence }) => evidenceKeys[sort]({ evidence, since: id }))
  return inOrder.map(({ id }) => id)
}

/** Puts the cheapest first within each money: nobody has the rates to compare them. */
function byPrice(endpoints: readonly Sortable[]): Sortable[] {
  const groups = new Map<string, Sortable[]>()
  for (const endpoint of endpoints) {
    const money = moneyOf(endpoint)
    const group = groups.get(money)
    if (group === undefined) groups.set(money, [endpoint])
    else group.push(endpoint)
  }
  return [...groups]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, group]) => inOrderOf(group, ({ price }) => price))
}

/** Names the money of a price: dollars come first, then each currency, then each token of an unknown one. */
function moneyOf({ currency, asset }: Sortable): string {
  if (currency === null) return `2${asset}`
  return currency === 'USD' ? '0' : `1${currency}`
}
