import { createLeaseKeeper } from '../../../sql/lease-keeper.js'
import { createSoleLeases } from '../../../sql/leases.js'
import type { Sql } from '../../../sql/sql.js'
import { startCheckpoints } from '../../../sql/sqlite/checkpoints.js'
import { openDatabase, type SqliteDatabase } from '../../../sql/sqlite/database.js'
import { createGroupCommit, type GroupCommit } from '../../../sql/sqlite/group-commit.js'
import { lockForService } from '../../../sql/sqlite/service-lock.js'
import { createSql } from '../../../sql/sqlite/sql.js'
import { createBlockStore } from '../blocks.js'
import { createBudgetStore } from '../budgets.js'
import { createCustomerStore } from '../customers.js'
import { createDeliveryStore } from '../deliveries.js'
import { createFailedJobs } from '../failed-jobs.js'
import { createOldBooks } from '../old-books.js'
import type { JobSharing } from '../settlement-journal.js'
import { createShrinker } from '../shrinking.js'
import { createSettlementJournal, type JobRow, jobColumns, toJob } from '../sql-journal.js'
import type { FacilitatorStores } from '../stores.js'
import { createJournalCommits } from './commits.js'

/** Creates the stores of the facilitator over a database that is open. */
export function createFacilitatorStores(
  database: SqliteDatabase,
  commit: GroupCommit,
  sql: Sql,
): FacilitatorStores {
  return {
    journal: createSettlementJournal(sql, createJournalCommits(database, commit)),
    sharing: createJobSharing(database),
    deliveries: createDeliveryStore(sql),
    budgets: createBudgetStore(sql),
    customers: createCustomerStore(sql),
    blocks: createBlockStore(sql),
    shrinker: createShrinker(sql),
    failedJobs: createFailedJobs(sql),
    oldBooks: createOldBooks(sql),
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

/** Shares jobs where one process has the file: it takes all open jobs at its start, and no others ever come. */
export function createJobSharing(database: SqliteDatabase): JobSharing {
  const open = database.prepare(
    `SELECT ${jobColumns} FROM jobs WHERE network = ? AND state IN ('queued', 'submitted') ORDER BY created_at`,
  )
  const ofLane = database.prepare(
    `SELECT ${jobColumns} FROM jobs WHERE state IN ('queued', 'submitted') AND id IN (
       SELECT m.job_id FROM attempts a JOIN attempt_jobs m ON m.hash = a.hash
       WHERE a.network = ? AND a.relayer = ? AND a.is_open = 1) ORDER BY created_at`,
  )
  const isDecided = database
    .prepare(`SELECT 1 FROM jobs WHERE id = ? AND state IN ('confirmed', 'failed')`)
    .pluck()
  const jobs = (rows: unknown[]) => (rows as JobRow[]).map(toJob)
  const taken = new Set<string>()

  return {
    isSole: true,
    offer: async () => {},
    takeOffered: async () => [],
    takeOfLane: async (network, relayer) => jobs(ofLane.all(network, relayer)),
    async takeOrphans(network, known) {
      if (taken.has(network)) return []
      taken.add(network)
      const own = new Set(known)
      return jobs(open.all(network)).filter(({ id }) => !own.has(id))
    },
    withdraw: async () => undefined,
    decidedAmong: async (jobIds) => jobIds.filter((id) => isDecided.get(id) !== undefined),
  }
}
