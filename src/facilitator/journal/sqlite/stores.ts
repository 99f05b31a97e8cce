import { createSoleLeases } from '../../../sql/leases.js'
import type { Sql } from '../../../sql/sql.js'
import { startCheckpoints } from '../../../sql/sqlite/checkpoints.js'
import { type Database, openDatabase } from '../../../sql/sqlite/database.js'
import { createGroupCommit, type GroupCommit } from '../../../sql/sqlite/group-commit.js'
import { lockForService } from '../../../sql/sqlite/service-lock.js'
import { createSql } from '../../../sql/sqlite/sql.js'
import { createLeaseKeeper } from '../../relayer/leases.js'
import { createBlockStore } from '../blocks.js'
import { createBudgetStore } from '../budgets.js'
import { createDeliveryStore } from '../deliveries.js'
import { createShrinker } from '../shrinking.js'
import type { FacilitatorStores } from '../stores.js'
import { createJobSharing, createSettlementJournal } from './settlement-journal.js'

/** Creates the stores of the facilitator over a database that is open. */
export function createFacilitatorStores(
  database: Database,
  commit: GroupCommit,
  sql: Sql,
): FacilitatorStores {
  return {
    journal: createSettlementJournal(database, commit),
    sharing: createJobSharing(database),
    deliveries: createDeliveryStore(sql),
    budgets: createBudgetStore(sql),
    blocks: createBlockStore(sql),
    shrinker: createShrinker(sql),
  }
}

/**
 * Opens a database for a facilitator that stands alone: a file, which one process at a time may use, or `:memory:`. Rejects
 * with `DatabaseInUseError` or `MigrationError`. Close it after the facilitator has stopped.
 */
export async function openFacilitatorStores(
  path: string,
  log: { warn(details: object, message: string): void },
) {
  const unlock = lockForService(path)
  try {
    const database = openDatabase(path)
    const commit = createGroupCommit(database)
    const stores = createFacilitatorStores(database, commit, createSql(database, commit))
    // The holders of older leases have ended.
    await stores.deliveries.dropLeases()
    const onFault = (err: unknown) => log.warn({ err }, 'the upkeep of the database failed')
    const checkpoints = startCheckpoints({ database, commit, onFault })
    const leases = createLeaseKeeper(createSoleLeases(), log)
    return {
      stores,
      leases,
      async close() {
        await leases.stop()
        await checkpoints.stop()
        await commit.close()
        database.close()
        unlock()
      },
    }
  } catch (error) {
    unlock()
    throw error
  }
}
