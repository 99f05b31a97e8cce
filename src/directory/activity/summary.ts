import type { ActivityAnswer, ActivityBreakdown, Totals } from '@arcus/protocol/answers/activity'
import { formatAtomic, formatUnits } from '@arcus/protocol/x402/amounts'
import type { Stablecoin } from '@arcus/protocol/x402/currencies'
import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import { shareReads } from '../../http/cached-reply.js'
import type {
  ActivityKind,
  ActivityScope,
  ActivityStore,
  ActivitySum,
  PayerTotals,
} from '../store/activity.js'
import { type ActivityRange, activityRanges, spanOf } from './period.js'

type Reads = Pick<ActivityStore, 'sums' | 'payers' | 'payersElsewhere' | 'latencies'>
type LatencyStep = { upToMs: number; count: number }

/**
 * Reads the activity of a range for its merchant: the sums, and the same by hour or day, net of refunds. Payments of the
 * owner, the recipient or a relayer to themselves are in `selfPayments` and nowhere else. Refusals are apart from
 * failures, because anybody can be refused. Amounts are decimal strings of atomic units, with their dollars.
 */
export async function readActivity(
  store: Reads,
  scope: ActivityScope,
): Promise<Pick<ActivityAnswer, 'summary' | 'series'>> {
  const { merchantId } = scope
  const [sums, payers, elsewhere, verifies, settles] = await Promise.all([
    store.sums(scope),
    store.payers(scope),
    merchantId === undefined ? null : store.payersElsewhere({ ...scope, merchantId }),
    store.latencies(scope, 'verify'),
    store.latencies(scope, 'settle'),
  ])
  const others = sums.filter(({ isSelf }) => !isSelf)
  const own = sums.filter(({ isSelf }) => isSelf)
  return {
    summary: {
      ...summarize(others, { ...payers, elsewhere }, { verifies, settles }),
      selfPayments: summarizeOwn(own),
    },
    series: toSeries(others),
  }
}

function summarize(
  sums: readonly ActivitySum[],
  payers: PayerTotals & { elsewhere: number | null },
  { verifies, settles }: Record<'verifies' | 'settles', readonly LatencyStep[]>,
) {
  const settled = select(sums, 'settle', 'settled')
  const failed = select(sums, 'settle', 'failed')
  const refused = select(sums, 'settle', 'refused')
  const pending = select(sums, 'settle', 'pending')
  const refunds = select(sums, 'settle', 'refunded')
  return {
    verify: {
      count: count(select(sums, 'verify')),
      valid: count(select(sums, 'verify', 'valid')),
      ...percentiles(verifies),
    },
    settle: {
      count: [settled, failed, refused, pending].reduce((all, some) => all + count(some), 0),
      settled: sales(sums),
      failed: count(failed),
      refused: count(refused),
      successRate: rate(count(settled), count(settled) + count(failed)),
      ...percentiles(settles),
    },
    revenue: money(revenue(sums)),
    refunds: { count: count(refunds), ...money(total(refunds)) },
    payers: {
      unique: payers.unique,
      elsewhere: payers.elsewhere,
      repeat: payers.repeat,
      topShare: share(payers.topAmount, payers.amount),
    },
    gasUsd: gasUsd([...settled, ...refunds]),
    failures: byReason(sums.filter(({ state }) => state === 'failed' || state === 'invalid')),
    refusals: byReason(refused),
  }
}

function summarizeOwn(sums: readonly ActivitySum[]) {
  const settled = select(sums, 'settle', 'settled')
  return {
    verifies: count(select(sums, 'verify')),
    count: sales(sums),
    failed: count(select(sums, 'settle', 'failed')),
    ...money(revenue(sums)),
    gasUsd: gasUsd(settled),
  }
}

/** Returns what a merchant wants to know first, without payments to oneself. */
export function saleFigures(all: readonly ActivitySum[]) {
  const sums = all.filter(({ isSelf }) => !isSelf)
  const settled = count(select(sums, 'settle', 'settled'))
  const failed = count(select(sums, 'settle', 'failed'))
  return {
    settled: sales(sums),
    failed,
    verifies: count(select(sums, 'verify')),
    successRate: rate(settled, settled + failed),
    revenue: money(revenue(sums)),
  }
}

function toSeconds(at: number | undefined): number | null {
  return at === undefined ? null : Math.floor(at / 1_000)
}

/** Endpoints in an answer, those with most revenue. Deleted endpoints have figures too. */
const MAX_ENDPOINTS = 200

/** Reads the same range by endpoint and by payer: the endpoints with most revenue and the payers who paid most. */
export async function readBreakdown(
  store: Pick<ActivityStore, 'sumsByEndpoint' | 'payerDetail' | 'lastPaid'>,
  scope: ActivityScope,
  checksum: (address: Address) => Address,
): Promise<Pick<ActivityBreakdown, 'endpoints' | 'topPayers'>> {
  const [sums, detail, lastPaid] = await Promise.all([
    store.sumsByEndpoint(scope),
    store.payerDetail(scope),
    store.lastPaid(scope),
  ])
  return {
    endpoints: [...sums]
      .map(([id, all]) => ({
        endpointId: id === 0 ? null : id,
        ...saleFigures(all),
        payers: detail.byEndpoint.get(id) ?? 0,
        lastPaid: toSeconds(lastPaid.get(id)),
      }))
      .filter(
        ({ settled, failed, verifies, revenue }) =>
          settled + failed + verifies > 0 || revenue.amount !== '0',
      )
      .sort((a, b) => Number(BigInt(b.revenue.amount) - BigInt(a.revenue.amount)))
      .slice(0, MAX_ENDPOINTS),
    topPayers: detail.top.map(({ payer, count, amount }) => ({
      payer: checksum(payer),
      count,
      ...money(amount),
      share: share(amount, detail.amount),
    })),
  }
}

/** Returns the buckets, oldest first, without hours or days that have no answer. */
export function toSeries(all: readonly ActivitySum[]) {
  const buckets = new Map<number, ActivitySum[]>()
  for (const sum of all) {
    const bucket = buckets.get(sum.bucket)
    if (bucket === undefined) buckets.set(sum.bucket, [sum])
    else bucket.push(sum)
  }
  return [...buckets].map(([bucket, sums]) => ({
    at: bucket,
    verifies: count(select(sums, 'verify')),
    settled: sales(sums),
    failed: count(select(sums, 'settle', 'failed')),
    ...money(revenue(sums)),
  }))
}

function select(
  sums: readonly ActivitySum[],
  kind: ActivityKind,
  state?: ActivitySum['state'],
): readonly ActivitySum[] {
  return sums.filter((sum) => sum.kind === kind && (state === undefined || sum.state === state))
}

/** Counts payments that settled and were not given back in full. A sale before the range may be given back in it. */
export function sales(sums: readonly ActivitySum[]): number {
  return Math.max(
    0,
    count(select(sums, 'settle', 'settled')) - count(select(sums, 'settle', 'undone')),
  )
}

/** Sums the payments, less what was given back. */
function revenue(sums: readonly ActivitySum[]): bigint {
  const net = total(select(sums, 'settle', 'settled')) - total(select(sums, 'settle', 'refunded'))
  return net > 0n ? net : 0n
}

function gasUsd(sums: readonly ActivitySum[]): string {
  return formatUnits(
    sums.reduce((sum, { gas }) => sum + gas, 0n),
    12,
  )
}

export function money(amount: bigint): { amount: string; usd: string } {
  return { amount: amount.toString(), usd: formatAtomic(amount) }
}

function byReason(sums: readonly ActivitySum[]) {
  const reasons = new Map<string, { kind: string; reason: string; count: number }>()
  for (const { kind, reason, count } of sums) {
    const key = `${kind} ${reason}`
    const known = reasons.get(key) ?? { kind, reason: reason ?? 'unknown', count: 0 }
    reasons.set(key, { ...known, count: known.count + count })
  }
  return [...reasons.values()].sort((a, b) => b.count - a.count)
}

/** Returns the median and the 95th percentile in milliseconds, to two digits: those of the step that holds each. */
export function percentiles(steps: readonly LatencyStep[]) {
  const all = steps.reduce((sum, step) => sum + step.count, 0)
  const at = (share: number) => {
    let seen = 0
    for (const { upToMs, count } of steps) {
      seen += count
      if (seen >= all * share) return upToMs
    }
    return null
  }
  return { p50Ms: all === 0 ? null : at(0.5), p95Ms: all === 0 ? null : at(0.95) }
}

/** A token as answers about payments name it. */
export type NamedToken = Pick<Stablecoin, 'address' | 'symbol' | 'currency'>

export function count(sums: readonly ActivitySum[]): number {
  return sums.reduce((sum, it) => sum + it.count, 0)
}

function total(sums: readonly ActivitySum[]): bigint {
  return sums.reduce((sum, { amount }) => sum + amount, 0n)
}

function share(part: bigint, whole: bigint): number | null {
  return whole === 0n ? null : Number((part * 10_000n) / whole) / 10_000
}

export function rate(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}

/**
 * An answer is reused for this many times as long as it took to read: counting payers reads them all, and anybody may
 * ask. Quick answers are always new, and slow ones take at most a twentieth of the time.
 */
const REUSE = { keptTimes: 20, mostMs: 60_000 }
const MAX_KEPT = 1_000

export type PublicTotalsReader = ReturnType<typeof createPublicTotals>

/**
 * Creates the read of the public totals of a merchant, or of all merchants: totals of each range, net of refunds, without
 * payments to oneself and without payments that were never valid. `now` is in Unix milliseconds.
 */
export function createPublicTotals({ store, now }: { store: Reads; now: () => number }) {
  const reads = new LRUCache<string, () => ReturnType<typeof readAll>>({ max: MAX_KEPT })

  async function readRange(merchantId: string | undefined, range: ActivityRange): Promise<Totals> {
    const { summary } = await readActivity(store, { merchantId, ...spanOf(range, now()) })
    const { settled, successRate, p50Ms, p95Ms } = summary.settle
    const { revenue, refunds, payers } = summary
    const latency = { settleP50Ms: p50Ms, settleP95Ms: p95Ms }
    return { settled, successRate, ...latency, revenue, refunds, payers }
  }

  async function readAll(merchantId: string | undefined) {
    const ranges = activityRanges.map(async (range) => [range, await readRange(merchantId, range)])
    return Object.fromEntries(await Promise.all(ranges)) as Record<ActivityRange, Totals>
  }

  return (merchantId: string | undefined): ReturnType<typeof readAll> => {
    const key = merchantId ?? ''
    const read = reads.get(key) ?? shareReads(0, now, () => readAll(merchantId), REUSE)
    reads.set(key, read)
    return read()
  }
}
