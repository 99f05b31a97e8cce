import type { Sql } from '../../sql/sql.js'

/** What a row holds: a list of answers of the facilitator, or one resource of a settled payment. */
export type OutboxKind = 'answers' | 'offer'

export interface OutboxRow {
  id: number
  /** JSON. */
  body: string
}

/** The answer of the catalog to an offered resource. */
interface OfferOutcome {
  key: string
  fingerprint: string
  /** A `BazaarStatus` as JSON. */
  status: string
  /** Unix milliseconds. */
  at: number
}

/** Rows that may wait for the directory: some minutes of answers, or a burst of new resources. */
const MAX_ROWS: Record<OutboxKind, number> = { answers: 1_000, offer: 5_000 }

/**
 * Keeps what the facilitator hands over to the directory, until that has taken it, and what the directory made of offers.
 * The directory may be on another thread, on another machine, or away.
 */
export function createOutbox(sql: Sql) {
  return {
    /** Adds a row, unless too many wait; resolves with whether it did. A power cut may lose it. */
    async append(kind: OutboxKind, body: string): Promise<boolean> {
      const changed = await sql.run(
        `INSERT INTO outbox (kind, body)
         SELECT $1, $2 WHERE (SELECT count(*) FROM outbox WHERE kind = $1) < $3`,
        [kind, body, MAX_ROWS[kind]],
        { isDurable: false },
      )
      return changed > 0
    },
    /** The oldest rows of a kind, in their order. */
    oldest: (kind: OutboxKind, limit: number): Promise<OutboxRow[]> =>
      sql.all<OutboxRow>('SELECT id, body FROM outbox WHERE kind = $1 ORDER BY id LIMIT $2', [
        kind,
        limit,
      ]),
    /** Removes rows that were taken. */
    async remove(ids: readonly number[]): Promise<void> {
      if (ids.length === 0) return
      await sql.run(`DELETE FROM outbox WHERE ${sql.among('id', 1)}`, [ids], { isDurable: false })
    },
    async noteOutcome({ key, fingerprint, status, at }: OfferOutcome): Promise<void> {
      await sql.run(
        `INSERT INTO offer_outcomes (key, fingerprint, status, at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status,
           at = excluded.at`,
        [key, fingerprint, status, at],
        { isDurable: false },
      )
    },
    outcomesOf: (keys: readonly string[]): Promise<OfferOutcome[]> =>
      sql.all<OfferOutcome>(
        `SELECT key, fingerprint, status, at FROM offer_outcomes WHERE ${sql.among('key', 1)}`,
        [keys],
      ),
    async forgetOutcomes(before: number): Promise<void> {
      await sql.run('DELETE FROM offer_outcomes WHERE at < $1', [before], { isDurable: false })
    },
  }
}

export type Outbox = ReturnType<typeof createOutbox>
