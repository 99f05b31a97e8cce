import type { CheckReason, Delivery } from '@arcus/protocol/answers/paid-checks'
import type { CallTarget } from '@arcus/protocol/x402/calls'
import type { Address, Hex } from 'viem'
import { all, get, run, type Sql, type SqlReader, type Steps } from '../../sql/sql.js'

/** The money that a check signs away. */
export interface CheckPayment {
  /** In lower case, as all addresses here. */
  payer: Address
  nonce: Hex
  /** Atomic units. */
  amount: bigint
  /** Unix seconds from which on nobody can settle it. */
  validBefore: number
  /** The block after which it may be settled. */
  afterBlock: number
}

/** What is bought, and of whom. */
export interface CheckTarget {
  endpointId: number
  merchantId: string
  network: string
  url: string
  method: CallTarget['method']
  /** Empty for what is no tool. */
  toolName: string
  asset: Address
  payTo: Address
}

/** What the answer to the payment was. */
export interface CheckOutcome {
  reason: CheckReason
  /** `null` without a whole answer. */
  ms: number | null
  bytes: number | null
  /** `0x` and 64 digits. */
  sha256: Hex | null
}

/** A paid check as it is kept. Times are Unix seconds. */
export interface PaidCheck extends CheckTarget, Omit<CheckOutcome, 'reason'> {
  id: number
  amount: number
  payer: Address | null
  nonce: Hex | null
  validBefore: number | null
  afterBlock: number | null
  startedAt: number
  /** `null` while it is not known. */
  reason: CheckReason | null
  transaction: Hex | null
  closedAt: number | null
  /** The address whose key signed the verdict, and its signature. */
  checker: Address | null
  signature: Hex | null
}

/** The end of a check: what it found, and the transaction if it paid. */
export interface CheckVerdict
  extends CheckOutcome,
    Pick<PaidCheck, 'transaction' | 'checker' | 'signature'> {
  closedAt: number
}

interface CheckBounds {
  /** Atomic units of a dollar token that a UTC day may cost. */
  dailyLimit: bigint
  /** Seconds from the start of one check to that of the next. */
  gapSeconds: number
}

/** The limits of the next purchase. */
interface CheckBudget {
  /** The token of dollars, in lower case. */
  asset: Address
  /** The most that one check may cost, atomic units. */
  mostAtomic: bigint
  /** The most that all checks of a UTC day may cost, atomic units. */
  dailyLimit: bigint
  /** Unix seconds. */
  now: number
}

const DAY_SECONDS = 86_400
/** No endpoint of others is bought from again within this time unless its owner asks. */
const PAUSE_SECONDS = 7 * DAY_SECONDS
/** The operator's own endpoints are bought from so often, or as often as half of the day's money allows. */
const OWN_PAUSE_SECONDS = 3_600
/** An attempt that said nothing about the endpoint is made again after this time. */
const RETRY_SECONDS = 3_600
const MAX_REQUESTS_A_DAY = 3
const SHOWN = 50
/** Checks of which the figures are made. */
const COUNTED = 10

const columns = `id, endpoint_id AS "endpointId", merchant_id AS "merchantId", network, url, method,
  tool_name AS "toolName", asset, pay_to AS "payTo", amount, payer, nonce, valid_before AS "validBefore",
  after_block AS "afterBlock", started_at AS "startedAt", reason, ms, bytes, sha256, tx AS "transaction",
  closed_at AS "closedAt", checker, signature`

/** Paid checks and what owners ask of them. */
export function createCheckStore(sql: Sql) {
  const queue = createCheckQueue(sql)
  return {
    candidates: queue.candidates,

    /** Returns the start of the last attempt; 0 before the first. One of a clock that was ahead is none. */
    async lastStart(now: number): Promise<number> {
      const text = 'SELECT max(started_at) AS at FROM paid_checks WHERE started_at <= $1'
      return (await sql.get<{ at: number | null }>(text, [now]))?.at ?? 0
    },

    /** Returns what checks have signed away since a time, atomic units. */
    async signedAwaySince(start: number): Promise<bigint> {
      return BigInt((await sql.get<{ amount: number }>(SPENT, [start]))?.amount ?? 0)
    },

    /**
     * Keeps that this payment is about to be signed, and returns the id of the check. `undefined` where the day's money is
     * spent, or another check began a moment ago: then it must not be signed.
     */
    reserve: (
      target: CheckTarget,
      payment: CheckPayment,
      now: number,
      { dailyLimit, gapSeconds }: CheckBounds,
    ): Promise<number | undefined> =>
      sql.transaction(
        function* () {
          const spent = yield* spentSince(now - (now % DAY_SECONDS))
          if (BigInt(spent) + payment.amount > dailyLimit) return undefined
          const recent = yield* get(
            `SELECT 1 FROM paid_checks WHERE started_at > $1 AND started_at <= $2 AND state <> 'skipped'`,
            [now - gapSeconds, now],
          )
          return recent === undefined
            ? yield* insert(target, { state: 'paying', reason: null, now, payment })
            : undefined
        },
        { lock: 'paid checks' },
      ),

    /** Keeps a check that paid nothing, and returns its id. One without a reason says nothing about the endpoint. */
    keepUnpaid: (
      target: CheckTarget,
      reason: CheckReason | undefined,
      now: number,
    ): Promise<number> =>
      sql.transaction(function* () {
        const state = reason === undefined ? 'skipped' : 'paying'
        yield* closeRequests(target.endpointId)
        return yield* insert(target, { state, reason: reason ?? null, now })
      }),

    /** Keeps what the answer was, until it is known whether the payment settled. */
    noteOutcome: (id: number, { reason, ms, bytes, sha256 }: CheckOutcome): Promise<number> =>
      sql.run(
        `UPDATE paid_checks SET reason = $2, ms = $3, bytes = $4, sha256 = $5
         WHERE id = $1 AND state = 'paying'`,
        [id, reason, ms, bytes, sha256],
      ),

    /** Returns checks that are not closed, oldest first. */
    open: (limit: number): Promise<PaidCheck[]> =>
      sql.all<PaidCheck>(
        `SELECT ${columns} FROM paid_checks WHERE state = 'paying' ORDER BY id LIMIT $1`,
        [limit],
      ),

    /** Returns the last closed checks of an endpoint, newest first. */
    closedOf: (endpointId: number): Promise<PaidCheck[]> =>
      sql.all<PaidCheck>(
        `SELECT ${columns} FROM paid_checks WHERE endpoint_id = $1 AND state = 'closed'
         ORDER BY id DESC LIMIT ${SHOWN}`,
        [endpointId],
      ),

    /** Counts the closed checks by reason, and finds the last one of each of our own endpoints; for figures of the service. */
    async figures(budget: Omit<CheckBudget, 'now'>) {
      const rows = await sql.all<{ reason: CheckReason; count: number; last: number }>(
        `SELECT reason, count(*) AS count, max(closed_at) AS last FROM paid_checks
         WHERE state = 'closed' GROUP BY reason`,
      )
      const own = await sql.all<{ reason: CheckReason; at: number }>(
        `SELECT c.reason, c.closed_at AS at FROM endpoints e JOIN paid_checks c ON c.id = (
           SELECT max(l.id) FROM paid_checks l
           WHERE l.endpoint_id = e.id AND l.state = 'closed' AND l.reason <> 'interrupted')
         WHERE e.is_hosted = 1`,
      )
      return { byReason: rows, own, ownPauseSeconds: await queue.ownPauseSeconds(budget) }
    },

    /** Keeps the wish of an owner for a check, which a signed message states. */
    request: (wish: {
      owner: Address
      nonce: Hex
      merchantId: string
      endpointId: number
      now: number
    }): Promise<{ state: 'done' | 'replayed' | 'tooMany'; left: number }> =>
      sql.transaction(
        function* () {
          const { owner, nonce, merchantId, endpointId, now } = wish
          const known = yield* get('SELECT 1 FROM check_requests WHERE owner = $1 AND nonce = $2', [
            owner,
            nonce,
          ])
          if (known !== undefined) return { state: 'replayed', left: 0 }
          yield* run('DELETE FROM check_requests WHERE asked_at <= $1', [now - PAUSE_SECONDS])
          const recent = yield* get<{ count: number }>(
            `SELECT count(*) AS count FROM check_requests
             WHERE (merchant_id = $1 OR owner = $2) AND asked_at > $3`,
            [merchantId, owner, now - DAY_SECONDS],
          )
          const left = MAX_REQUESTS_A_DAY - (recent?.count ?? 0)
          if (left <= 0) return { state: 'tooMany', left: 0 }
          yield* run(
            `INSERT INTO check_requests (owner, nonce, merchant_id, endpoint_id, asked_at, is_open)
             VALUES ($1, $2, $3, $4, $5, 1)`,
            [owner, nonce, merchantId, endpointId, now],
          )
          return { state: 'done', left: left - 1 }
        },
        { lock: 'paid checks' },
      ),
  }
}

export type CheckStore = ReturnType<typeof createCheckStore>

const SPENT = `SELECT CAST(COALESCE(sum(amount), 0) AS BIGINT) AS amount FROM paid_checks
  WHERE started_at >= $1`

function* spentSince(start: number): Steps<number> {
  return (yield* get<{ amount: number }>(SPENT, [start]))?.amount ?? 0
}

function* insert(
  { endpointId, merchantId, network, url, method, toolName, asset, payTo }: CheckTarget,
  row: { state: string; reason: CheckReason | null; now: number; payment?: CheckPayment },
): Steps<number> {
  const { state, reason, now, payment } = row
  const inserted = yield* get<{ id: number }>(
    `INSERT INTO paid_checks (endpoint_id, merchant_id, network, url, method, tool_name, asset, pay_to,
       amount, payer, nonce, valid_before, after_block, started_at, state, reason)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) RETURNING id`,
    [
      ...[endpointId, merchantId, network, url, method, toolName, asset, payTo],
      ...[payment?.amount ?? 0, payment?.payer ?? null, payment?.nonce ?? null],
      ...[payment?.validBefore ?? null, payment?.afterBlock ?? null, now, state, reason],
    ],
  )
  return (inserted as { id: number }).id
}

function* closeRequests(endpointId: number): Steps<void> {
  yield* run('UPDATE check_requests SET is_open = 0 WHERE endpoint_id = $1 AND is_open = 1', [
    endpointId,
  ])
}

/** Closes a check; returns it unless it was closed before. */
export function* closeCheck(id: number, verdict: CheckVerdict): Steps<PaidCheck | undefined> {
  const changed = yield* run(
    `UPDATE paid_checks SET state = 'closed', reason = $2, ms = $3, bytes = $4, sha256 = $5, tx = $6,
       closed_at = $7, checker = $8, signature = $9 WHERE id = $1 AND state = 'paying'`,
    [
      ...[id, verdict.reason, verdict.ms, verdict.bytes, verdict.sha256, verdict.transaction],
      ...[verdict.closedAt, verdict.checker, verdict.signature],
    ],
  )
  if (changed === 0) return undefined
  const check = yield* get<PaidCheck>(`SELECT ${columns} FROM paid_checks WHERE id = $1`, [id])
  // A check that broke off as well, so that nobody is bought from again and again.
  if (check !== undefined) yield* closeRequests(check.endpointId)
  return check
}

/** Makes the figures of an endpoint from its last checks; `undefined` before the first. */
export function* deliveryOf(endpointId: number): Steps<Delivery | undefined> {
  const checks = yield* all<PaidCheck>(
    `SELECT ${columns} FROM paid_checks
     WHERE endpoint_id = $1 AND state = 'closed' AND reason <> 'interrupted'
     ORDER BY id DESC LIMIT ${COUNTED}`,
    [endpointId],
  )
  const [last] = checks
  if (last === undefined) return undefined
  const delivered = checks.filter(({ reason }) => reason === 'delivered')
  const times = delivered.flatMap(({ ms }) => ms ?? []).sort((a, b) => a - b)
  return {
    last: verdictOf(last),
    share: Math.round((delivered.length / checks.length) * 100) / 100,
    p50Ms: times[Math.ceil(times.length / 2) - 1] ?? null,
    outdated: false,
  }
}

/** Merchants whose payout address stands behind the owner, as `payToProofOf` says, and that the public sees. */
const isProven = `m.hidden_reason IS NULL AND m.deleted_at IS NULL AND (m.owner = m.pay_to
  OR (m.confirmed_owner = m.owner AND m.confirmed_pay_to = m.pay_to)
  OR (m.owner IS NULL AND m.id NOT LIKE 'payto-%') OR m.is_official = 1)`

const ofEndpoint = 'c.url = e.url AND c.method = e.method AND c.tool_name = e.tool_name'

const isForSale = `e.status = 'live' AND e.method <> 'MCP' AND e.asset = $1
  AND CAST(e.price AS BIGINT) <= $2`

/** Says which endpoints are bought from, and in which order. */
function createCheckQueue(sql: SqlReader) {
  /** Returns the pause after which all our own endpoints together cost half of what a day may cost. */
  async function ownPauseSeconds({ asset, mostAtomic, dailyLimit }: Omit<CheckBudget, 'now'>) {
    const text = `SELECT CAST(sum(CAST(e.price AS BIGINT)) AS BIGINT) AS price FROM endpoints e
      WHERE e.is_hosted = 1 AND ${isForSale}`
    const found = await sql.get<{ price: number | null }>(text, [asset, mostAtomic])
    const seconds = Math.ceil((2 * DAY_SECONDS * (found?.price ?? 0)) / Number(dailyLimit))
    return Math.max(OWN_PAUSE_SECONDS, seconds)
  }

  return {
    ownPauseSeconds,
    /**
     * Returns the ids of endpoints that a check may buy from, the next first: our own endpoints after their pause, those
     * asked for, never checked (our own before others), then the oldest check. Of those alike, sellers come first who sold
     * less to checks within a day.
     */
    async candidates({ asset, mostAtomic, dailyLimit, now }: CheckBudget, limit: number) {
      const text = `SELECT id FROM (
          SELECT e.id, e.is_hosted, e.created_at, COALESCE(sales.bought, 0) AS bought,
            (SELECT min(r.asked_at) FROM check_requests r WHERE r.endpoint_id = e.id AND r.is_open = 1) AS asked,
            (SELECT max(c.started_at) FROM paid_checks c WHERE ${ofEndpoint} AND c.state <> 'skipped') AS checked,
            (SELECT max(c.started_at) FROM paid_checks c WHERE ${ofEndpoint} AND c.state = 'skipped') AS tried
          FROM endpoints e JOIN merchants m ON m.id = e.merchant_id
          LEFT JOIN (SELECT pay_to, count(*) AS bought FROM paid_checks WHERE started_at > $6
            GROUP BY pay_to) AS sales ON sales.pay_to = m.pay_to
          WHERE ${isForSale} AND ${isProven}) AS found
        WHERE asked IS NOT NULL OR (COALESCE(tried, 0) <= $4
          AND (COALESCE(checked, 0) <= $3 OR (is_hosted = 1 AND checked <= $7)))
        ORDER BY CASE WHEN is_hosted = 1 AND checked <= $7 AND COALESCE(tried, 0) <= $4 THEN 0 ELSE 1 END,
          CASE WHEN asked IS NULL THEN 1 ELSE 0 END, asked,
          CASE WHEN checked IS NULL THEN 0 ELSE 1 END, is_hosted DESC, bought,
          COALESCE(checked, 0), created_at DESC, id LIMIT $5`
      const times = [now - PAUSE_SECONDS, now - RETRY_SECONDS]
      const ownPause = await ownPauseSeconds({ asset, mostAtomic, dailyLimit })
      const values = [asset, mostAtomic, ...times, limit, now - DAY_SECONDS, now - ownPause]
      return (await sql.all<{ id: number }>(text, values)).map(({ id }) => id)
    },
  }
}

/** Returns what everybody is shown first of a closed check. */
export function verdictOf(check: PaidCheck): Delivery['last'] {
  const { closedAt, startedAt, ms, transaction } = check
  const reason = check.reason ?? 'interrupted'
  return { at: closedAt ?? startedAt, delivered: reason === 'delivered', reason, ms, transaction }
}
