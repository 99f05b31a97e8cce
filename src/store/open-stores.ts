import { openSqliteStores } from './sqlite/stores.js'
import type { Stores } from './stores.js'

/** A database as the settings name it. */
export type DatabasePlace =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly poolSize: number }

/** Opens the database and brings its schema up to date. Rejects with `MigrationError` or `StoreUnavailableError`. */
export async function openStores(
  place: DatabasePlace,
  onIdleError?: (error: unknown) => void,
): Promise<Stores> {
  if (place.kind === 'sqlite') return openSqliteStores(place.path)
  // Only where it is used: its driver takes a dozen megabytes.
  const { openPostgresStores } = await import('./postgres/stores.js')
  // By name: the settings conceal the URL from whoever copies them.
  const { url, poolSize } = place
  return openPostgresStores({ url, poolSize, ...(onIdleError && { onIdleError }) })
}
