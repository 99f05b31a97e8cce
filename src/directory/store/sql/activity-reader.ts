import type { Address } from 'viem'
import type { Sql, Value } from '../../../sql/sql.js'
import {
  type Activity,
  type ActivityFilter,
  type ActivityKind,
  type ActivityScope,
  type ActivityStore,
  type ActivitySum,
  MAX_TOP_PAYERS,
  type PayerDetail,
  type PayerTotals,
} from '../activity.js'
import { capped } from './activity-sums.js'

const DAY_SECONDS = 86_400
/** Rows are numbered as they were answered; a clock that was set back puts them out of order by less than this. */
const CLOCK_SLACK_MS = 3_600_000
/** Rows of a merchant that one step looks through, since a filter may pass over most: here, and on a server. */
const STEP_ROWS = { here: 1_000, there: 20_000 }
/** Payers read at once: well below a turn of the event loop. */
const PAYERS_AT_ONCE = 500
/** Sums of 64-bit numbers go past 64 bits; the sums of their halves above and below this do not, nor past a double. */
const HALF = 1_000_000_000n

type Reads = Omit<ActivityStore, 'append' | 'forget'>

/**
 * Reads activity. Where statements run on this thread, long reads go in steps, so that neither the endpoints beside the
 * one that is asked for nor the length of the range holds the event loop.
 */
export function createActivityReader(sql: Sql): Reads {
  const stepRows = sql.runsHere ? STEP_ROWS.here : STEP_ROWS.there

  return {
    list: (filter) => readRows(sql, filter, stepRows),
    async sums(scope) {
      const sums = await readSums(sql, scope, bucketOf(scope))
      return [...sums.values()].flat().sort((a, b) => a.bucket - b.bucket)
    },
    sumsByEndpoint: (scope) => readSums(sql, scope, 'endpoint_id'),
    latencies: (scope, kind) => readLatencies(sql, scope, kind),
    payers: (scope) => (sql.runsHere ? readPayersInSteps(sql, scope) : readPayers(sql, scope)),
    lastPaid: (scope) => readLastPaid(sql, scope, stepRows),
    payerDetail: (scope) => (sql.runsHere ? readDetailInSteps(sql, scope) : readDetail(sql, scope)),
  }
}

/** Reads newest first by number: a page starts where the last one ended, whatever was added since. */
async function readRows(sql: Sql, filter: ActivityFilter, stepRows: number): Promise<Activity[]> {
  const oldest = (filter.since ?? 0) - CLOCK_SLACK_MS
  const pause = sql.pacing()
  const found: ActivityRow[] = []
  let before = filter.before ?? Number.MAX_SAFE_INTEGER
  for (;;) {
    await pause()
    const end = await sql.get<{ id: number; at: number }>(
      `SELECT id, at FROM activity WHERE merchant_id = $1 AND id < $2
       ORDER BY id DESC LIMIT 1 OFFSET ${stepRows - 1}`,
      [filter.merchantId, before],
    )
    const { text, values } = stepOf(filter, before, end?.id ?? 0, filter.limit - found.length)
    found.push(...(await sql.all<ActivityRow>(text, values)))
    if (found.length >= filter.limit || end === undefined || end.at < oldest) break
    before = end.id
  }
  return found.map(toActivity)
}

/** Steps of a read of last payments. */
const LAST_PAID_STEPS = 10

/** Looks through the newest rows of a merchant, a step at a time, without payments of owners to themselves. */
async function readLastPaid(sql: Sql, scope: ActivityScope, stepRows: number) {
  const { merchantId = '', since, until = END } = scope
  const pause = sql.pacing()
  const found = new Map<number, number>()
  let before = END
  for (let step = 0; step < LAST_PAID_STEPS; step++) {
    await pause()
    const end = await sql.get<{ id: number; at: number }>(
      `SELECT id, at FROM activity WHERE merchant_id = $1 AND id < $2
       ORDER BY id DESC LIMIT 1 OFFSET ${stepRows - 1}`,
      [merchantId, before],
    )
    const rows = await sql.all<{ id: number; at: number }>(
      `SELECT endpoint_id AS id, max(at) AS at FROM activity
       WHERE merchant_id = $1 AND id < $2 AND id >= $3 AND at >= $4 AND at < $5
         AND kind = 'settle' AND state = 'settled' AND is_self = 0 AND endpoint_id IS NOT NULL
       GROUP BY endpoint_id`,
      [merchantId, before, end?.id ?? 0, since * 1_000, Math.min(until * 1_000, END)],
    )
    for (const { id, at } of rows) found.set(id, Math.max(at, found.get(id) ?? 0))
    if (end === undefined || end.at < since * 1_000 - CLOCK_SLACK_MS) break
    before = end.id
  }
  return found
}

function stepOf(filter: ActivityFilter, before: number, from: number, limit: number) {
  const values: Value[] = [filter.merchantId, before, from, limit]
  const conditions = (
    [
      ['endpoint_id =', filter.endpointId],
      ['kind =', filter.kind],
      ['state =', filter.state],
      ['at >=', filter.since],
      ['at <', filter.until],
    ] as const
  ).flatMap(([condition, value]) => {
    if (value === undefined) return []
    values.push(value)
    return [`AND ${condition} $${values.length}`]
  })
  const text = `SELECT ${columns} FROM activity WHERE merchant_id = $1 AND id < $2 AND id >= $3 ${conditions.join(' ')}
    ORDER BY id DESC LIMIT $4`
  return { text, values }
}

const columns = `id, at, kind, network, merchant_id AS "merchantId", endpoint_id AS "endpointId", resource,
  tool_name AS "toolName", pay_to AS "payTo", payer, nonce, asset, amount, state, reason, "transaction",
  settlement_id AS "settlementId", latency_ms AS "latencyMs", gas_cost AS "gasCost", is_self AS "isSelf"`

type ActivityRow = Omit<Activity, 'amount' | 'gasCost' | 'isSelf'> & {
  amount: string
  gasCost: string | null
  isSelf: number
}

function toActivity(row: ActivityRow): Activity {
  return {
    ...row,
    amount: BigInt(row.amount),
    gasCost: row.gasCost === null ? null : BigInt(row.gasCost),
    isSelf: row.isSelf === 1,
  }
}

interface Part {
  /** Condition of the rows in this part, whose parameters 1 to 5 are `values`. */
  where: string
  values: readonly Value[]
}

/** Calls `visit` for the parts of a scope: one hour after another where statements run on this thread, else the whole. */
async function eachPart(
  sql: Sql,
  table: string,
  scope: ActivityScope,
  visit: (part: Part, pause: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const pause = sql.pacing()
  const [merchantId, since, ...rest] = boundsOf(scope)
  const compared = sql.runsHere ? '=' : '>='
  const where = `merchant_id = $1 AND hour ${compared} $2 AND endpoint_id BETWEEN $3 AND $4 AND hour < $5`
  if (!sql.runsHere) return visit({ where, values: [merchantId, since, ...rest] }, pause)
  for (let from = since; ; ) {
    await pause()
    const next = await sql.get<{ hour: number }>(
      `SELECT hour FROM ${table} WHERE merchant_id = $1 AND hour >= $2 AND hour < $3 ORDER BY hour LIMIT 1`,
      [merchantId, from, scope.until ?? END],
    )
    if (next === undefined) return
    await visit({ where, values: [merchantId, next.hour, ...rest] }, pause)
    from = next.hour + 1
  }
}

/** An hour that is never reached. */
const END = Number.MAX_SAFE_INTEGER

/** Returns merchant, first hour, first and last endpoint, and the end. A merchant as a whole is all its endpoints and 0. */
function boundsOf({ merchantId = '', endpointId, since, until }: ActivityScope) {
  return [merchantId, since, endpointId ?? 0, endpointId ?? END, until ?? END] as const
}

/** Returns the expression of the bucket that a row belongs to in the answer. */
const bucketOf = ({ span }: ActivityScope) =>
  span === 'h' ? 'hour' : `hour - hour % ${DAY_SECONDS}`

const total = (column: string, name: string) => `CAST(sum(${column}) AS BIGINT) AS "${name}"`
const halves = (column: string) =>
  `${total(`${column} / ${HALF}`, `${column}High`)}, ${total(`${column} % ${HALF}`, `${column}Low`)}`
const whole = (high: number, low: number) => BigInt(high) * HALF + BigInt(low)

type SumRow = Pick<ActivitySum, 'bucket' | 'kind' | 'state' | 'count'> &
  Record<'amountHigh' | 'amountLow' | 'gasHigh' | 'gasLow' | 'is_self', number> & { reason: string }

/** Reads the sums by an expression: by bucket, or by endpoint, and then `bucket` is the endpoint. */
async function readSums(
  sql: Sql,
  scope: ActivityScope,
  place: string,
): Promise<Map<number, ActivitySum[]>> {
  const merged = new Map<string, ActivitySum>()
  const places = new Map<number, ActivitySum[]>()
  await eachPart(sql, 'activity_sums', scope, async ({ where, values }) => {
    const rows = await sql.all<SumRow>(
      `SELECT ${place} AS bucket, kind, state, reason, is_self, ${total('count', 'count')},
         ${halves('amount')}, ${halves('gas')}
       FROM activity_sums WHERE ${where} GROUP BY 1, kind, state, reason, is_self`,
      values,
    )
    for (const row of rows) {
      const { bucket, kind, state, is_self, count } = row
      const amount = capped(whole(row.amountHigh, row.amountLow))
      const gas = capped(whole(row.gasHigh, row.gasLow))
      const key = `${bucket} ${kind} ${state} ${is_self} ${row.reason}`
      const known = merged.get(key)
      if (known === undefined) {
        const reason = row.reason === '' ? null : row.reason
        const sum = { bucket, kind, state, reason, isSelf: is_self === 1, count, amount, gas }
        merged.set(key, sum)
        const others = places.get(bucket)
        if (others === undefined) places.set(bucket, [sum])
        else others.push(sum)
        continue
      }
      known.count += count
      known.amount = capped(known.amount + amount)
      known.gas = capped(known.gas + gas)
    }
  })
  return places
}

async function readLatencies(sql: Sql, scope: ActivityScope, kind: ActivityKind) {
  const counts = new Map<number, number>()
  await eachPart(sql, 'activity_latencies', scope, async ({ where, values }) => {
    const steps = await sql.all<{ up_to_ms: number; count: number }>(
      `SELECT up_to_ms, ${total('count', 'count')} FROM activity_latencies
       WHERE ${where} AND kind = $6 GROUP BY up_to_ms`,
      [...values, kind],
    )
    for (const { up_to_ms, count } of steps) {
      counts.set(up_to_ms, (counts.get(up_to_ms) ?? 0) + count)
    }
  })
  return [...counts]
    .map(([upToMs, count]) => ({ upToMs, count }))
    .sort((a, b) => a.upToMs - b.upToMs)
}

/** Lets the server add up: there may be a million payers, of whom only the totals are wanted. */
async function readPayers(sql: Sql, scope: ActivityScope): Promise<PayerTotals> {
  const row = await sql.get<
    Record<'unique' | 'repeat' | 'topCount' | 'count', number> & { top: string; amount: string }
  >(
    `SELECT count(*) FILTER (WHERE times >= 1) AS "unique", count(*) FILTER (WHERE times >= 2) AS repeat,
       CAST(coalesce(max(times), 0) AS BIGINT) AS "topCount",
       CAST(coalesce(sum(greatest(0, times)), 0) AS BIGINT) AS "count",
       CAST(coalesce(max(paid), 0) AS TEXT) AS top, CAST(coalesce(sum(paid), 0) AS TEXT) AS amount
     FROM (${paidBy('payer')}) AS each`,
    boundsOf(scope),
  )
  return {
    unique: row?.unique ?? 0,
    repeat: row?.repeat ?? 0,
    topAmount: BigInt(row?.top ?? 0),
    amount: BigInt(row?.amount ?? 0),
    topCount: row?.topCount ?? 0,
    count: row?.count ?? 0,
  }
}

/** Returns the query of what is left of the payments of each payer, or of each endpoint and payer. */
function paidBy(columns: string): string {
  return `SELECT ${columns}, sum(count) AS times, greatest(0, sum(amount)) AS paid FROM activity_payers
    WHERE merchant_id = $1 AND hour >= $2 AND endpoint_id BETWEEN $3 AND $4 AND hour < $5 GROUP BY ${columns}`
}

async function readDetail(sql: Sql, scope: ActivityScope): Promise<PayerDetail> {
  const values = boundsOf(scope)
  const [top, endpoints] = await Promise.all([
    sql.all<{ payer: Address; count: number; amount: string; whole: string }>(
      `SELECT payer, CAST(greatest(0, times) AS BIGINT) AS "count", CAST(paid AS TEXT) AS amount,
         CAST(sum(paid) OVER () AS TEXT) AS "whole"
       FROM (${paidBy('payer')}) AS each WHERE paid > 0 OR times > 0
       ORDER BY paid DESC, times DESC, payer LIMIT ${MAX_TOP_PAYERS}`,
      values,
    ),
    sql.all<{ id: number; payers: number }>(
      `SELECT endpoint_id AS id, count(*) AS payers
       FROM (${paidBy('endpoint_id, payer')}) AS each WHERE times >= 1 GROUP BY endpoint_id`,
      values,
    ),
  ])
  return {
    top: top.map(({ payer, count, amount }) => ({ payer, count, amount: BigInt(amount) })),
    amount: BigInt(top[0]?.whole ?? 0),
    byEndpoint: new Map(endpoints.map(({ id, payers }) => [id, payers])),
  }
}

interface PaidRow {
  payer: Address
  count: number
  amount: string
  endpoint_id: number
}

interface Paid {
  count: number
  amount: bigint
}

/** Reads what each payer paid, a page of payers at a time. */
async function eachPaid(sql: Sql, scope: ActivityScope, visit: (row: PaidRow) => void) {
  await eachPart(sql, 'activity_payers', scope, async ({ where, values }, pause) => {
    let after: [endpointId: number, payer: string] = [0, '']
    for (;;) {
      const page = await sql.all<PaidRow>(
        `SELECT payer, count, CAST(amount AS TEXT) AS amount, endpoint_id FROM activity_payers
         WHERE ${where} AND (endpoint_id, payer) > ($6, $7)
         ORDER BY endpoint_id, payer LIMIT ${PAYERS_AT_ONCE}`,
        [...values, ...after],
      )
      for (const row of page) visit(row)
      const last = page.at(-1)
      if (last === undefined || page.length < PAYERS_AT_ONCE) return
      after = [last.endpoint_id, last.payer]
      await pause()
    }
  })
}

/** Adds a row to what its payer paid; `name` is the payer, or the payer at an endpoint. */
function addPaid(all: Map<string, Paid>, name: string, { count, amount }: PaidRow): void {
  const known = all.get(name)
  if (known === undefined) all.set(name, { count, amount: BigInt(amount) })
  else {
    known.count += count
    known.amount += BigInt(amount)
  }
}

async function readPayersInSteps(sql: Sql, scope: ActivityScope): Promise<PayerTotals> {
  const paid = new Map<string, Paid>()
  await eachPaid(sql, scope, (row) => addPaid(paid, row.payer, row))
  const totals = { unique: 0, repeat: 0, topAmount: 0n, amount: 0n, topCount: 0, count: 0 }
  for (const { count, amount } of paid.values()) {
    totals.count += Math.max(0, count)
    totals.topCount = Math.max(totals.topCount, count)
    if (count >= 1) totals.unique++
    if (count >= 2) totals.repeat++
    if (amount > 0n) totals.amount += amount
    if (amount > totals.topAmount) totals.topAmount = amount
  }
  return totals
}

async function readDetailInSteps(sql: Sql, scope: ActivityScope): Promise<PayerDetail> {
  const paid = new Map<string, Paid>()
  const pairs = new Map<string, { endpointId: number; count: number }>()
  await eachPaid(sql, scope, (row) => {
    addPaid(paid, row.payer, row)
    const name = `${row.endpoint_id} ${row.payer}`
    const pair = pairs.get(name)
    if (pair === undefined) pairs.set(name, { endpointId: row.endpoint_id, count: row.count })
    else pair.count += row.count
  })
  const detail: PayerDetail = { top: [], amount: 0n, byEndpoint: new Map() }
  for (const [payer, sum] of paid) {
    const count = Math.max(0, sum.count)
    const amount = sum.amount > 0n ? sum.amount : 0n
    detail.amount += amount
    if (count === 0 && amount === 0n) continue
    const one = { payer: payer as Address, count, amount }
    const least = detail.top[MAX_TOP_PAYERS - 1]
    // A payer who is not among the top is not sorted in, because there may be a million of them.
    if (least !== undefined && byPayment(least, one) < 0) continue
    detail.top = [...detail.top, one].sort(byPayment).slice(0, MAX_TOP_PAYERS)
  }
  for (const { endpointId, count } of pairs.values()) {
    if (count < 1) continue
    detail.byEndpoint.set(endpointId, (detail.byEndpoint.get(endpointId) ?? 0) + 1)
  }
  return detail
}

type TopPayer = PayerDetail['top'][number]

/** Orders by what was paid, the most first. */
function byPayment(a: TopPayer, b: TopPayer): number {
  if (a.amount !== b.amount) return a.amount > b.amount ? -1 : 1
  return b.count - a.count || (a.payer < b.payer ? -1 : 1)
}
