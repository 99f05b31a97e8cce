import type { Database } from '../../../sql/sqlite/database.js'
import type { GroupCommit } from '../../../sql/sqlite/group-commit.js'
import { type DeliveryLease, type DeliveryStore, MAX_KEYS_OF_JOB } from '../deliveries.js'

interface DeliveryRow {
  delivery_token: string | null
  delivery_until: number | null
  delivered_at: number | null
  delivered_key: string | null
}

export function createDeliveryStore(database: Database, commit: GroupCommit): DeliveryStore {
  const lease = database.prepare(
    `UPDATE jobs SET delivery_token = ?, delivery_until = ?
     WHERE id = ? AND state = 'confirmed' AND delivered_at IS NULL
       AND (delivery_until IS NULL OR delivery_until <= ? OR delivery_token = ?)`,
  )
  const find = database.prepare(
    'SELECT delivery_token, delivery_until, delivered_at, delivered_key FROM jobs WHERE id = ?',
  )
  const complete = database.prepare(
    `UPDATE jobs SET delivered_at = ?, delivered_key = ?, delivery_token = NULL, delivery_until = NULL
     WHERE id = ? AND delivered_at IS NULL AND delivery_token = ?`,
  )
  const release = database.prepare(
    `UPDATE jobs SET delivery_token = NULL, delivery_until = NULL WHERE id = ? AND delivery_token = ?`,
  )
  const dropAll = database.prepare(
    'UPDATE jobs SET delivery_token = NULL, delivery_until = NULL WHERE delivery_token IS NOT NULL',
  )
  const insertKey = database.prepare(
    `INSERT INTO idempotency_keys (key, job_id, created_at) SELECT @key, @jobId, @now
     WHERE (SELECT count(*) FROM idempotency_keys WHERE job_id = @jobId) < ${MAX_KEYS_OF_JOB}
     ON CONFLICT DO NOTHING`,
  )
  const forgetKeys = database.prepare(
    `DELETE FROM idempotency_keys WHERE key IN (
       SELECT key FROM idempotency_keys WHERE created_at < ? ORDER BY created_at LIMIT ?)`,
  )
  const findKey = database.prepare('SELECT job_id FROM idempotency_keys WHERE key = ?')
  const keyed = (key: string) => (findKey.get(key) as { job_id: string } | undefined)?.job_id

  return {
    leaseDelivery: (jobId, token, leaseMs) =>
      commit.write((): DeliveryLease => {
        const now = Date.now()
        const { changes } = lease.run(token, now + leaseMs, jobId, now, token)
        if (changes === 1) return { state: 'granted' }
        const row = find.get(jobId) as DeliveryRow
        return row.delivered_at === null
          ? { state: 'leased', leftMs: Math.max(0, (row.delivery_until ?? now) - now) }
          : { state: 'delivered', key: row.delivered_key }
      }),
    completeDelivery: (jobId, token, key, now) =>
      commit.write(() => {
        complete.run(now, key, jobId, token)
      }),
    releaseDelivery: (jobId, token) =>
      commit.write(() => {
        release.run(jobId, token)
      }),
    dropLeases: () =>
      commit.write(() => {
        dropAll.run()
      }),
    bindIdempotencyKey: (key, jobId, now) =>
      commit.write(() => {
        const bound = keyed(key)
        if (bound === undefined) insertKey.run({ key, jobId, now })
        return bound ?? jobId
      }),
    findIdempotencyKey: async (key) => keyed(key),
    forgetIdempotencyKeys: (before, limit) =>
      commit.write(() => forgetKeys.run(before, limit).changes),
  }
}
