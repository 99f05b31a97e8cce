import type { Sql } from '../../sql/sql.js'
import { createSettlementReader } from './activity.js'
import { createEndpointHistory } from './endpoint-history.js'
import { createEventStore } from './events.js'
import { createHookStore } from './hooks.js'
import { createCheckStore } from './paid-checks.js'
import { createRatingStore } from './ratings.js'
import type { SessionStore } from './sessions.js'
import { createActivityStore } from './sql/activity.js'
import { createMerchantRoster } from './sql/listing-reader.js'
import { createListingStore } from './sql/listings.js'
import { createUsageStore } from './usage.js'

/** Creates everything that the directory keeps, over one database. Sessions belong to an engine. */
export function createDirectoryStores(sql: Sql, sessions: SessionStore) {
  return {
    sessions,
    listings: createListingStore(sql),
    roster: createMerchantRoster(sql),
    history: createEndpointHistory(sql),
    activity: createActivityStore(sql),
    events: createEventStore(sql),
    usage: createUsageStore(sql),
    settlements: createSettlementReader(sql),
    hooks: createHookStore(sql),
    ratings: createRatingStore(sql),
    checks: createCheckStore(sql),
  }
}

export type DirectoryStores = ReturnType<typeof createDirectoryStores>
