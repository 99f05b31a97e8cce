import { openSqliteStores } from './sqlite.js'
import type { Stores } from './stores.js'

/** A database as the settings name it. */
export type DatabasePlace =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly poolSize: number }

// The PostgreSQL modules are imported only if they are used, because the driver takes a dozen megabytes.

/**
 * Opens the database and brings its schema up to date. `onFault` receives why a connection broke that nobody used, or the
 * thread that reads ended; another one takes its place. Rejects with `MigrationError` or `StoreUnavailableError`.
 */
export async function openStores(
  place: DatabasePlace,
  onFault: (error: unknown) => void = () => {},
): Promise<Stores> {
  if (place.kind === 'sqlite') return openSqliteStores(place.path, onFault)
  const { openPostgresStores } = await import('./postgres.js')
  // Each by its name: the settings conceal the URL from a copy of the whole object.
  const { url, poolSize } = place
  return openPostgresStores({ url, poolSize, onIdleError: onFault })
}
