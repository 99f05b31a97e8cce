import type { ListingReader } from '../../directory/store/listings.js'
import { createListingReader } from '../../directory/store/sql/listing-reader.js'
import { openReader } from '../../sql/sqlite/database.js'
import { createSqlReader } from '../../sql/sqlite/sql.js'
import { openSqliteStores } from './sqlite.js'
import type { Stores } from './stores.js'

/** A database as the settings name it. */
export type DatabasePlace =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly poolSize: number }

// The PostgreSQL modules are imported only if they are used, because the driver takes a dozen megabytes.

/** Opens the database and brings its schema up to date. Rejects with `MigrationError` or `StoreUnavailableError`. */
export async function openStores(
  place: DatabasePlace,
  onIdleError?: (error: unknown) => void,
): Promise<Stores> {
  if (place.kind === 'sqlite') return openSqliteStores(place.path)
  const { openPostgresStores } = await import('./postgres.js')
  // Each by its name: the settings conceal the URL from a copy of the whole object.
  const { url, poolSize } = place
  return openPostgresStores({ url, poolSize, ...(onIdleError && { onIdleError }) })
}

interface OpenListingReader extends ListingReader {
  close(): Promise<void>
}

/** One connection reads the whole catalog; the other may answer meanwhile. */
const READER_POOL_SIZE = 2

/** Opens listings over a connection of its own, for a thread that only reads; `source` is `Stores.threadSource`. */
export async function openListingReader(source: string): Promise<OpenListingReader> {
  if (/^postgres(ql)?:/.test(source)) {
    const { openDatabase } = await import('../../sql/postgres/database.js')
    const { createSqlReader: readPostgres } = await import('../../sql/postgres/sql.js')
    const database = openDatabase({ url: source, poolSize: READER_POOL_SIZE })
    return { ...createListingReader(readPostgres(database)), close: database.close }
  }
  const database = openReader(source)
  const close = async () => void database.close()
  return { ...createListingReader(createSqlReader(database)), close }
}
