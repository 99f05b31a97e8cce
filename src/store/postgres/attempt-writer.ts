import type { GasBearer } from '../budgets.js'
import { JobsTakenError } from '../leases.js'
import { attemptValues } from '../rows/settlement-rows.js'
import type { Attempt } from '../settlement-journal.js'
import { reserveGas } from './budgets.js'
import type { Queries } from './database.js'
import { requireLease } from './lease-check.js'

/** Keeps a signed transaction, inside a transaction: only under the lane's lease, and only with this process's jobs. */
export async function recordAttempt(
  sql: Queries,
  worker: string,
  attempt: Attempt,
  epoch: number,
  bearers: readonly GasBearer[],
): Promise<void> {
  const { hash, network, relayer, relayerNonce, createdAt, jobIds } = attempt
  await requireLease(sql, worker, { network, relayer, epoch })
  await requireJobs(sql, worker, jobIds)
  await sql.run(
    `INSERT INTO attempts (hash, network, relayer, relayer_nonce, raw_transaction, gas_limit, max_fee_per_gas,
       max_priority_fee_per_gas, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (hash) DO UPDATE SET is_open = 1`,
    attemptValues(attempt),
  )
  await reserveGas(sql, attempt, bearers)
  if (jobIds.length > 0) {
    await sql.run(
      `WITH member AS (
         INSERT INTO attempt_jobs (hash, position, job_id)
         SELECT $1, position - 1, id FROM unnest($2::text[]) WITH ORDINALITY AS j (id, position)
         ON CONFLICT DO NOTHING)
       UPDATE jobs SET state = 'submitted', "transaction" = $1, updated_at = $3,
         delivered_at = CASE WHEN state = 'submitted' THEN delivered_at END,
         delivered_key = CASE WHEN state = 'submitted' THEN delivered_key END
       WHERE id = ANY($2) AND state IN ('queued', 'submitted')`,
      [hash, jobIds, createdAt],
    )
  }
  await sql.run(
    `INSERT INTO lanes (network, relayer, next_nonce) VALUES ($1, $2, $3)
     ON CONFLICT (network, relayer) DO UPDATE SET next_nonce = greatest(lanes.next_nonce, excluded.next_nonce)`,
    [network, relayer, relayerNonce + 1],
  )
}

/** Rejects with `JobsTakenError` when another process works on some of them; else nobody can take them meanwhile. */
async function requireJobs(sql: Queries, worker: string, jobIds: readonly string[]): Promise<void> {
  if (jobIds.length === 0) return
  const own = await sql.rows<{ id: string }>(
    'SELECT id FROM jobs WHERE id = ANY($1) AND worker = $2 ORDER BY id FOR UPDATE',
    [jobIds, worker],
  )
  if (own.length === jobIds.length) return
  const ids = new Set(own.map(({ id }) => id))
  throw new JobsTakenError(jobIds.filter((id) => !ids.has(id)))
}
