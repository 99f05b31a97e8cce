import { createBlockStore } from '../../../src/store/sqlite/blocks.js'
import { createBudgetStore } from '../../../src/store/sqlite/budgets.js'
import { openDatabase } from '../../../src/store/sqlite/database.js'
import { createDeliveryStore } from '../../../src/store/sqlite/deliveries.js'
import { createGroupCommit } from '../../../src/store/sqlite/group-commit.js'
import { createHostedRecords } from '../../../src/store/sqlite/hosted-records.js'
import { createSettlementJournal } from '../../../src/store/sqlite/settlement-journal.js'
import { createSightingStore } from '../../../src/store/sqlite/sightings.js'

/** All stores over one SQLite file, or over memory. */
export function openSqliteStores(path = ':memory:') {
  const database = openDatabase(path)
  const commit = createGroupCommit(database)
  return {
    database,
    commit,
    journal: createSettlementJournal(database, commit),
    deliveries: createDeliveryStore(database, commit),
    sightings: createSightingStore(database, commit),
    budgets: createBudgetStore(database),
    blocks: createBlockStore(database, commit),
    hosted: createHostedRecords(database, commit),
    /** As the service does: what waits is written first. */
    async close() {
      await commit.close()
      database.close()
    },
  }
}
