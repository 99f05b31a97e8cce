import type { ActivityStore } from '../activity.js'
import type { Database } from './database.js'
import type { GroupCommit } from './group-commit.js'

/** Rows of one commit: what a loop turn can spare. */
const SLICE = 200

/** Drops what is old in small commits; each finds its rows without a look at those that stay. */
export function createForgetting(
  database: Database,
  commit: GroupCommit,
): Pick<ActivityStore, 'forget' | 'forgetHours'> {
  // Rows are numbered as they were answered, so the oldest come first.
  const forget = database.prepare(
    `DELETE FROM activity WHERE id IN (
       SELECT id FROM (SELECT id, at FROM activity ORDER BY id LIMIT ?) WHERE at < ?)`,
  )
  const nextMerchant = database
    .prepare(
      `SELECT merchant_id FROM activity_payers WHERE span = 'h' AND merchant_id > ?
       ORDER BY merchant_id LIMIT 1`,
    )
    .pluck()
  const forgetHours = database.prepare(
    `DELETE FROM activity_payers WHERE span = 'h' AND merchant_id = ? AND bucket < ? LIMIT ${SLICE}`,
  )

  return {
    forget: (before, limit) => commit.write(() => forget.run(limit, before).changes),
    async forgetHours(bucket) {
      // '' is everybody, and sorts first.
      let merchantId: string | undefined = ''
      while (merchantId !== undefined) {
        const of: string = merchantId
        while ((await commit.write(() => forgetHours.run(of, bucket).changes)) === SLICE);
        merchantId = nextMerchant.get(of) as string | undefined
      }
    },
  }
}
