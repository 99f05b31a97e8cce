import type {
  ActivityKind,
  ActivityScope,
  ActivityStore,
  ActivitySum,
  PayerTotals,
} from '../activity.js'
import { mergeSums, type SumRow, toActivitySum } from '../rows/activity-rows.js'
import { DAY_SECONDS } from '../rows/activity-tally.js'
import type { Folding } from './activity-folding.js'
import type { Database } from './database.js'
import type { ReadTurns } from './read-turns.js'

type PayerRow = [payer: string, count: bigint, amount: bigint, endpointId: bigint]

/** Payers read at once: well below a turn. */
const PAGE = 500

/**
 * Reads the sums of a range bucket by bucket, so that neither the endpoints beside the one that is asked for nor the
 * length of the range holds the event loop. A day is its own rows and those of its hours that are not in them yet.
 */
export function createTotals(
  database: Database,
  turns: ReadTurns,
  { reading }: Folding,
): Pick<ActivityStore, 'sums' | 'payers' | 'latencies'> {
  const walkSums = createBucketWalk(database, 'activity_sums', turns)
  const walkLatencies = createBucketWalk(database, 'activity_latencies', turns)
  const walkPayers = createBucketWalk(database, 'activity_payers', turns)
  const place = 'span = ? AND merchant_id = ? AND bucket = ? AND endpoint_id BETWEEN ? AND ?'
  const sums = database
    .prepare(
      `SELECT bucket, kind, state, reason, is_self, count, amount, gas FROM activity_sums WHERE ${place}`,
    )
    .safeIntegers()
  const latencies = database.prepare(
    `SELECT up_to_ms, count FROM activity_latencies WHERE ${place} AND kind = ?`,
  )
  const payers = database
    .prepare(
      `SELECT payer, count, amount, endpoint_id FROM activity_payers WHERE ${place}
       AND (endpoint_id, payer) > (?, ?) ORDER BY endpoint_id, payer LIMIT ${PAGE}`,
    )
    .safeIntegers()
    .raw()
  /** A merchant as a whole is all its endpoints; 0 is what is of none of them. */
  const placeOf = ({ merchantId = '', endpointId }: ActivityScope, { span, bucket }: Bucket) =>
    [span, merchantId, bucket, endpointId ?? 0, endpointId ?? Number.MAX_SAFE_INTEGER] as const

  async function readSums(scope: ActivityScope): Promise<ActivitySum[]> {
    const found: ActivitySum[] = []
    await walkSums(scope, async (at) => {
      const rows = sums.all(...placeOf(scope, at)) as SumRow[]
      for (const sum of mergeSums(rows.map(toActivitySum))) {
        found.push({ ...sum, bucket: bucketOf(scope, sum.bucket) })
      }
    })
    return mergeSums(found).sort((a, b) => a.bucket - b.bucket)
  }

  async function readLatencies(scope: ActivityScope, kind: ActivityKind) {
    const counts = new Map<number, number>()
    await walkLatencies(scope, async (at) => {
      const steps = latencies.all(...placeOf(scope, at), kind)
      for (const { up_to_ms, count } of steps as { up_to_ms: number; count: number }[]) {
        counts.set(up_to_ms, (counts.get(up_to_ms) ?? 0) + count)
      }
    })
    return [...counts]
      .map(([upToMs, count]) => ({ upToMs, count }))
      .sort((a, b) => a.upToMs - b.upToMs)
  }

  async function readPayers(scope: ActivityScope): Promise<PayerTotals> {
    const tally = createPayerTally()
    await walkPayers(scope, async (at, pause) => {
      let after: [endpointId: bigint, payer: string] = [0n, '']
      for (;;) {
        const page = payers.all(...placeOf(scope, at), ...after) as PayerRow[]
        for (const [payer, count, amount] of page) tally.add(payer, count, amount)
        const last = page.at(-1)
        if (last === undefined || page.length < PAGE) return
        after = [last[3], last[0]]
        await pause()
      }
    })
    return tally.totals()
  }

  const whole = <Result>({ merchantId = '' }: ActivityScope, read: () => Promise<Result>) =>
    reading(merchantId, read)
  return {
    sums: (scope) => whole(scope, () => readSums(scope)),
    latencies: (scope, kind) => whole(scope, () => readLatencies(scope, kind)),
    payers: (scope) => whole(scope, () => readPayers(scope)),
  }
}

interface Bucket {
  span: ActivityScope['span']
  bucket: number
}

function bucketOf({ span }: ActivityScope, bucket: number): number {
  return span === 'h' ? bucket : bucket - (bucket % DAY_SECONDS)
}

/** Calls `visit` for each hour or day of the scope that has rows, oldest first, a turn of the event loop after another. */
function createBucketWalk(database: Database, table: string, turns: ReadTurns) {
  const next = database
    .prepare(
      `SELECT bucket FROM ${table} WHERE span = ? AND merchant_id = ? AND bucket > ?
       ORDER BY bucket LIMIT 1`,
    )
    .pluck()
  return async (
    scope: ActivityScope,
    visit: (at: Bucket, pause: () => Promise<void>) => Promise<void>,
  ): Promise<void> => {
    let endsAt = await turns.next()
    const pause = async () => {
      if (performance.now() >= endsAt) endsAt = await turns.next()
    }
    for (const span of scope.span === 'h' ? (['h'] as const) : (['d', 'h'] as const)) {
      let bucket = scope.since - 1
      for (;;) {
        const found = next.get(span, scope.merchantId ?? '', bucket) as number | undefined
        if (found === undefined) break
        bucket = found
        await visit({ span, bucket }, pause)
        await pause()
      }
    }
  }
}

/** Adds up who paid over several buckets, less what was given back. */
function createPayerTally() {
  const known = new Map<string, { count: bigint; amount: bigint }>()
  return {
    add(payer: string, count: bigint, amount: bigint): void {
      const sum = known.get(payer)
      if (sum === undefined) known.set(payer, { count, amount })
      else {
        sum.count += count
        sum.amount += amount
      }
    },
    totals(): PayerTotals {
      const totals: PayerTotals = { unique: 0, repeat: 0, topAmount: 0n, amount: 0n }
      for (const { count, amount } of known.values()) {
        if (count >= 1n) totals.unique++
        if (count >= 2n) totals.repeat++
        if (amount > 0n) totals.amount += amount
        if (amount > totals.topAmount) totals.topAmount = amount
      }
      return totals
    },
  }
}
