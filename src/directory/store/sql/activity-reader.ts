import type { Address } from 'viem'
import { DAY_SECONDS } from '../../../async/time.js'
import type { SqlReader, Value } from '../../../sql/sql.js'
import {
  type Activity,
  type ActivityFilter,
  type ActivityKind,
  type ActivityScope,
  type ActivityStore,
  type ActivitySum,
  atLeast,
  MAX_TOP_PAYERS,
  type PayerDetail,
  type PayerTotals,
} from '../activity.js'
import { capped } from './activity-sums.js'

/** Rows are numbered as they were answered; a clock that was set back puts them out of order by less than this. */
const CLOCK_SLACK_MS = 3_600_000
/** Rows of a merchant that one step looks through, since a filter may pass over most of them. */
const STEP_ROWS = 20_000
/** Sums of 64-bit numbers go past 64 bits; the sums of their halves above and below this do not, nor past a double. */
const HALF = 1_000_000_000n

/** Reads activity: figures of any range, and rows. */
export function createActivityReader(sql: SqlReader): Omit<ActivityStore, 'append' | 'forget'> {
  return {
    list: (filter) => readRows(sql, filter),
    async sums(scope) {
      const sums = await readSums(sql, scope, bucketOf(scope))
      return [...sums.values()].flat().sort((a, b) => a.bucket - b.bucket)
    },
    sumsByEndpoint: (scope) => readSums(sql, scope, 'endpoint_id'),
    latencies: (scope, kind) => readLatencies(sql, scope, kind),
    payers: (scope) => readPayers(sql, scope),
    payersElsewhere: (scope) => countPayersElsewhere(sql, scope),
    lastPaid: (scope) => readLastPaid(sql, scope),
    payerDetail: (scope) => readDetail(sql, scope),
  }
}

/** Reads newest first by number: a page starts where the last one ended, whatever was added since. */
async function readRows(sql: SqlReader, filter: ActivityFilter): Promise<Activity[]> {
  const oldest = (filter.since ?? 0) - CLOCK_SLACK_MS
  const found: ActivityTableRow[] = []
  let before = filter.before ?? Number.MAX_SAFE_INTEGER
  for (;;) {
    const end = await sql.get<{ id: number; at: number }>(
      `SELECT id, at FROM activity WHERE merchant_id = $1 AND id < $2
       ORDER BY id DESC LIMIT 1 OFFSET ${STEP_ROWS - 1}`,
      [filter.merchantId, before],
    )
    const { text, values } = stepOf(filter, before, end?.id ?? 0, filter.limit - found.length)
    found.push(...(await sql.all<ActivityTableRow>(text, values)))
    if (found.length >= filter.limit || end === undefined || end.at < oldest) break
    before = end.id
  }
  return found.map(toActivity)
}

/** Steps of a read of last payments. */
const LAST_PAID_STEPS = 10

/** Looks through the newest rows of a merchant, a step at a time, without payments of owners to themselves. */
async function readLastPaid(sql: SqlReader, scope: ActivityScope) {
  const { merchantId = '', since, until = END } = scope
  const found = new Map<number, number>()
  let before = END
  for (let step = 0; step < LAST_PAID_STEPS; step++) {
    const end = await sql.get<{ id: number; at: number }>(
      `SELECT id, at FROM activity WHERE merchant_id = $1 AND id < $2
       ORDER BY id DESC LIMIT 1 OFFSET ${STEP_ROWS - 1}`,
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
      ['payer =', filter.payer],
      ['at >=', filter.since],
      ['at <', filter.until],
    ] as const
  ).flatMap(([condition, value]) => {
    if (value === undefined) return []
    values.push(value)
    return [`AND ${condition} $${values.length}`]
  })
  const add = (value: Value) => `$${values.push(value)}`
  const { minAmount, maxAmount } = filter
  if (minAmount !== undefined) conditions.push(`AND ${atLeast('amount', add(minAmount))}`)
  if (maxAmount !== undefined) conditions.push(`AND ${atLeast(add(maxAmount), 'amount')}`)
  const text = `SELECT ${columns} FROM activity WHERE merchant_id = $1 AND id < $2 AND id >= $3 ${conditions.join(' ')}
    ORDER BY id DESC LIMIT $4`
  return { text, values }
}

const columns = `id, at, kind, network, merchant_id AS "merchantId", endpoint_id AS "endpointId", resource,
  tool_name AS "toolName", pay_to AS "payTo", payer, nonce, asset, amount, state, reason, "transaction",
  settlement_id AS "settlementId", latency_ms AS "latencyMs", gas_cost AS "gasCost", is_self AS "isSelf"`

type ActivityTableRow = Omit<Activity, 'amount' | 'gasCost' | 'isSelf'> & {
  amount: string
  gasCost: string | null
  isSelf: number
}

function toActivity(row: ActivityTableRow): Activity {
  return {
    ...row,
    amount: BigInt(row.amount),
    gasCost: row.gasCost === null ? null : BigInt(row.gasCost),
    isSelf: row.isSelf === 1,
  }
}

/** The rows of a scope, by the parameters that `boundsOf` returns. */
const ofScope = 'merchant_id = $1 AND hour >= $2 AND endpoint_id BETWEEN $3 AND $4 AND hour < $5'

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
const halves = (column: string, high = `${column}High`, low = `${column}Low`) =>
  `${total(`${column} / ${HALF}`, high)}, ${total(`${column} % ${HALF}`, low)}`
const whole = (high: number, low: number) => BigInt(high) * HALF + BigInt(low)

type SumRow = Pick<ActivitySum, 'bucket' | 'kind' | 'state' | 'count'> &
  Record<'amountHigh' | 'amountLow' | 'gasHigh' | 'gasLow' | 'is_self', number> & { reason: string }

/** Reads the sums by an expression: by bucket, or by endpoint, and then `bucket` is the endpoint. */
async function readSums(
  sql: SqlReader,
  scope: ActivityScope,
  place: string,
): Promise<Map<number, ActivitySum[]>> {
  const rows = await sql.all<SumRow>(
    `SELECT ${place} AS bucket, kind, state, reason, is_self, ${total('count', 'count')},
       ${halves('amount')}, ${halves('gas')}
     FROM activity_sums WHERE ${ofScope} GROUP BY 1, kind, state, reason, is_self`,
    boundsOf(scope),
  )
  const places = new Map<number, ActivitySum[]>()
  for (const { bucket, kind, state, reason, is_self, count, ...row } of rows) {
    const sum: ActivitySum = {
      bucket,
      kind,
      state,
      count,
      reason: reason === '' ? null : reason,
      isSelf: is_self === 1,
      amount: capped(whole(row.amountHigh, row.amountLow)),
      gas: capped(whole(row.gasHigh, row.gasLow)),
    }
    const others = places.get(bucket)
    if (others === undefined) places.set(bucket, [sum])
    else others.push(sum)
  }
  return places
}

async function readLatencies(sql: SqlReader, scope: ActivityScope, kind: ActivityKind) {
  const steps = await sql.all<{ up_to_ms: number; count: number }>(
    `SELECT up_to_ms, ${total('count', 'count')} FROM activity_latencies
     WHERE ${ofScope} AND kind = $6 GROUP BY up_to_ms ORDER BY up_to_ms`,
    [...boundsOf(scope), kind],
  )
  return steps.map(({ up_to_ms: upToMs, count }) => ({ upToMs, count }))
}

/** Lets the database add up: there may be a million payers, of whom only the totals are wanted. */
async function readPayers(sql: SqlReader, scope: ActivityScope): Promise<PayerTotals> {
  const row = await sql.get<
    Record<'unique' | 'repeat' | 'topCount' | 'count', number> &
      Record<'high' | 'low' | 'topHigh' | 'topLow', number>
  >(
    `WITH each AS (${paidBy('payer')})
     SELECT count(*) FILTER (WHERE times >= 1) AS "unique", count(*) FILTER (WHERE times >= 2) AS repeat,
       CAST(coalesce(max(times), 0) AS BIGINT) AS "topCount", ${totalOr0('times', 'count')},
       ${totalOr0('high', 'high')}, ${totalOr0('low', 'low')},
       coalesce((SELECT high FROM each ORDER BY high DESC, low DESC LIMIT 1), 0) AS "topHigh",
       coalesce((SELECT low FROM each ORDER BY high DESC, low DESC LIMIT 1), 0) AS "topLow"
     FROM each`,
    boundsOf(scope),
  )
  if (row === undefined) throw new Error('a sum without a row')
  const { unique, repeat, topCount, count } = row
  return {
    unique,
    repeat,
    topCount,
    count,
    topAmount: whole(row.topHigh, row.topLow),
    amount: whole(row.high, row.low),
  }
}

/** The merchants that may be the same seller as the first parameter, itself among them. */
const connected = `SELECT CAST($1 AS TEXT) UNION ALL SELECT o.id FROM merchants m JOIN merchants o ON o.owner = m.owner WHERE m.id = $1
  UNION ALL SELECT o.id FROM merchants m JOIN merchants o ON o.pay_to = m.pay_to WHERE m.id = $1
  UNION ALL SELECT o.id FROM merchants m JOIN merchants o ON o.owner = m.pay_to WHERE m.id = $1
  UNION ALL SELECT o.id FROM merchants m JOIN merchants o ON o.pay_to = m.owner WHERE m.id = $1
  UNION ALL SELECT o.merchant_id FROM endpoints e JOIN endpoints o ON o.site = e.site WHERE e.merchant_id = $1`

/** Merchants that anybody can look at and buy from: a listing that was only there for the payments proves nothing. */
const isOpen = `m.hidden_reason IS NULL AND m.deleted_at IS NULL
  AND EXISTS (SELECT 1 FROM endpoints e WHERE e.merchant_id = m.id AND e.status = 'live')`

async function countPayersElsewhere(
  sql: SqlReader,
  scope: ActivityScope & { merchantId: string },
): Promise<number> {
  const row = await sql.get<{ count: number }>(
    `SELECT count(*) AS count FROM (${paidBy('payer')}) AS each WHERE times >= 1 AND EXISTS (
       SELECT 1 FROM activity_payers p JOIN merchants m ON m.id = p.merchant_id
       WHERE p.payer = each.payer AND ${isOpen} AND p.merchant_id NOT IN (${connected})
       GROUP BY p.merchant_id HAVING sum(p.count) >= 1)`,
    boundsOf(scope),
  )
  return row?.count ?? 0
}

const totalOr0 = (column: string, name: string) =>
  `CAST(coalesce(sum(${column}), 0) AS BIGINT) AS "${name}"`

/**
 * Returns the query of what is left of the payments of each payer, or of each endpoint and payer; what would be below
 * zero is zero. The amount comes in two halves, of which the lower is less than `HALF`, so that they sort as the whole does.
 */
function paidBy(columns: string): string {
  const sums = `SELECT ${columns}, CAST(sum(count) AS BIGINT) AS times, ${halves('amount', 'high', 'low')}
    FROM activity_payers WHERE ${ofScope} GROUP BY ${columns}`
  const low = `((low % ${HALF} + ${HALF}) % ${HALF})`
  const split = `SELECT ${columns}, times, high + (low - ${low}) / ${HALF} AS high, ${low} AS low
    FROM (${sums}) AS summed`
  return `SELECT ${columns}, CASE WHEN times < 0 THEN 0 ELSE times END AS times,
      CASE WHEN high < 0 THEN 0 ELSE high END AS high, CASE WHEN high < 0 THEN 0 ELSE low END AS low
    FROM (${split}) AS parted`
}

async function readDetail(sql: SqlReader, scope: ActivityScope): Promise<PayerDetail> {
  const values = boundsOf(scope)
  const [top, endpoints] = await Promise.all([
    sql.all<{ payer: Address } & Record<'count' | 'high' | 'low' | 'allHigh' | 'allLow', number>>(
      `WITH each AS (${paidBy('payer')})
       SELECT payer, times AS "count", high, low, (SELECT CAST(sum(high) AS BIGINT) FROM each) AS "allHigh",
         (SELECT CAST(sum(low) AS BIGINT) FROM each) AS "allLow"
       FROM each WHERE high > 0 OR low > 0 OR times > 0
       ORDER BY high DESC, low DESC, times DESC, payer LIMIT ${MAX_TOP_PAYERS}`,
      values,
    ),
    sql.all<{ id: number; payers: number }>(
      `SELECT endpoint_id AS id, count(*) AS payers
       FROM (${paidBy('endpoint_id, payer')}) AS each WHERE times >= 1 GROUP BY endpoint_id`,
      values,
    ),
  ])
  const [first] = top
  return {
    top: top.map(({ payer, count, high, low }) => ({ payer, count, amount: whole(high, low) })),
    amount: first === undefined ? 0n : whole(first.allHigh, first.allLow),
    byEndpoint: new Map(endpoints.map(({ id, payers }) => [id, payers])),
  }
}
