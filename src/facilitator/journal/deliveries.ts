import { asJson, type Sql } from '../../sql/sql.js'

/** The right to answer one caller with success. Exactly one of `complete` and `release` must follow. */
export interface DeliveryRight {
  /** Returns whether the right still holds. It must be called right before the answer is written. */
  isHeld(): Promise<boolean>
  /** Records that the answer has left completely. Resolves once this is stored, however long the store takes. */
  complete(): Promise<void>
  /** Gives the right back because the connection closed first; the next caller may be answered. */
  release(): Promise<void>
}

/** The answer of the store to a request that wants to answer a payment with success. */
type DeliveryLease =
  | { state: 'granted' }
  /** Success was answered before; `key` is the `Idempotency-Key` of that request. */
  | { state: 'delivered'; key: string | null }
  /** Another answer is being written; its lease lapses in this many milliseconds. */
  | { state: 'leased'; leftMs: number }

/**
 * The `key` of a payment that was open, or not answered with success, when the database was copied: it may have been
 * answered since. It is shorter than any `Idempotency-Key` may be.
 */
export const RESTORED_KEY = 'restored'

/** Keys of one job: a repeated settle sends the same key. Calls at the same moment may add a few more. */
const MAX_KEYS_OF_JOB = 4

interface LeaseWish {
  jobId: string
  token: string
  leaseMs: number
}

/** A success that has left. `now` is in Unix milliseconds. */
interface DeliveredAnswer {
  jobId: string
  token: string
  key: string | null
  now: number
}

interface DeliveryRow {
  leftMs: number
  deliveredAt: number | null
  deliveredKey: string | null
}

/** Leases the right to answer a payment with success, once per job, by compare-and-set. */
export function createDeliveryStore(sql: Sql) {
  // With its own token a lease is renewed, or the answer to the first try was lost.
  const granting = `UPDATE jobs SET delivery_token = a.token, delivery_until = ${sql.now} + a.lease_ms
    FROM ${sql.records('a', 1, { id: 'text', token: 'text', lease_ms: 'bigint' })}
    WHERE jobs.id = a.id AND state = 'confirmed' AND delivered_at IS NULL
      AND (delivery_until IS NULL OR delivery_until <= ${sql.now} OR delivery_token = a.token)
    RETURNING delivery_token AS token`
  const grant = sql.grouped(async (wishes: readonly LeaseWish[]) => {
    const asked = wishes.map(({ jobId, token, leaseMs }) => ({
      id: jobId,
      token,
      lease_ms: leaseMs,
    }))
    const rows = await sql.change<{ token: string }>(granting, [asJson(asked)])
    const tokens = new Set(rows.map(({ token }) => token))
    return wishes.map(({ token }) => tokens.has(token))
  })
  const completing = `UPDATE jobs SET delivered_at = a.at, delivered_key = a.key, delivery_token = NULL, delivery_until = NULL
    FROM ${sql.records('a', 1, { id: 'text', token: 'text', key: 'text', at: 'bigint' })}
    WHERE jobs.id = a.id AND delivered_at IS NULL AND delivery_token = a.token`
  const complete = sql.grouped(async (answered: readonly DeliveredAnswer[]) => {
    const rows = answered.map(({ jobId, token, key, now }) => ({ id: jobId, token, key, at: now }))
    await sql.run(completing, [asJson(rows)])
    return answered.map(() => undefined)
  })
  const reading = `SELECT coalesce(delivery_until, 0) - ${sql.now} AS "leftMs", delivered_at AS "deliveredAt",
      delivered_key AS "deliveredKey"
    FROM jobs WHERE id = $1`
  const findIdempotencyKey = async (key: string): Promise<string | undefined> => {
    const text = 'SELECT job_id AS "jobId" FROM idempotency_keys WHERE key = $1'
    return (await sql.get<{ jobId: string }>(text, [key]))?.jobId
  }

  return {
    /** Leases the right for so many milliseconds of the store's own clock. With the token of a lease, it renews it. */
    async leaseDelivery(jobId: string, token: string, leaseMs: number): Promise<DeliveryLease> {
      if (await grant({ jobId, token, leaseMs })) return { state: 'granted' }
      const row = await sql.get<DeliveryRow>(reading, [jobId])
      return row?.deliveredAt == null
        ? { state: 'leased', leftMs: Math.max(0, row?.leftMs ?? 0) }
        : { state: 'delivered', key: row.deliveredKey }
    },
    /** `now` is in Unix milliseconds. */
    completeDelivery: (
      jobId: string,
      token: string,
      key: string | null,
      now: number,
    ): Promise<void> => complete({ jobId, token, key, now }),
    async releaseDelivery(jobId: string, token: string): Promise<void> {
      await sql.run(
        'UPDATE jobs SET delivery_token = NULL, delivery_until = NULL WHERE id = $1 AND delivery_token = $2',
        [jobId, token],
      )
    },
    /** Lets every lease lapse. Only a process that is alone does so, at its start: the holders of older leases have ended. */
    async dropLeases(): Promise<void> {
      await sql.run(
        'UPDATE jobs SET delivery_token = NULL, delivery_until = NULL WHERE delivery_token IS NOT NULL',
      )
    },
    /**
     * Binds the key to the job on first use and returns the job that the key is bound to. A job with `MAX_KEYS_OF_JOB` keys
     * takes no further key: then the result is the job itself, as for a key that was never used.
     */
    async bindIdempotencyKey(key: string, jobId: string, now: number): Promise<string> {
      await sql.run(
        `INSERT INTO idempotency_keys (key, job_id, created_at) SELECT $1, $2, CAST($3 AS BIGINT)
         WHERE (SELECT count(*) FROM idempotency_keys WHERE job_id = $2) < ${MAX_KEYS_OF_JOB}
         ON CONFLICT DO NOTHING`,
        [key, jobId, now],
      )
      return (await findIdempotencyKey(key)) ?? jobId
    },
    findIdempotencyKey,
    /** Forgets up to `limit` keys that were bound before `before` (Unix milliseconds); resolves with their number. */
    forgetIdempotencyKeys: (before: number, limit: number): Promise<number> =>
      sql.run(
        `DELETE FROM idempotency_keys WHERE key IN (
           SELECT key FROM idempotency_keys WHERE created_at < $1 ORDER BY created_at LIMIT $2)`,
        [before, limit],
      ),
  }
}

export type DeliveryStore = ReturnType<typeof createDeliveryStore>

/** Returns the sentence about a payment whose success was delivered to a caller with the Idempotency-Key `key`. */
export function describeDelivered(
  transaction: string | null,
  key: string | null | undefined,
): string {
  return key === RESTORED_KEY
    ? `This payment settled in ${transaction}. The database was restored since, so Arcus cannot say whether it was answered with success before.`
    : `This payment settled in ${transaction} and was already answered with success.`
}
