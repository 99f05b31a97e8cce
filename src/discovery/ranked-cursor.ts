import type { RankedPlace } from './catalog-search.js'

/** How a place in a ranked answer is written in `cursor`. */
export function formatCursor({ group, endpointId }: RankedPlace): string {
  return `${group}-${endpointId}`
}

/** Of a cursor that `formatCursor` wrote. */
export function readCursor(cursor: string): RankedPlace {
  const [group, endpointId] = cursor.split('-')
  return { group: Number(group), endpointId: Number(endpointId) }
}
