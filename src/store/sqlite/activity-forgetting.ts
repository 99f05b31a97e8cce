import type { ActivityStore } from '../activity.js'
import type { Database } from './database.js'
import type { GroupCommit } from './group-commit.js'

/** Drops what is old in small commits; each finds its rows without a look at those that stay. */
export function createForgetting(
  database: Database,
  commit: GroupCommit,
): Pick<ActivityStore, 'forget'> {
  // Rows are numbered as they were answered, so the oldest come first.
  const forget = database.prepare(
    `DELETE FROM activity WHERE id IN (
       SELECT id FROM (SELECT id, at FROM activity ORDER BY id LIMIT ?) WHERE at < ?)`,
  )
  return {
    forget: (before, limit) => commit.write(() => forget.run(limit, before).changes),
  }
}
