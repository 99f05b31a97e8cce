import type { MerchantRoster } from '../merchant-roster.js'
import { type MerchantRow, toMerchant } from '../rows/listing-rows.js'
import type { Database } from './database.js'

export function createMerchantRoster(database: Database): MerchantRoster {
  return {
    async scan(afterId, limit) {
      const rows = await database.rows<MerchantRow & { endpoint_count: number }>(
        `SELECT m.*, (SELECT count(*) FROM endpoints e WHERE e.merchant_id = m.id) AS endpoint_count
         FROM merchants m WHERE m.id > $1 ORDER BY m.id LIMIT $2`,
        [afterId, limit],
      )
      return rows.map((row) => ({ merchant: toMerchant(row), endpointCount: row.endpoint_count }))
    },
  }
}
