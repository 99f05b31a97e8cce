import type { DeliveryLease, DeliveryStore } from '../deliveries.js'
import type { Database } from './database.js'

export function createDeliveryStore(database: Database): DeliveryStore {
  const findIdempotencyKey = async (key: string) => {
    const [row] = await database.rows<{ job_id: string }>(
      'SELECT job_id FROM idempotency_keys WHERE key = $1',
      [key],
    )
    return row?.job_id
  }
  return {
    async leaseDelivery(jobId, token, now, until): Promise<DeliveryLease> {
      // Its own token: the answer to the first try was lost.
      const granted = await database.run(
        `UPDATE jobs SET delivery_token = $1, delivery_until = $2
         WHERE id = $3 AND state = 'confirmed' AND delivered_at IS NULL
           AND (delivery_until IS NULL OR delivery_until <= $4 OR delivery_token = $1)`,
        [token, until, jobId, now],
      )
      if (granted === 1) return { state: 'granted' }
      const [row] = await database.rows<{
        delivery_until: number | null
        delivered_at: number | null
        delivered_key: string | null
      }>('SELECT delivery_until, delivered_at, delivered_key FROM jobs WHERE id = $1', [jobId])
      return row?.delivered_at == null
        ? { state: 'leased', until: row?.delivery_until ?? now }
        : { state: 'delivered', key: row.delivered_key }
    },
    async completeDelivery(jobId, token, key, now) {
      await database.run(
        `UPDATE jobs SET delivered_at = $1, delivered_key = $2, delivery_token = NULL, delivery_until = NULL
         WHERE id = $3 AND delivered_at IS NULL AND delivery_token = $4`,
        [now, key, jobId, token],
      )
    },
    async releaseDelivery(jobId, token) {
      await database.run(
        'UPDATE jobs SET delivery_token = NULL, delivery_until = NULL WHERE id = $1 AND delivery_token = $2',
        [jobId, token],
      )
    },
    // Others may be answering at this moment: a dead process's leases lapse by themselves.
    dropLeases: async () => {},
    async bindIdempotencyKey(key, jobId, now) {
      await database.run(
        'INSERT INTO idempotency_keys (key, job_id, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [key, jobId, now],
      )
      return (await findIdempotencyKey(key)) as string
    },
    findIdempotencyKey,
  }
}
