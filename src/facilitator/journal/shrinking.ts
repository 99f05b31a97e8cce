import { setTimeout as sleep } from 'node:timers/promises'
import type { MayGoOn } from '../../async/background.js'
import { DAY_MS } from '../../async/time.js'
import { run, type Sql } from '../../sql/sql.js'

/** The tables with bytes that only sending needs: the key, the column, and when a row of before `$2` is never sent again. */
const tables = {
  // A payment that failed and is settled again brings its calldata along.
  jobs: {
    key: 'id',
    bytes: 'calldata',
    isOver: `state IN ('confirmed', 'failed') AND updated_at < $2 AND id NOT IN (
      SELECT m.job_id FROM attempts a JOIN attempt_jobs m ON m.hash = a.hash WHERE a.is_open = 1)`,
  },
  attempts: { key: 'hash', bytes: 'raw_transaction', isOver: 'is_open = 0 AND created_at < $2' },
} as const

type Table = keyof typeof tables

/** The last row that a pass over a table looked at, in the order of creation (Unix milliseconds). */
interface Place {
  createdAt: number
  key: string
}

/** Where a pass begins. */
const START: Place = { createdAt: -1, key: '' }
/** Rows of one step: a payment that comes meanwhile waits for its commit, a few milliseconds. */
const ROWS_AT_ONCE = 25

/** Makes old rows of the journal small: what lookups, receipts, repeats and unique keys need stays. */
export function createShrinker(sql: Sql) {
  return {
    /**
     * Looks at the next rows that are from before a time (Unix milliseconds), and drops the bytes of those that can never be
     * sent again. Resolves with the last row, and how many became small; `undefined` after the last one.
     */
    async step(
      table: Table,
      before: number,
      after = START,
    ): Promise<{ last: Place; small: number } | undefined> {
      const { key, bytes, isOver } = tables[table]
      const rows = await sql.all<Place>(
        `SELECT ${key} AS key, created_at AS "createdAt" FROM ${table}
         WHERE ${bytes} <> '0x' AND created_at < $1 AND (created_at, ${key}) > ($2, $3)
         ORDER BY created_at, ${key} LIMIT ${ROWS_AT_ONCE}`,
        [before, after.createdAt, after.key],
      )
      const last = rows.at(-1)
      if (last === undefined) return undefined
      // Whether a row is over is decided in the write itself, because it may have been opened again.
      const text = `UPDATE ${table} SET ${bytes} = '0x' WHERE ${sql.among(key, 1)} AND ${isOver}`
      const values = [rows.map((row) => row.key), before]
      const small = await sql.transaction(() => run(text, values), { isDurable: false })
      return { last, small }
    },
  }
}

export type Shrinker = ReturnType<typeof createShrinker>

/** Time that everything else has between two steps. */
const PAUSE_MS = 20

/**
 * Creates the task that makes rows small at each start and then once a day (UTC): those decided more than `retentionDays`
 * days before that day.
 */
export function createShrinking(options: {
  shrinker: Shrinker
  retentionDays: number
  /** Unix milliseconds. */
  now(): number
  log: { info(details: object, message: string): void }
}): (mayGoOn: MayGoOn) => Promise<void> {
  const { shrinker, retentionDays, now, log } = options
  let doneBefore = 0
  return async (mayGoOn) => {
    const before = now() - (now() % DAY_MS) - retentionDays * DAY_MS
    if (before <= doneBefore) return
    let small = 0
    for (const table of ['jobs', 'attempts'] as const) {
      for (let after: Place | undefined = START; after !== undefined; ) {
        if (!mayGoOn()) return
        const step = await shrinker.step(table, before, after)
        small += step?.small ?? 0
        after = step?.last
        await sleep(PAUSE_MS)
      }
    }
    doneBefore = before
    if (small > 0) log.info({ rows: small }, 'old payments were made small')
  }
}
