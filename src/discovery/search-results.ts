import type { CatalogView } from './catalog-view.js'
import type { Corrections } from './corrections.js'
import type { DocumentSet } from './document-set.js'
import { createLru, type Lru } from './lru.js'

const MAX_RESULT_BYTES = 64 * 1024 * 1024
const MAX_CORRECTION_BYTES = 1024 * 1024
/** Most of it is the question, which is the key. */
const CORRECTION_BYTES = 2_048

/** What was found in one view of the catalog. */
export interface Results {
  sets: Kept<DocumentSet[]>
  corrections: Kept<Corrections>
}

export interface Kept<Value> {
  values: Lru<Value>
  inFlight: Map<string, Promise<Value>>
}

/** The same question asked twice at the same time is answered once. */
export async function once<Value>(
  { values, inFlight }: Kept<Value>,
  key: string,
  find: () => Promise<Value>,
): Promise<Value> {
  const known = values.get(key) ?? inFlight.get(key)
  if (known !== undefined) return known
  const finding = find().finally(() => inFlight.delete(key))
  inFlight.set(key, finding)
  const value = await finding
  values.set(key, value)
  return value
}

/** Answers of the latest view; what older views still work on stays with them. */
export function createResultCache(): { of(view: CatalogView): Results } {
  let latest: { view: CatalogView; results: Results } | undefined
  return {
    of(view) {
      if (latest?.view !== view) latest = { view, results: createResults() }
      return latest.results
    },
  }
}

function createResults(): Results {
  const bytesOf = (sets: DocumentSet[]) => sets.reduce((sum, { bytes }) => sum + bytes, 0)
  return {
    sets: { values: createLru(MAX_RESULT_BYTES, bytesOf), inFlight: new Map() },
    corrections: {
      values: createLru(MAX_CORRECTION_BYTES, () => CORRECTION_BYTES),
      inFlight: new Map(),
    },
  }
}
