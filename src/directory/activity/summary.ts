import type { ActivityAnswer } from '../../api/activity.js'
import type {
  ActivityKind,
  ActivityScope,
  ActivityStore,
  ActivitySum,
  PayerTotals,
} from '../../store/activity.js'
import { formatAtomic, formatUnits } from '../../x402/amounts.js'

type Reads = Pick<ActivityStore, 'sums' | 'payers' | 'latencies'>
type LatencyStep = { upToMs: number; count: number }

/**
 * What a merchant sees of a range: its sums, and the same by hour or day, net of refunds. Payments of the owner, the
 * recipient or a relayer to themselves stand apart in `selfPayments` and in nothing else; refusals stand apart from
 * failures, for anybody can be refused. Amounts are decimal strings of atomic units beside their dollars.
 */
export async function readActivity(
  store: Reads,
  scope: ActivityScope,
): Promise<Pick<ActivityAnswer, 'summary' | 'series'>> {
  const [sums, payers, verifies, settles] = await Promise.all([
    store.sums(scope),
    store.payers(scope),
    store.latencies(scope, 'verify'),
    store.latencies(scope, 'settle'),
  ])
  const others = sums.filter(({ isSelf }) => !isSelf)
  const own = sums.filter(({ isSelf }) => isSelf)
  return {
    summary: {
      ...summarize(others, payers, { verifies, settles }),
      selfPayments: summarizeOwn(own),
    },
    series: toSeries(others),
  }
}

function summarize(
  sums: readonly ActivitySum[],
  payers: PayerTotals,
  { verifies, settles }: Record<'verifies' | 'settles', readonly LatencyStep[]>,
) {
  const settled = of(sums, 'settle', 'settled')
  const failed = of(sums, 'settle', 'failed')
  const refused = of(sums, 'settle', 'refused')
  const pending = of(sums, 'settle', 'pending')
  const refunds = of(sums, 'settle', 'refunded')
  return {
    verify: {
      count: count(of(sums, 'verify')),
      valid: count(of(sums, 'verify', 'valid')),
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
      repeat: payers.repeat,
      topShare:
        payers.amount === 0n ? null : Number((payers.topAmount * 10_000n) / payers.amount) / 10_000,
    },
    gasUsd: gasUsd([...settled, ...refunds]),
    failures: byReason(sums.filter(({ state }) => state === 'failed' || state === 'invalid')),
    refusals: byReason(refused),
  }
}

function summarizeOwn(sums: readonly ActivitySum[]) {
  const settled = of(sums, 'settle', 'settled')
  return {
    verifies: count(of(sums, 'verify')),
    count: sales(sums),
    failed: count(of(sums, 'settle', 'failed')),
    ...money(revenue(sums)),
    gasUsd: gasUsd(settled),
  }
}

/** Oldest first; an hour or day without an answer is left out. */
function toSeries(all: readonly ActivitySum[]) {
  const buckets = new Map<number, ActivitySum[]>()
  for (const sum of all) {
    const bucket = buckets.get(sum.bucket)
    if (bucket === undefined) buckets.set(sum.bucket, [sum])
    else bucket.push(sum)
  }
  return [...buckets].map(([bucket, sums]) => ({
    at: bucket,
    verifies: count(of(sums, 'verify')),
    settled: sales(sums),
    failed: count(of(sums, 'settle', 'failed')),
    ...money(revenue(sums)),
  }))
}

function of(
  sums: readonly ActivitySum[],
  kind: ActivityKind,
  state?: ActivitySum['state'],
): readonly ActivitySum[] {
  return sums.filter((sum) => sum.kind === kind && (state === undefined || sum.state === state))
}

/** Payments that settled and were not given back in full. What was sold before the range may be given back in it. */
function sales(sums: readonly ActivitySum[]): number {
  return Math.max(0, count(of(sums, 'settle', 'settled')) - count(of(sums, 'settle', 'undone')))
}

/** What was paid, less what was given back. */
function revenue(sums: readonly ActivitySum[]): bigint {
  const net = total(of(sums, 'settle', 'settled')) - total(of(sums, 'settle', 'refunded'))
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

/** Upper bounds of the steps in which the middle and the slowest twentieth lie, milliseconds. */
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

export function count(sums: readonly ActivitySum[]): number {
  return sums.reduce((sum, it) => sum + it.count, 0)
}

function total(sums: readonly ActivitySum[]): bigint {
  return sums.reduce((sum, { amount }) => sum + amount, 0n)
}

export function rate(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}
