import { createEndpointHistory } from '../../../directory/store/endpoint-history.js'
import { createEventStore } from '../../../directory/store/events.js'
import { createHookStore } from '../../../directory/store/hooks.js'
import { createRatingStore } from '../../../directory/store/ratings.js'
import { createSettlementReader } from '../../../directory/store/settlements.js'
import { createActivityStore } from '../../../directory/store/sql/activity.js'
import { createMerchantRoster } from '../../../directory/store/sql/listing-reader.js'
import { createListingStore } from '../../../directory/store/sql/listings.js'
import { createUsageStore } from '../../../directory/store/usage.js'
import { createBlockStore } from '../../../facilitator/journal/blocks.js'
import { createRebuiltJobs } from '../../../facilitator/journal/rebuilt-jobs.js'
import { createShrinker } from '../../../facilitator/journal/shrinking.js'
import { createHostedRecords } from '../../../hosted/store.js'
import type { Sql, SqlReader } from '../../../sql/sql.js'
import { createAuditStore } from '../audit.js'

/** Creates the stores whose SQL is the same on both engines. The directory's long reads go through `reads`. */
export function createSqlStores(sql: Sql, reads: SqlReader = sql) {
  return {
    rebuiltJobs: createRebuiltJobs(sql),
    blocks: createBlockStore(sql),
    audit: createAuditStore(sql),
    shrinker: createShrinker(sql),
    listings: createListingStore(sql, reads),
    roster: createMerchantRoster(reads),
    history: createEndpointHistory(reads),
    activity: createActivityStore(sql, reads),
    events: createEventStore(sql),
    usage: createUsageStore(sql, reads),
    settlements: createSettlementReader(reads),
    hooks: createHookStore(sql),
    ratings: createRatingStore(sql),
    hostedRecords: createHostedRecords(sql),
  }
}
