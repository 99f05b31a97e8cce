import type { ListingReader } from './listings.js'
import { openReader } from './sqlite/database.js'
import { createListingReader } from './sqlite/listing-reads.js'

export interface OpenListingReader extends ListingReader {
  close(): Promise<void>
}

/** One reads the index, one may answer meanwhile. */
const POOL_SIZE = 2

/** Listings over a connection of its own, for a thread that only reads; `source` is `Stores.threadSource`. */
export async function openListingReader(source: string): Promise<OpenListingReader> {
  if (/^postgres(ql)?:/.test(source)) {
    // Only where it is used: its driver takes a dozen megabytes.
    const { openDatabase } = await import('./postgres/database.js')
    const { createListingReader: readPostgres } = await import('./postgres/listing-reads.js')
    const database = openDatabase({ url: source, poolSize: POOL_SIZE })
    return { ...readPostgres(database), close: database.close }
  }
  const database = openReader(source)
  return { ...createListingReader(database), close: async () => void database.close() }
}
