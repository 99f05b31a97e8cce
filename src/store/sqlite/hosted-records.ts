import type { HostedRecords } from '../hosted-records.js'
import type { Database } from './database.js'
import type { GroupCommit } from './group-commit.js'

export function createHostedRecords(database: Database, commit: GroupCommit): HostedRecords {
  const find = database.prepare('SELECT body FROM hosted_records WHERE kind = ? AND id = ?').pluck()
  const list = database
    .prepare('SELECT body FROM hosted_records WHERE kind = ? ORDER BY id')
    .pluck()
  const put = database.prepare(
    `INSERT INTO hosted_records (kind, id, body) VALUES (?, ?, ?)
     ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body`,
  )
  const remove = database.prepare('DELETE FROM hosted_records WHERE kind = ? AND id = ?')
  const read = (kind: string, id: string) => find.get(kind, id) as string | undefined

  return {
    find: async (kind, id) => read(kind, id),
    list: async (kind) => list.all(kind) as string[],
    change: (kind, id, update) =>
      commit.write(() => {
        const current = read(kind, id)
        const next = update(current)
        if (next === undefined) remove.run(kind, id)
        else if (next !== current) put.run(kind, id, next)
        return next
      }),
  }
}
