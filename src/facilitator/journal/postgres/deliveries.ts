import { CopyError } from '../../../sql/errors.js'
import { type Database, openDatabase } from '../../../sql/postgres/database.js'
import { clockMs } from '../../../sql/postgres/sql.js'
import {
  type DeliveryLease,
  type DeliveryStore,
  MAX_KEYS_OF_JOB,
  RESTORED_KEY,
} from '../deliveries.js'
import { columnsOf, inGroups } from './groups.js'

/** A success that has left. `now` is in Unix milliseconds. */
interface Answered {
  jobId: string
  token: string
  key: string | null
  now: number
}

export function createDeliveryStore(database: Database): DeliveryStore {
  const findIdempotencyKey = async (key: string) => {
    const [row] = await database.rows<{ job_id: string }>(
      'SELECT job_id FROM idempotency_keys WHERE key = $1',
      [key],
    )
    return row?.job_id
  }
  const grant = inGroups(
    async (asked: readonly { jobId: string; token: string; leaseMs: number }[]) => {
      // With its own token a lease is renewed, or the answer to the first try was lost.
      const rows = await database.rows<{ token: string }>(
        `UPDATE jobs SET delivery_token = a.token, delivery_until = ${clockMs} + a.lease_ms
       FROM unnest($1::text[], $2::text[], $3::bigint[]) AS a (id, token, lease_ms)
       WHERE jobs.id = a.id AND state = 'confirmed' AND delivered_at IS NULL
         AND (delivery_until IS NULL OR delivery_until <= ${clockMs} OR delivery_token = a.token)
       RETURNING a.token`,
        columnsOf(asked.map(({ jobId, token, leaseMs }) => [jobId, token, leaseMs])),
      )
      const tokens = new Set(rows.map(({ token }) => token))
      return asked.map(({ token }) => tokens.has(token))
    },
  )
  const complete = inGroups(async (answered: readonly Answered[]) => {
    await database.run(
      `UPDATE jobs SET delivered_at = a.at, delivered_key = a.key, delivery_token = NULL, delivery_until = NULL
       FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS a (id, token, key, at)
       WHERE jobs.id = a.id AND delivered_at IS NULL AND delivery_token = a.token`,
      columnsOf(answered.map(({ jobId, token, key, now }) => [jobId, token, key, now])),
    )
    return answered.map(() => undefined)
  })
  return {
    async leaseDelivery(jobId, token, leaseMs): Promise<DeliveryLease> {
      if (await grant({ jobId, token, leaseMs })) return { state: 'granted' }
      const [row] = await database.rows<{
        left_ms: number
        delivered_at: number | null
        delivered_key: string | null
      }>(
        `SELECT greatest(0, coalesce(delivery_until, 0) - ${clockMs}) AS left_ms, delivered_at, delivered_key
         FROM jobs WHERE id = $1`,
        [jobId],
      )
      return row?.delivered_at == null
        ? { state: 'leased', leftMs: row?.left_ms ?? 0 }
        : { state: 'delivered', key: row.delivered_key }
    },
    completeDelivery: (jobId, token, key, now) => complete({ jobId, token, key, now }),
    async releaseDelivery(jobId, token) {
      await database.run(
        'UPDATE jobs SET delivery_token = NULL, delivery_until = NULL WHERE id = $1 AND delivery_token = $2',
        [jobId, token],
      )
    },
    // Other processes may be answering at this moment; the leases of dead ones lapse by themselves.
    dropLeases: async () => {},
    async bindIdempotencyKey(key, jobId, now) {
      await database.run(
        `INSERT INTO idempotency_keys (key, job_id, created_at) SELECT $1, $2, $3::bigint
         WHERE (SELECT count(*) FROM idempotency_keys WHERE job_id = $2) < ${MAX_KEYS_OF_JOB}
         ON CONFLICT DO NOTHING`,
        [key, jobId, now],
      )
      return (await findIdempotencyKey(key)) ?? jobId
    },
    findIdempotencyKey,
    forgetIdempotencyKeys: (before, limit) =>
      database.run(
        `DELETE FROM idempotency_keys WHERE key IN (
           SELECT key FROM idempotency_keys WHERE created_at < $1 ORDER BY created_at LIMIT $2)`,
        [before, limit],
      ),
  }
}

/**
 * Marks a restored database, as `arcus restore` does with a SQLite file: a payment that was not yet answered with success
 * when the backup was made may have been since. Resolves with the number of marked payments. Rejects with
 * `StoreUnavailableError`, and with `CopyError` while a service is connected.
 */
export async function markRestored(url: string, actor: string): Promise<number> {
  const database = openDatabase({ url, poolSize: 1 })
  try {
    const services = await database.rows(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'arcus'
         AND pid <> pg_backend_pid()`,
    )
    if (services.length > 0)
      throw new CopyError('The database is in use: stop every service first.')
    // A signed transaction may have landed since, even if no node had taken it by then.
    await database.run(
      `UPDATE jobs SET state = 'submitted', "transaction" = (
         SELECT max(hash) FROM attempt_jobs WHERE job_id = jobs.id)
       WHERE state = 'queued' AND id IN (SELECT job_id FROM attempt_jobs)`,
    )
    await database.run(
      `INSERT INTO audit (at, actor, action, subject, details)
       VALUES (${clockMs}, $1, 'restore', 'this database', '')`,
      [actor],
    )
    return await database.run(
      `UPDATE jobs SET delivered_at = ${clockMs}, delivered_key = $1 WHERE delivered_at IS NULL`,
      [RESTORED_KEY],
    )
  } finally {
    await database.close()
  }
}
