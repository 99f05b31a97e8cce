import { insertAll, type Sql } from '../../sql/sql.js'
import { RESTORED_KEY } from './deliveries.js'
import type { Job, NewJob, Outcome } from './settlement-journal.js'

/** A job as the chain shows it: its transfer is in a block. */
export interface RebuiltJob {
  job: NewJob
  outcome: Outcome & { state: 'confirmed'; transferLog: number }
  /** The time of its block, Unix milliseconds. */
  minedAt: number
}

const insertion = {
  table: 'jobs',
  order: ['kind', 'network', 'key'],
  rest: 'ON CONFLICT DO NOTHING',
}

const toRow = ({ job, outcome, minedAt }: RebuiltJob, now: number) => ({
  id: job.id,
  kind: job.kind,
  network: job.network,
  key: job.key,
  digest: job.digest,
  to: job.to,
  calldata: job.calldata,
  details: job.details,
  seen_block: job.seenBlock,
  expires_at: job.expiresAt,
  state: outcome.state,
  created_at: minedAt,
  updated_at: minedAt,
  transaction: outcome.transaction,
  block_number: outcome.blockNumber,
  gas_cost: outcome.gasCost?.toString() ?? null,
  transfer_log: outcome.transferLog,
  delivered_at: now,
  delivered_key: RESTORED_KEY,
})

/**
 * Marks a row as confirmed. If it is about the same authorization, it keeps its details, which may say more than the chain
 * does.
 */
const mending = `UPDATE jobs SET state = 'confirmed', round = round + 1, reason = NULL, message = NULL,
    details = CASE WHEN digest = $1 THEN details ELSE $2 END, digest = $1, calldata = $3, expires_at = $4,
    "transaction" = $5, block_number = $6, gas_cost = $7, transfer_log = $8, updated_at = $9,
    unused_block = NULL, used_block = NULL,
    delivered_key = CASE WHEN delivered_at IS NULL THEN $10 ELSE delivered_key END,
    delivered_at = COALESCE(delivered_at, $11)
  WHERE id = $12 AND round = $13 AND state = 'failed' AND NOT EXISTS (
    SELECT 1 FROM jobs AS other
    WHERE other."transaction" = $5 AND other.state = 'confirmed' AND other.transfer_log = $8
      AND other.network = jobs.network)`

/**
 * Puts back what the chain shows and the journal lost. Every job counts as answered with success, because it may have been
 * before the loss. `now` is in Unix milliseconds.
 */
export function createRebuiltJobs(sql: Sql) {
  return {
    /** Inserts those of these jobs whose key and transfer no row has; resolves with their number. */
    add: (jobs: readonly RebuiltJob[], now: number): Promise<number> =>
      sql.transaction(() =>
        insertAll(
          insertion,
          jobs.map((job) => toRow(job, now)),
        ),
      ),
    /**
     * Makes a failed row the confirmed one that the chain shows. Resolves with whether it did: not for a row that has changed
     * since it was read, nor where the transfer backs another row.
     */
    async mend(
      { id, round }: Pick<Job, 'id' | 'round'>,
      { job, outcome, minedAt }: RebuiltJob,
      now: number,
    ): Promise<boolean> {
      const changes = await sql.run(mending, [
        job.digest,
        job.details,
        job.calldata,
        job.expiresAt,
        outcome.transaction,
        outcome.blockNumber,
        outcome.gasCost?.toString() ?? null,
        outcome.transferLog,
        minedAt,
        RESTORED_KEY,
        now,
        id,
        round,
      ])
      return changes === 1
    },
  }
}

export type RebuiltJobs = ReturnType<typeof createRebuiltJobs>
