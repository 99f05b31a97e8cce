import { createAuditStore } from '../audit.js'
import { createBlockStore } from '../blocks.js'
import { createEndpointHistory } from '../endpoint-history.js'
import { createEventStore } from '../events.js'
import { createHookStore } from '../hooks.js'
import { createHostedRecords } from '../hosted-records.js'
import { createRatingStore } from '../ratings.js'
import { createRebuiltJobs } from '../rebuilt-jobs.js'
import { createSettlementReader } from '../settlements.js'
import { createShrinker } from '../shrinking.js'
import { createUsageStore } from '../usage.js'
import { createActivityStore } from './activity.js'
import { createMerchantRoster } from './listing-reader.js'
import { createListingStore } from './listings.js'
import type { Sql } from './sql.js'

/** Creates the stores whose SQL is the same on both engines. */
export function createSqlStores(sql: Sql) {
  return {
    rebuiltJobs: createRebuiltJobs(sql),
    blocks: createBlockStore(sql),
    audit: createAuditStore(sql),
    shrinker: createShrinker(sql),
    listings: createListingStore(sql),
    roster: createMerchantRoster(sql),
    history: createEndpointHistory(sql),
    activity: createActivityStore(sql),
    events: createEventStore(sql),
    usage: createUsageStore(sql),
    settlements: createSettlementReader(sql),
    hooks: createHookStore(sql),
    ratings: createRatingStore(sql),
    hostedRecords: createHostedRecords(sql),
  }
}
