import type { Usage } from '@arcus/protocol/answers/fields'
import type { CheckReason, Delivery } from '@arcus/protocol/answers/paid-checks'
import type { CallTarget } from '@arcus/protocol/x402/calls'
import type { Address, Hex } from 'viem'
import { DAY_SECONDS } from '../../async/time.js'
import { all, get, run, type Sql, type SqlReader, type Steps } from '../../sql/sql.js'
import { siteOf } from './site.js'

/** The money that a check signs away. */
export interface SignedCheckPayment {
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

/**
 * Why an endpoint is bought from: it is the operator's own, its owner asked, its check is the oldest, it was never checked, or
 * it was drawn by lot.
 */
export type CheckKind = 'own' | 'asked' | 'oldest' | 'first' | 'lot'

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
  kind: CheckKind
  /** The block of the address that answers there; empty for a private one, whose endpoints share neither block nor site. */
  block: string
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
export interface PaidCheck
  extends Omit<CheckTarget, 'kind' | 'block'>,
    Omit<CheckOutcome, 'reason'> {
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

/** No endpoint of others is bought from again within this time unless its owner asks. */
const PAUSE_SECONDS = 7 * DAY_SECONDS
/** The least pause between two checks of an endpoint of the operator; longer if half of the day's money requires it. */
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
    isFirstOfBlock: queue.isFirstOfBlock,

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
      payment: SignedCheckPayment,
      now: number,
      bounds: CheckBounds,
    ): Promise<number | undefined> =>
      sql.transaction(() => reserve(target, payment, now, bounds), { lock: 'paid checks' }),

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
    request: (wish: CheckWish): Promise<CheckWishResult> =>
      sql.transaction(() => keepWish(wish), { lock: 'paid checks' }),
  }
}

export type CheckStore = ReturnType<typeof createCheckStore>

const SPENT = `SELECT CAST(COALESCE(sum(amount), 0) AS BIGINT) AS amount FROM paid_checks
  WHERE started_at >= $1`

function* spentSince(start: number): Steps<number> {
  return (yield* get<{ amount: number }>(SPENT, [start]))?.amount ?? 0
}

/** Inserts a check that is about to pay; `undefined` where it may not. */
function* reserve(
  target: CheckTarget,
  payment: SignedCheckPayment,
  now: number,
  { dailyLimit, gapSeconds }: CheckBounds,
): Steps<number | undefined> {
  const spent = yield* spentSince(now - (now % DAY_SECONDS))
  if (BigInt(spent) + payment.amount > dailyLimit) return undefined
  const recent = yield* get(
    `SELECT 1 FROM paid_checks WHERE started_at > $1 AND started_at <= $2 AND state <> 'skipped'`,
    [now - gapSeconds, now],
  )
  return recent === undefined
    ? yield* insert(target, { state: 'paying', reason: null, now, payment })
    : undefined
}

/** A signed request of an owner for a check. */
interface CheckWish {
  owner: Address
  nonce: Hex
  merchantId: string
  endpointId: number
  /** Unix seconds. */
  now: number
}

/** Says whether the request was kept, and how many more checks its owner may ask for today. */
interface CheckWishResult {
  state: 'done' | 'replayed' | 'tooMany'
  left: number
}

function* keepWish(wish: CheckWish): Steps<CheckWishResult> {
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
}

function* insert(
  target: CheckTarget,
  row: { state: string; reason: CheckReason | null; now: number; payment?: SignedCheckPayment },
): Steps<number> {
  const { endpointId, merchantId, network, url, method, toolName, asset, payTo } = target
  const { state, reason, now, payment } = row
  const inserted = yield* get<{ id: number }>(
    `INSERT INTO paid_checks (endpoint_id, merchant_id, network, url, method, tool_name, asset, pay_to,
       amount, payer, nonce, valid_before, after_block, started_at, state, reason, kind, site, block)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
     RETURNING id`,
    [
      ...[endpointId, merchantId, network, url, method, toolName, asset, payTo],
      ...[payment?.amount ?? 0, payment?.payer ?? null, payment?.nonce ?? null],
      ...[payment?.validBefore ?? null, payment?.afterBlock ?? null, now, state, reason],
      ...[target.kind, target.block === '' ? '' : siteOf(url), target.block],
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
    checks: checks.length,
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

  /** Returns what was signed away since the start of the day, by kind. */
  async function spentToday(now: number): Promise<Map<CheckKind, number>> {
    const rows = await sql.all<{ kind: CheckKind; amount: number }>(
      `SELECT kind, CAST(sum(amount) AS BIGINT) AS amount FROM paid_checks WHERE started_at >= $1 GROUP BY kind`,
      [now - (now % DAY_SECONDS)],
    )
    return new Map(rows.map(({ kind, amount }) => [kind, amount]))
  }

  async function select(turn: CheckTurn, budget: CheckBudget, most: bigint, limit: number) {
    const { asset, now } = budget
    const [from, order] = turns[turn]
    const ownPause = await ownPauseSeconds(budget)
    const times = [
      now - PAUSE_SECONDS,
      now - RETRY_SECONDS,
      now - ownPause,
      now - (now % DAY_SECONDS),
    ]
    const text = `${due} SELECT id, figures FROM due WHERE ${from} ORDER BY ${order}, id LIMIT $7`
    return sql.all<Due>(text, [asset, most, ...times, limit])
  }

  return {
    ownPauseSeconds,
    /** Returns whether no first check was made today of what answers from this block of addresses. */
    async isFirstOfBlock(block: string, now: number): Promise<boolean> {
      const text = `SELECT 1 AS found FROM paid_checks WHERE block = $1 AND started_at >= $2
        AND kind = 'first' AND state <> 'skipped' LIMIT 1`
      return (await sql.get(text, [block, now - (now % DAY_SECONDS)])) === undefined
    },
    /**
     * Returns endpoints that a check may buy from, the next first, each with the reason: our own endpoints after their pause,
     * those asked for, our own that were never checked. Of the rest, half of the money goes to the oldest checks, whoever's
     * they are. The other half goes to first checks, the cheapest first and one a day for each site, and then by lot among
     * those that are due, where customers who also paid others weigh: a key that lists something new every day gets no more
     * than its lot.
     */
    async candidates(
      budget: CheckBudget,
      limit: number,
    ): Promise<{ id: number; kind: CheckKind }[]> {
      const { mostAtomic, dailyLimit, now } = budget
      const spent = await spentToday(now)
      const of = (kind: CheckKind) => spent.get(kind) ?? 0
      const others = of('asked') + of('first') + of('lot')
      const leftForFirst = dailyLimit / 2n - BigInt(of('first'))
      const mostForFirst = leftForFirst < mostAtomic ? leftForFirst : mostAtomic
      const rest: readonly CheckTurn[] =
        of('oldest') <= others ? ['oldest', 'first', 'lot'] : ['first', 'lot', 'oldest']
      const found = new Map<number, CheckKind>()
      for (const turn of ['ownDue', 'asked', 'ownNew', ...rest] as const) {
        if (found.size >= limit) break
        const most = turn === 'first' ? mostForFirst : mostAtomic
        const rows = await select(turn, budget, most, turn === 'lot' ? MAX_DRAWN : limit)
        const kind = turn === 'ownDue' || turn === 'ownNew' ? 'own' : turn
        for (const { id } of turn === 'lot' ? drawn(rows) : rows) {
          if (!found.has(id)) found.set(id, kind)
        }
      }
      return [...found].slice(0, limit).map(([id, kind]) => ({ id, kind }))
    },
  }
}

interface Due {
  id: number
  figures: string | null
}

/** Endpoints among which one is drawn: those whose checks are oldest. */
const MAX_DRAWN = 2_000

/** Puts endpoints in the order of a lot in which each customer who counts is one ticket more. */
function drawn(rows: readonly Due[]): Due[] {
  const lots = rows.map((row) => {
    const usage: Usage | null = JSON.parse(row.figures ?? 'null')
    return { row, lot: -Math.log(1 - Math.random()) / (1 + (usage?.payers['30d'] ?? 0)) }
  })
  return lots.sort((a, b) => a.lot - b.lot).map(({ row }) => row)
}

/** Endpoints that may be bought from, with what is known of their checks. A wish for a first check is one for its site as well. */
const due = `WITH found AS (
    SELECT e.id, e.is_hosted, e.site, CAST(e.price AS BIGINT) AS price, e.created_at, u.figures,
      (SELECT min(r.asked_at) FROM check_requests r WHERE r.endpoint_id = e.id AND r.is_open = 1) AS asked,
      (SELECT max(c.started_at) FROM paid_checks c WHERE ${ofEndpoint} AND c.state <> 'skipped') AS checked,
      (SELECT max(c.started_at) FROM paid_checks c WHERE ${ofEndpoint} AND c.state = 'skipped') AS tried,
      (SELECT max(c.started_at) FROM paid_checks c WHERE c.site = e.site AND c.kind IN ('first', 'asked')
         AND c.state <> 'skipped') AS of_site
    FROM endpoints e JOIN merchants m ON m.id = e.merchant_id LEFT JOIN endpoint_usage u ON u.endpoint_id = e.id
    WHERE ${isForSale} AND ${isProven}),
  due AS (SELECT id, is_hosted, price, created_at, figures, asked, checked,
      CASE WHEN checked <= $3 THEN 1 ELSE 0 END AS is_due, CASE WHEN checked <= $5 THEN 1 ELSE 0 END AS is_own_due
    FROM found WHERE (asked IS NOT NULL OR COALESCE(tried, 0) <= $4)
      AND (checked IS NOT NULL OR is_hosted = 1 OR COALESCE(of_site, 0) < $6))`

/** The ways in which the next check is chosen. */
type CheckTurn = 'ownDue' | 'ownNew' | Exclude<CheckKind, 'own'>

/** The endpoints of each way that may be bought from, and their order. */
const turns: Record<CheckTurn, readonly [from: string, order: string]> = {
  ownDue: ['is_hosted = 1 AND asked IS NULL AND is_own_due = 1', 'checked'],
  asked: ['asked IS NOT NULL', 'asked'],
  ownNew: ['is_hosted = 1 AND asked IS NULL AND checked IS NULL', 'created_at'],
  oldest: ['is_hosted = 0 AND asked IS NULL AND is_due = 1', 'checked'],
  first: ['is_hosted = 0 AND asked IS NULL AND checked IS NULL', 'price, created_at'],
  lot: ['is_hosted = 0 AND asked IS NULL AND is_due = 1', 'checked'],
}

/** Returns what everybody is shown first of a closed check. */
export function verdictOf(check: PaidCheck): Delivery['last'] {
  const { closedAt, startedAt, ms, transaction } = check
  const reason = check.reason ?? 'interrupted'
  return { at: closedAt ?? startedAt, delivered: reason === 'delivered', reason, ms, transaction }
}
