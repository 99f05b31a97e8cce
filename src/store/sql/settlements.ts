import type { SettledPayment, SettlementReader } from '../settlements.js'
import type { SqlReader } from './sql.js'

export function createSettlementReader(sql: SqlReader): SettlementReader {
  return {
    async newestRow() {
      const row = await sql.get<{ id: number | null }>('SELECT max(id) AS id FROM activity')
      return row?.id ?? 0
    },
    async settledAfter(row, limit) {
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
