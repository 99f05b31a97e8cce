import { DAY_SECONDS, MAX_SUM } from '../rows/activity-tally.js'
import type { Database } from './database.js'
import type { GroupCommit } from './group-commit.js'
import type { ReadTurns } from './read-turns.js'

export interface Folding {
  foldHours(bucket: number): Promise<void>
  /** Runs `read`, and runs it again when hours of this merchant became days meanwhile, which it may have seen twice or not at all. */
  reading<Result>(merchantId: string, read: () => Promise<Result>): Promise<Result>
}

/** Rows of one commit: what a loop turn can spare. */
const SLICE = 200

/** Makes days of hours, one merchant after another, in small commits of which each leaves every sum where it is read once. */
export function createFolding(database: Database, commit: GroupCommit, turns: ReadTurns): Folding {
  const tables = [
    createFold(database, 'activity_sums', 'kind, state, reason, is_self', ['amount', 'gas']),
    createFold(database, 'activity_latencies', 'kind, up_to_ms', []),
    createFold(database, 'activity_payers', 'payer', ['amount']),
  ]
  const readers = new Set<{ merchantId: string; isStale: boolean }>()

  async function foldMerchant(fold: Fold, merchantId: string, bucket: number): Promise<void> {
    let moved: number
    do {
      moved = await commit.writeUnsynced(() => fold.move(merchantId, bucket))
      for (const reader of readers) if (reader.merchantId === merchantId) reader.isStale = true
    } while (moved === SLICE)
  }

  return {
    async foldHours(bucket) {
      for (const fold of tables) {
        let endsAt = 0
        let next = fold.first()
        while (next !== undefined) {
          const [merchantId, oldest] = next
          if (oldest < bucket) await foldMerchant(fold, merchantId, bucket)
          if (performance.now() >= endsAt) endsAt = await turns.next()
          next = fold.after(merchantId)
        }
      }
    },
    async reading(merchantId, read) {
      for (;;) {
        const reader = { merchantId, isStale: false }
        readers.add(reader)
        try {
          const result = await read()
          if (!reader.isStale) return result
        } finally {
          readers.delete(reader)
        }
      }
    },
  }
}

type Oldest = [merchantId: string, bucket: number]

interface Fold {
  /** The merchant that sorts first, '' being everybody, with its oldest hour. */
  first(): Oldest | undefined
  after(merchantId: string): Oldest | undefined
  /** Moves up to `SLICE` rows of hours before `bucket`, inside a transaction; answers how many. */
  move(merchantId: string, bucket: number): number
}

function createFold(
  database: Database,
  table: string,
  rest: string,
  money: readonly ('amount' | 'gas')[],
): Fold {
  const sums = ['count', ...money].join(', ')
  const old = `span = 'h' AND merchant_id = ? AND bucket < ?
    ORDER BY span, merchant_id, bucket, endpoint_id, ${rest} LIMIT ${SLICE}`
  const capped = money.map((name) => `, ${name} = MIN(${MAX_SUM}, ${name} + excluded.${name})`)
  const add = database.prepare(
    `INSERT INTO ${table} (span, merchant_id, bucket, endpoint_id, ${rest}, ${sums})
     SELECT 'd', merchant_id, bucket - bucket % ${DAY_SECONDS}, endpoint_id, ${rest}, ${sums}
     FROM (SELECT * FROM ${table} WHERE ${old}) WHERE true
     ON CONFLICT DO UPDATE SET count = count + excluded.count${capped.join('')}`,
  )
  const drop = database.prepare(`DELETE FROM ${table} WHERE ${old}`)
  const oldest = (condition: string) =>
    database
      .prepare(
        `SELECT merchant_id, bucket FROM ${table} WHERE span = 'h' ${condition}
         ORDER BY merchant_id, bucket LIMIT 1`,
      )
      .raw()
  const first = oldest('')
  const after = oldest('AND merchant_id > ?')

  return {
    first: () => first.get() as Oldest | undefined,
    after: (merchantId) => after.get(merchantId) as Oldest | undefined,
    move(merchantId, bucket) {
      add.run(merchantId, bucket)
      return drop.run(merchantId, bucket).changes
    },
  }
}
