import { insertValues, type JobRow, newRow, toJob } from '../rows/settlement-rows.js'
import type { Claim, Job, NewJob } from '../settlement-journal.js'
import type { Database, Queries } from './database.js'
import { clockMs } from './deliveries.js'

export async function findByKey(sql: Queries, kind: string, network: string, key: string) {
  const [row] = await sql.rows<JobRow>(
    `SELECT *, ${clockMs} AS read_at FROM jobs WHERE kind = $1 AND network = $2 AND key = $3`,
    [kind, network, key],
  )
  return toJob(row)
}

/** Inserts a queued job of this process, with its idempotency key, or tells what stands in the way. */
export async function claim(
  database: Database,
  worker: string,
  job: NewJob,
  idempotencyKey: string | undefined,
  now: number,
): Promise<Claim> {
  const claimOn = async (sql: Queries): Promise<Claim> => {
    if (await insert(sql, worker, job, now)) return { state: 'claimed', job: newRow(job, now) }
    const holder = (await findByKey(sql, job.kind, job.network, job.key)) as Job
    // Its own row, when only the answer to the first insert was lost.
    return { state: holder.id === job.id ? 'claimed' : 'held', job: holder }
  }
  if (idempotencyKey === undefined) return claimOn(database)
  try {
    return await database.inTransaction(async (sql) => {
      const claimed = await claimOn(sql)
      if (claimed.state !== 'claimed') return claimed
      await sql.run(
        'INSERT INTO idempotency_keys (key, job_id, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [idempotencyKey, job.id, now],
      )
      const [bound] = await sql.rows<{ job_id: string }>(
        'SELECT job_id FROM idempotency_keys WHERE key = $1',
        [idempotencyKey],
      )
      // Thrown, so that the row that was inserted is rolled back.
      if (bound?.job_id !== job.id) throw new KeyConflict()
      return claimed
    })
  } catch (error) {
    if (error instanceof KeyConflict) return { state: 'keyConflict' }
    throw error
  }
}

class KeyConflict extends Error {}

/** Whether the row is new. */
export async function insert(
  sql: Queries,
  worker: string,
  job: NewJob,
  now: number,
): Promise<boolean> {
  const changes = await sql.run(
    `INSERT INTO jobs (id, kind, network, key, digest, "to", calldata, details, seen_block, expires_at,
       state, created_at, updated_at, worker)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
     ON CONFLICT (kind, network, key) DO NOTHING`,
    [...insertValues(job, now), worker],
  )
  return changes === 1
}
