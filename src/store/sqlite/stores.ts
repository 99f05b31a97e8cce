import { statSync } from 'node:fs'
import { createSoleLeases } from '../leases.js'
import { createMemorySessions } from '../sessions.js'
import { createActivityStore } from '../sql/activity.js'
import { createArchiveStore } from '../sql/archive.js'
import { createAuditStore } from '../sql/audit.js'
import { createBlockStore } from '../sql/blocks.js'
import { createEndpointHistory } from '../sql/endpoint-history.js'
import { createEventStore } from '../sql/events.js'
import { createHookStore } from '../sql/hooks.js'
import { createHostedRecords } from '../sql/hosted-records.js'
import { createMerchantRoster } from '../sql/listing-reader.js'
import { createListingStore } from '../sql/listings.js'
import { createRatingStore } from '../sql/ratings.js'
import { createRebuiltJobs } from '../sql/rebuilt-jobs.js'
import { createServiceHistory } from '../sql/service-history.js'
import { createSettlementReader } from '../sql/settlements.js'
import { createUsageStore } from '../sql/usage.js'
import type { Stores } from '../stores.js'
import { createBudgetStore } from './budgets.js'
import { startCheckpoints } from './checkpoints.js'
import { type Database, openDatabase } from './database.js'
import { createDeliveryStore } from './deliveries.js'
import { createGroupCommit, type GroupCommit } from './group-commit.js'

import { createJobSharing, createSettlementJournal } from './settlement-journal.js'
import { createSql } from './sql.js'

/** The write-ahead log is missing until the first write. */
const quietly = { throwIfNoEntry: false } as const

/** Opens stores over a file, or in memory (`:memory:`). Throws `MigrationError`. */
export function openSqliteStores(
  path: string,
): Stores & { database: Database; commit: GroupCommit } {
  const database = openDatabase(path)
  const commit = createGroupCommit(database)
  const sql = createSql(database, commit)
  return {
    database,
    commit,
    journal: createSettlementJournal(database, commit),
    sharing: createJobSharing(database),
    rebuiltJobs: createRebuiltJobs(sql),
    leases: createSoleLeases(),
    deliveries: createDeliveryStore(database, commit),
    budgets: createBudgetStore(database),
    blocks: createBlockStore(sql),
    audit: createAuditStore(sql),
    archive: createArchiveStore(sql),
    listings: createListingStore(sql),
    roster: createMerchantRoster(sql),
    history: createEndpointHistory(sql),
    activity: createActivityStore(sql),
    events: createEventStore(sql),
    usage: createUsageStore(sql),
    settlements: createSettlementReader(sql),
    service: createServiceHistory(sql),
    hooks: createHookStore(sql),
    ratings: createRatingStore(sql),
    sessions: createMemorySessions(),
    hostedRecords: createHostedRecords(sql),
    requestCounts: undefined,
    threadSource: database.memory ? undefined : database.name,
    async sizeBytes() {
      const pages = Number(database.pragma('page_count', { simple: true }))
      const log = database.memory ? undefined : statSync(`${database.name}-wal`, quietly)
      return pages * Number(database.pragma('page_size', { simple: true })) + (log?.size ?? 0)
    },
    startUpkeep: (onFault) => startCheckpoints({ database, commit, onFault }),
    async close() {
      await commit.close()
      database.close()
    },
  }
}
