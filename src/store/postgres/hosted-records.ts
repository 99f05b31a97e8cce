import type { HostedRecords } from '../hosted-records.js'
import type { Database } from './database.js'

export function createHostedRecords(database: Database): HostedRecords {
  return {
    async find(kind, id) {
      const [row] = await database.rows<{ body: string }>(
        'SELECT body FROM hosted_records WHERE kind = $1 AND id = $2',
        [kind, id],
      )
      return row?.body
    },
    async list(kind) {
      const rows = await database.rows<{ body: string }>(
        'SELECT body FROM hosted_records WHERE kind = $1 ORDER BY id',
        [kind],
      )
      return rows.map(({ body }) => body)
    },
    // Not tried twice: `update` may count.
    change: (kind, id, update) =>
      database.once.inTransaction(async (sql) => {
        // Also where there is no row yet that could be locked.
        await sql.run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`${kind}/${id}`])
        const [row] = await sql.rows<{ body: string }>(
          'SELECT body FROM hosted_records WHERE kind = $1 AND id = $2',
          [kind, id],
        )
        const next = update(row?.body)
        if (next === undefined) {
          await sql.run('DELETE FROM hosted_records WHERE kind = $1 AND id = $2', [kind, id])
        } else if (next !== row?.body) {
          await sql.run(
            `INSERT INTO hosted_records (kind, id, body) VALUES ($1, $2, $3)
             ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body`,
            [kind, id, next],
          )
        }
        return next
      }),
  }
}
