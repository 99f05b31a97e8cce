import type { PostgresDatabase } from '../../../sql/postgres/database.js'
import { clockMs } from '../../../sql/postgres/sql.js'
import type { Sql } from '../../../sql/sql.js'
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

/** Creates the stores of the facilitator for the process `worker`, over a database that others use too. */
export function createFacilitatorStores(
  database: PostgresDatabase,
  sql: Sql,
  worker: string,
): FacilitatorStores {
  return {
    journal: createSettlementJournal(sql, createJournalCommits(database, worker)),
    sharing: createJobSharing(database, worker),
    deliveries: createDeliveryStore(sql),
    budgets: createBudgetStore(sql, { isRemote: true }),
    customers: createCustomerStore(sql),
    blocks: createBlockStore(sql),
    shrinker: createShrinker(sql),
    failedJobs: createFailedJobs(sql),
    oldBooks: createOldBooks(sql),
  }
}

/** A process may have claimed a job a moment ago and not know it yet. */
const UNKNOWN_AFTER_MS = 5_000
/** A lane whose lease ended longer ago belongs to nobody: its key is not in the settings of any process any more. */
const ABANDONED = `interval '15 seconds'`

function createJobSharing(database: PostgresDatabase, worker: string): JobSharing {
  const jobs = async (text: string, values: readonly unknown[]) =>
    (await database.rows<JobRow>(text, values)).map(toJob)

  return {
    isSole: false,
    async offer(jobIds) {
      await database.run(
        `UPDATE jobs SET worker = NULL WHERE id = ANY($1) AND worker = $2 AND is_open`,
        [jobIds, worker],
      )
    },
    async takeOffered(network, limit, mayTake = () => true) {
      const offered = await jobs(
        // Payers take turns. What stands before the nonce in a key names the payer.
        `SELECT ${jobColumns} FROM jobs WHERE id IN (
           SELECT id FROM jobs WHERE network = $1 AND worker IS NULL AND is_open
           ORDER BY row_number() OVER (
             PARTITION BY regexp_replace(key, '/[^/]*$', '') ORDER BY created_at), created_at
           LIMIT $2)`,
        [network, limit],
      )
      const ids = offered.filter(mayTake).map(({ id }) => id)
      if (ids.length === 0) return []
      // Another process may have been quicker with some of them.
      return jobs(
        `UPDATE jobs SET worker = $1 WHERE id IN (
           SELECT id FROM jobs WHERE id = ANY($2) AND worker IS NULL AND is_open
           FOR UPDATE SKIP LOCKED)
         RETURNING ${jobColumns}`,
        [worker, ids],
      )
    },
    takeOfLane: (network, relayer) =>
      jobs(
        `UPDATE jobs SET worker = $1 WHERE is_open AND id IN (
           SELECT m.job_id FROM attempts a JOIN attempt_jobs m ON m.hash = a.hash
           WHERE a.network = $2 AND a.relayer = $3 AND a.is_open = 1)
         RETURNING ${jobColumns}`,
        [worker, network, relayer],
      ),
    takeOrphans: (network, known, limit) =>
      jobs(
        `UPDATE jobs SET worker = $1 WHERE id IN (
           SELECT j.id FROM jobs j
           WHERE j.network = $2 AND j.is_open AND j.worker IS NOT NULL
             AND CASE WHEN j.worker = $1
               THEN j.updated_at < ${clockMs} - ${UNKNOWN_AFTER_MS} AND j.id <> ALL($3)
               ELSE NOT EXISTS (SELECT 1 FROM replicas r
                 WHERE r.id = j.worker AND r.alive_until > clock_timestamp()) END
             AND NOT EXISTS (
               SELECT 1 FROM attempt_jobs m JOIN attempts a ON a.hash = m.hash AND a.is_open = 1
                 JOIN leases l ON l.name = 'lane/' || a.network || '/' || a.relayer
               WHERE m.job_id = j.id AND l.owner IS DISTINCT FROM $1
                 AND l.lease_until > clock_timestamp() - ${ABANDONED})
           ORDER BY j.created_at LIMIT $4 FOR UPDATE SKIP LOCKED)
         RETURNING ${jobColumns}`,
        [worker, network, known, limit],
      ),
    async withdraw(job, { state, reason, message }, now) {
      const [row] = await jobs(
        `UPDATE jobs SET state = $1, reason = $2, message = $3, gas_cost = '0', resource = NULL, updated_at = $4, worker = $5
         WHERE id = $6 AND round = $7 AND state = 'queued' AND "transaction" IS NULL
           AND NOT EXISTS (SELECT 1 FROM attempt_jobs m JOIN attempts a ON a.hash = m.hash
             WHERE m.job_id = jobs.id AND a.is_open = 1)
         RETURNING ${jobColumns}`,
        [state, reason, message, now, worker, job.id, job.round],
      )
      return row
    },
    async decidedAmong(jobIds) {
      const rows = await database.rows<{ id: string }>(
        `SELECT id FROM jobs WHERE id = ANY($1) AND NOT is_open`,
        [jobIds],
      )
      return rows.map(({ id }) => id)
    },
  }
}
