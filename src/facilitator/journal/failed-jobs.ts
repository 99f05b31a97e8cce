import { run, type Sql } from '../../sql/sql.js'
import type { Job } from './settlement-journal.js'
import { type JobRow, jobColumns, toJob } from './sql-journal.js'

/** The failed payments of the journal after their end: they are looked at once more, and those that nothing was sent for go. */
export interface FailedJobs {
  /** Returns the next failed payments that ended before a time (Unix seconds) and were not looked at since. */
  unread(network: string, before: number, after: FailedPlace, limit: number): Promise<Job[]>
  /** Notes what the chain says of a failed payment in a block after its end, unless it was opened again meanwhile. */
  note(
    job: Pick<Job, 'id' | 'round'>,
    found: { unusedBlock: number } | { usedBlock: number; transaction: Job['transaction'] },
  ): Promise<void>
  /** Deletes failed jobs that ended before a time (Unix seconds), unused, and were never in a transaction. Resolves to their number. */
  forget(before: number, limit: number): Promise<number>
}

/** A place in the order of `unread`. */
export interface FailedPlace {
  expiresAt: number
  id: string
}

const unreadRows = 'unread_from IS NOT NULL'

/** Creates the store over the rows that both engines share. */
export function createFailedJobs(sql: Sql): FailedJobs {
  return {
    async unread(network, before, { expiresAt, id }, limit) {
      const rows = await sql.all<JobRow>(
        `SELECT ${jobColumns} FROM jobs WHERE ${unreadRows} AND unread_from < $1
           AND (unread_from, id) > ($2, $3) AND network = $4 AND kind IN ('exact', 'permit2')
         ORDER BY unread_from, id LIMIT ${limit}`,
        [before, expiresAt, id, network],
      )
      return rows.map(toJob)
    },
    async note({ id, round }, found) {
      const isUsed = 'usedBlock' in found
      const text = isUsed
        ? `UPDATE jobs SET used_block = $1, "transaction" = COALESCE($2, "transaction")
           WHERE id = $3 AND round = $4 AND ${unreadRows}`
        : `UPDATE jobs SET unused_block = $1 WHERE id = $2 AND round = $3 AND ${unreadRows}`
      const values = isUsed
        ? [found.usedBlock, found.transaction, id, round]
        : [found.unusedBlock, id, round]
      await sql.run(text, values, { isDurable: false })
    },
    async forget(before, limit) {
      const rows = await sql.all<{ id: string }>(
        `SELECT id FROM jobs WHERE unused_from < $1
           AND NOT EXISTS (SELECT 1 FROM attempt_jobs m WHERE m.job_id = jobs.id)
         ORDER BY unused_from LIMIT ${limit}`,
        [before],
      )
      if (rows.length === 0) return 0
      const ids = rows.map(({ id }) => id)
      await sql.transaction(function* () {
        yield* run(`DELETE FROM idempotency_keys WHERE ${sql.among('job_id', 1)}`, [ids])
        return yield* run(
          `DELETE FROM jobs WHERE ${sql.among('id', 1)} AND unused_from IS NOT NULL`,
          [ids],
        )
      })
      return ids.length
    },
  }
}
