import type { MerchantRoster } from '../merchant-roster.js'
import { type MerchantRow, toMerchant } from '../rows/listing-rows.js'
import type { Database } from './database.js'

export function createMerchantRoster(database: Database): MerchantRoster {
  const scan = database.prepare(
    `SELECT m.*, (SELECT COUNT(*) FROM endpoints e WHERE e.merchant_id = m.id) AS endpoint_count
     FROM merchants m WHERE m.id > ? ORDER BY m.id LIMIT ?`,
  )
  return {
    async scan(afterId, limit) {
      const rows = scan.all(afterId, limit) as (MerchantRow & { endpoint_count: number })[]
      return rows.map((row) => ({ merchant: toMerchant(row), endpointCount: row.endpoint_count }))
    },
  }
}
