import type { Sql, SqlReader } from '../../sql/sql.js'
import { createSettlementReader } from './activity.js'
import { createEndpointHistory } from './endpoint-history.js'
import { createEventStore } from './events.js'
import { createHookStore } from './hooks.js'
import { createCheckStore } from './paid-checks.js'
import type { SessionStore } from './sessions.js'
import { createActivityStore } from './sql/activity.js'
import { createMerchantRoster } from './sql/listing-reader.js'
import { createListingStore } from './sql/listings.js'
import { createUsageStore } from './usage.js'

/**
 * Creates everything that the directory keeps, over one database. Sessions belong to an engine; long reads go through
 * `reads`.
 */
export function createDirectoryStores(sql: Sql, sessions: SessionStore, reads: SqlReader = sql) {
  return {
    sessions,
    listings: createListingStore(sql, reads),
    roster: createMerchantRoster(reads),
    history: createEndpointHistory(reads),
    activity: createActivityStore(sql, reads),
    events: createEventStore(sql),
    usage: createUsageStore(sql, reads),
    settlements: createSettlementReader(reads),
    hooks: createHookStore(sql),
    checks: createCheckStore(sql, reads),
  }
}

export type DirectoryStores = ReturnType<typeof createDirectoryStores>
