import type { ListingReader } from './listings.js'
import { openDatabase } from './postgres/database.js'
import { createListingReader as readPostgres } from './postgres/listing-reads.js'
import { openReader } from './sqlite/database.js'
import { createListingReader as readSqlite } from './sqlite/listing-reads.js'

export interface OpenListingReader extends ListingReader {
  close(): Promise<void>
}

/** One reads the index, one may answer meanwhile. */
const POOL_SIZE = 2

/** Listings over a connection of its own, for a thread that only reads; `source` is `Stores.threadSource`. */
export function openListingReader(source: string): OpenListingReader {
  if (/^postgres(ql)?:/.test(source)) {
    const database = openDatabase({ url: source, poolSize: POOL_SIZE })
    return { ...readPostgres(database), close: database.close }
  }
  const database = openReader(source)
  return { ...readSqlite(database), close: async () => void database.close() }
}
