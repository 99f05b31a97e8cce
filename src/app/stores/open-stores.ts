import type { Half } from '../../sql/leases.js'
import { createFirstTurns, createSecondTurns } from '../../sql/sqlite/write-turns.js'
import { openSqliteStores } from './sqlite.js'
import type { Stores } from './stores.js'

/** A database as the settings name it. */
export type DatabasePlace =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly poolSize: number }

/** The half that opens the database: it decides which writes go first, and which processes share the leases. */
interface StoreUser {
  half: Half
  /** The memory by which the two threads of a process take turns at writing a file; absent where only one writes. */
  turnFlags?: SharedArrayBuffer | undefined
  /** Receives why a connection broke that nobody used; another one takes its place. */
  onFault?: (error: unknown) => void
}

// The PostgreSQL modules are imported only if they are used, because the driver takes a dozen megabytes.

/** Opens the database and brings its schema up to date. Rejects with `MigrationError` or `StoreUnavailableError`. */
export async function openStores(
  place: DatabasePlace,
  { half, turnFlags, onFault = () => {} }: StoreUser = { half: 'facilitator' },
): Promise<Stores> {
  if (place.kind === 'sqlite') {
    const createTurns = half === 'facilitator' ? createFirstTurns : createSecondTurns
    return openSqliteStores(place.path, turnFlags && createTurns(turnFlags))
  }
  const { openPostgresStores } = await import('./postgres.js')
  // Each by its name: the settings conceal the URL from a copy of the whole object.
  const { url, poolSize } = place
  return openPostgresStores({ url, poolSize, half, onIdleError: onFault })
}
