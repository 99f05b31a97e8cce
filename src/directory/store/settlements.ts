import type { Hex } from 'viem'
import type { SqlReader } from '../../sql/sql.js'
import type { Activity } from './activity.js'

/** A payment that settled, as everybody may see it. */
export type SettledPayment = Pick<
  Activity,
  'id' | 'at' | 'network' | 'merchantId' | 'asset' | 'amount'
> & { transaction: Hex }

/** Reads the payments that settled, in the order in which they were kept. */
export function createSettlementReader(sql: SqlReader) {
  return {
    /** The number of the newest row of activity; 0 before the first. */
    async newestRow(): Promise<number> {
      const row = await sql.get<{ id: number | null }>('SELECT max(id) AS id FROM activity')
      return row?.id ?? 0
    },
    /** Looks through at most `limit` rows after this one. Payments of an owner to themselves are left out. */
    async settledAfter(
      row: number,
      limit: number,
    ): Promise<{ last: number; settled: SettledPayment[] }> {
      const end = await sql.get<{ last: number | null }>(
        `SELECT max(id) AS last FROM (SELECT id FROM activity WHERE id > $1 ORDER BY id LIMIT $2) AS page`,
        [row, limit],
      )
      const last = end?.last ?? null
      if (last === null) return { last: row, settled: [] }
      const rows = await sql.all<Omit<SettledPayment, 'amount'> & { amount: string }>(
        `SELECT id, at, network, merchant_id AS "merchantId", asset, amount, "transaction" FROM activity
         WHERE id > $1 AND id <= $2 AND state = 'settled' AND is_self = 0 AND "transaction" IS NOT NULL
         ORDER BY id`,
        [row, last],
      )
      return { last, settled: rows.map((it) => ({ ...it, amount: BigInt(it.amount) })) }
    },
  }
}

export type SettlementReader = ReturnType<typeof createSettlementReader>
