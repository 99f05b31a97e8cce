import { get, run, type Sql } from '../sql/sql.js'

/** `channel`: a payment channel with its last voucher. `refund`: money that goes back; `refunded`: money that went back. */
type HostedKind = 'channel' | 'refund' | 'refunded'

const find = 'SELECT body FROM hosted_records WHERE kind = $1 AND id = $2'

/** Keeps JSON texts of hosted endpoints by kind and id. Only their writers understand them. */
export function createHostedRecords(sql: Sql) {
  return {
    find: async (kind: HostedKind, id: string) =>
      (await sql.get<{ body: string }>(find, [kind, id]))?.body,
    /** All of a kind, in order of id. */
    async list(kind: HostedKind): Promise<string[]> {
      const text = 'SELECT body FROM hosted_records WHERE kind = $1 ORDER BY id'
      return (await sql.all<{ body: string }>(text, [kind])).map(({ body }) => body)
    },
    /**
     * Reads and writes one record while nobody else can; resolves with the new text once it is on disk. `update` may be
     * called more than once. It returns the text as it was to change nothing, and `undefined` to remove it.
     */
    change: (
      kind: HostedKind,
      id: string,
      update: (current: string | undefined) => string | undefined,
    ): Promise<string | undefined> =>
      sql.transaction(
        function* () {
          const current = (yield* get<{ body: string }>(find, [kind, id]))?.body
          const next = update(current)
          if (next === undefined) {
            yield* run('DELETE FROM hosted_records WHERE kind = $1 AND id = $2', [kind, id])
          } else if (next !== current) {
            yield* run(
              `INSERT INTO hosted_records (kind, id, body) VALUES ($1, $2, $3)
               ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body`,
              [kind, id, next],
            )
          }
          return next
        },
        // A lock by name, because a record that does not exist yet has no row to lock.
        { lock: `${kind}/${id}` },
      ),
  }
}

export type HostedRecords = ReturnType<typeof createHostedRecords>
