import { byPrice, type Evidence, evidenceKeys, inOrderOf, type Priced } from '../store/evidence.js'

export const sorts = ['calls', 'payers', 'price', 'new', 'lastPaid'] as const
export type Sort = (typeof sorts)[number]

/** The parts of an endpoint by which it is sorted. */
interface Sortable extends Priced {
  id: number
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
