import { createMemorySessions } from '../memory-sessions.js'
import { createSoleLeases } from '../sole-leases.js'
import type { Stores } from '../stores.js'
import { createActivityStore } from './activity.js'
import { createBlockStore } from './blocks.js'
import { createBudgetStore } from './budgets.js'
import { startCheckpoints } from './checkpoints.js'
import { type Database, openDatabase } from './database.js'
import { createDeliveryStore } from './deliveries.js'
import { createGroupCommit, type GroupCommit } from './group-commit.js'
import { createHostedRecords } from './hosted-records.js'
import { createJobSharing } from './job-sharing.js'
import { createListingStore } from './listings.js'
import { createMerchantRoster } from './merchant-roster.js'
import { createSettlementJournal } from './settlement-journal.js'

/** Stores over a file, or over memory (`:memory:`). Throws `MigrationError`. */
export function openSqliteStores(
  path: string,
): Stores & { database: Database; commit: GroupCommit } {
  const database = openDatabase(path)
  const commit = createGroupCommit(database)
  return {
    database,
    commit,
    journal: createSettlementJournal(database, commit),
    sharing: createJobSharing(database),
    leases: createSoleLeases(),
    deliveries: createDeliveryStore(database, commit),
    budgets: createBudgetStore(database),
    blocks: createBlockStore(database, commit),
    listings: createListingStore(database, commit),
    roster: createMerchantRoster(database),
    activity: createActivityStore(database, commit),
    sessions: createMemorySessions(),
    hostedRecords: createHostedRecords(database, commit),
    requestCounts: undefined,
    threadSource: database.memory ? undefined : database.name,
    startUpkeep: (onFault) => startCheckpoints({ database, commit, onFault }),
    async close() {
      await commit.close()
      database.close()
    },
  }
}
