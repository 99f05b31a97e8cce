import type { activityStates } from '@arcus/protocol/answers/activity'
import type { Address, Hex } from 'viem'
import type { SqlReader, Value } from '../../sql/sql.js'

export type ActivityKind = 'verify' | 'settle'
export type ActivityState = (typeof activityStates)[number]

/** One answer of verify or settle, and the listing it concerns. */
export interface NewActivity {
  /** Unix milliseconds. */
  at: number
  kind: ActivityKind
  network: string
  /** `null` where the recipient has no listing. */
  merchantId: string | null
  endpointId: number | null
  /** Origin and path of the paid URL, as the payload states it. */
  resource: string | null
  /** The tool of an MCP server that the payment names. */
  toolName: string | null
  payTo: Address
  payer: Address
  /** 32 bytes; `null` for a call that is paid through a channel. */
  nonce: Hex | null
  /** The token in lower case. */
  asset: Address
  /** Atomic units. */
  amount: bigint
  state: ActivityState
  /** Wire code. */
  reason: string | null
  transaction: Hex | null
  settlementId: string | null
  latencyMs: number
  /** 18-decimal units. */
  gasCost: bigint | null
  /** Whether the owner, the recipient or a relayer is the payer. */
  isSelf: boolean
  /** Whether only the sums count it, without a row. */
  isSumOnly?: boolean
  /** Whether the amount is in another money than the sums, which then count the payment without its amount. */
  isOtherMoney?: boolean
  /** What a refund takes off the sums: atomic units, and payments that are given back in full. */
  refund?: { amount: bigint; payments: 0 | 1 }
}

export interface Activity extends Omit<NewActivity, 'isSumOnly' | 'isOtherMoney' | 'refund'> {
  id: number
}

/** The sums of one merchant, or of everybody when `merchantId` is `undefined`. */
export interface ActivityScope {
  merchantId: string | undefined
  /** Without it, the merchant as a whole. */
  endpointId?: number | undefined
  /** `h` sums by hour, `d` by day (UTC). */
  span: 'h' | 'd'
  /** First Unix second of the first bucket. */
  since: number
  /** Unix second before which the last bucket begins; without it there is no end. */
  until?: number | undefined
}

export interface ActivitySum {
  /** First Unix second of the hour or day. */
  bucket: number
  kind: ActivityKind
  /** `undone` counts payments that were given back in full. */
  state: ActivityState | 'undone'
  reason: string | null
  isSelf: boolean
  count: number
  /** Atomic units of the money of the sums, of valid, settled and refunded payments only. Exact up to 9 * 10^18, where it stops. */
  amount: bigint
  /** 10^-12 dollars. */
  gas: bigint
}

export interface PayerTotals {
  /** Payers with at least one payment, and with at least two, that were not given back in full. */
  unique: number
  repeat: number
  /** The most that one payer paid, atomic units, less what was given back. */
  topAmount: bigint
  amount: bigint
  /** The most payments of one payer, and those of all, less what was given back in full. */
  topCount: number
  count: number
}

/** The payers of a merchant one by one, less what was given back. */
export interface PayerDetail {
  /** Those who paid most, atomic units, the most first. */
  top: { payer: Address; count: number; amount: bigint }[]
  /** The amount that all payers paid. */
  amount: bigint
  /** Payers by endpoint with at least one payment that was not given back in full; 0 stands for none of the endpoints. */
  byEndpoint: Map<number, number>
}

/** Payers of `PayerDetail.top`. */
export const MAX_TOP_PAYERS = 10

export interface ActivityFilter {
  merchantId: string
  endpointId?: number | undefined
  kind?: ActivityKind | undefined
  state?: ActivityState | undefined
  /** In lower case. */
  payer?: Address | undefined
  /** Atomic units, as decimal digits. */
  minAmount?: string | undefined
  maxAmount?: string | undefined
  /** Unix milliseconds. */
  since?: number | undefined
  /** Unix milliseconds; rows from then on are left out. */
  until?: number | undefined
  /** Only rows before this number; the newest come first. */
  before?: number | undefined
  limit: number
}

export interface ActivityStore {
  /**
   * Keeps the rows in order, in one commit after another, each row together with its sums. A payment that was kept as
   * settled before is left out. Rejects at the first commit that fails: the rows before it are kept, those after it are not. A power cut may take
   * back the last rows.
   */
  append(rows: readonly NewActivity[]): Promise<void>
  /** Oldest bucket first. */
  sums(scope: ActivityScope): Promise<ActivitySum[]>
  /** The sums of each endpoint over the whole scope; 0 stands for none of the endpoints. */
  sumsByEndpoint(scope: ActivityScope): Promise<Map<number, ActivitySum[]>>
  payers(scope: ActivityScope): Promise<PayerTotals>
  /**
   * Counts those of the payers of `payers` who paid another public merchant as well, at any time, and got not everything
   * back: one with another owner, another payout address and no site in common. A wallet costs nothing, so that payers of
   * one merchant alone may all be that merchant.
   */
  payersElsewhere(scope: ActivityScope & { merchantId: string }): Promise<number>
  payerDetail(scope: ActivityScope): Promise<PayerDetail>
  /**
   * Returns when each endpoint was paid last within the scope, in Unix milliseconds. It looks at the newest rows only, so
   * an endpoint whose last payment lies behind many others is missing.
   */
  lastPaid(scope: ActivityScope): Promise<Map<number, number>>
  /** Counts by upper bound in milliseconds, rising. Only valid and settled answers count, without self-payments and refunds. */
  latencies(scope: ActivityScope, kind: ActivityKind): Promise<{ upToMs: number; count: number }[]>
  list(filter: ActivityFilter): Promise<Activity[]>
  /** Drops those of the oldest `limit` rows that are before `before` (Unix milliseconds); resolves with their number. Sums stay. */
  forget(before: number, limit: number): Promise<number>
}

/** A settle that took longer than this is counted here. */
const SLOWEST_MS = 3_600_000

/** Returns the step in which a latency is counted: rounded to two digits, as the console shows it. */
export function latencyStep(ms: number): number {
  const whole = Math.min(Math.max(Math.round(ms), 1), SLOWEST_MS)
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(whole)) - 1)
  return Math.round(whole / unit) * unit
}

/** A payment that settled, or money that was given back, as everybody may see it. */
export type PublicSettlement = Pick<
  Activity,
  'id' | 'at' | 'network' | 'payer' | 'payTo' | 'nonce' | 'asset' | 'amount' | 'isSelf'
> & { state: 'settled' | 'refunded'; transaction: Hex }

/** A place in the list of payments. */
interface PaymentPlace {
  /** Unix milliseconds. */
  at: number
  id: number
}

/** The payments that are wanted, newest first. Addresses in lower case, amounts in atomic units, times in Unix milliseconds. */
export interface PaymentFilter {
  state: PublicSettlement['state']
  payTo?: Address | undefined
  payer?: Address | undefined
  network?: string | undefined
  minAmount?: string | undefined
  maxAmount?: string | undefined
  since?: number | undefined
  until?: number | undefined
  /** Only payments before this one. */
  before?: PaymentPlace | undefined
  limit: number
}

/** Rows that one page looks through, since a filter without an index may pass over all of them. */
export const PAGE_LOOKS_AT = 1_000

type SettlementRow = Omit<PublicSettlement, 'amount' | 'isSelf'> & {
  amount: string
  isSelf: number
}

const columns = `id, at, state, network, payer, pay_to AS "payTo", nonce, asset, amount, "transaction", is_self AS "isSelf"`
/** As the partial indexes have it, so that the database may use them. */
const isOnChain = `state IN ('settled', 'refunded') AND "transaction" IS NOT NULL`

const toSettlement = (row: SettlementRow): PublicSettlement => {
  return { ...row, amount: BigInt(row.amount), isSelf: row.isSelf === 1 }
}

/** Reads the payments that settled, in the order in which they were kept, or newest first. */
export function createSettlementReader(sql: SqlReader) {
  return {
    /** The number of the newest row of activity; 0 before the first. */
    async newestRow(): Promise<number> {
      const row = await sql.get<{ id: number | null }>('SELECT max(id) AS id FROM activity')
      return row?.id ?? 0
    },
    /** Looks through at most `limit` rows after this one. */
    async settledAfter(
      row: number,
      limit: number,
    ): Promise<{ last: number; settled: PublicSettlement[] }> {
      const end = await sql.get<{ last: number | null }>(
        `SELECT max(id) AS last FROM (SELECT id FROM activity WHERE id > $1 ORDER BY id LIMIT $2) AS page`,
        [row, limit],
      )
      const last = end?.last ?? null
      if (last === null) return { last: row, settled: [] }
      const rows = await sql.all<SettlementRow>(
        `SELECT ${columns} FROM activity
         WHERE id > $1 AND id <= $2 AND state = 'settled' AND "transaction" IS NOT NULL ORDER BY id`,
        [row, last],
      )
      return { last, settled: rows.map(toSettlement) }
    },
    /**
     * Reads a page of payments, newest first. It looks through at most `PAGE_LOOKS_AT` of those that an index finds, so that
     * a page may be short before the end; `next` is the place where the next page begins, `undefined` at the end.
     */
    page: (filter: PaymentFilter) => readPage(sql, filter),
  }
}

export type SettlementReader = ReturnType<typeof createSettlementReader>

async function readPage(
  sql: SqlReader,
  filter: PaymentFilter,
): Promise<{ items: PublicSettlement[]; next: PaymentPlace | undefined }> {
  const { state, payer, payTo, since = 0, until = Number.MAX_SAFE_INTEGER, limit } = filter
  const start = filter.before ?? { at: until, id: 0 }
  const values: Value[] = [state, since, until, start.at, start.id]
  const add = (value: Value) => `$${values.push(value)}`
  // A buyer has fewer payments than a seller: theirs are found, and looked through for the seller.
  const isOf = payer === undefined ? payTo && ['pay_to', payTo] : ['payer', payer]
  const found = `FROM activity WHERE ${isOnChain} AND state = $1 AND at >= $2 AND at < $3 AND (at, id) < ($4, $5)
    ${isOf ? `AND ${isOf[0]} = ${add(isOf[1] as Address)}` : ''}`
  const newestFirst = 'ORDER BY at DESC, id DESC LIMIT'
  const end = await sql.get<PaymentPlace>(
    `SELECT at, id ${found} ${newestFirst} 1 OFFSET ${PAGE_LOOKS_AT - 1}`,
    [...values],
  )
  const wanted = [
    ...(end === undefined ? [] : [`(at, id) >= (${add(end.at)}, ${add(end.id)})`]),
    ...(payer === undefined || payTo === undefined ? [] : [`pay_to = ${add(payTo)}`]),
    ...(filter.network === undefined ? [] : [`network = ${add(filter.network)}`]),
    ...(filter.minAmount === undefined ? [] : [atLeast('amount', add(filter.minAmount))]),
    ...(filter.maxAmount === undefined ? [] : [atLeast(add(filter.maxAmount), 'amount')]),
  ]
  const rows = await sql.all<SettlementRow>(
    `SELECT ${columns} ${[found, ...wanted].join(' AND ')} ${newestFirst} ${limit + 1}`,
    values,
  )
  const items = rows.slice(0, limit).map(toSettlement)
  const last = rows.length > limit ? items.at(-1) : end
  return { items, next: last && { at: last.at, id: last.id } }
}

/** Returns the condition that one amount, as decimal digits without leading zeros, is not below another. */
export function atLeast(amount: string, least: string): string {
  return `(length(${amount}) > length(${least}) OR (length(${amount}) = length(${least}) AND ${amount} >= ${least}))`
}
