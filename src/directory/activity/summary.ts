import type {
  ActivityScope,
  ActivityStore,
  ActivitySum,
  PayerTotals,
} from '../../store/activity.js'
import { formatAtomic, formatUnits } from '../../x402/amounts.js'

type Reads = Pick<ActivityStore, 'sums' | 'payers' | 'latencies'>
type LatencyStep = { upToMs: number; count: number }

/**
 * What a merchant sees of a range: its sums, and the same by hour or day. Amounts are decimal strings of atomic units
 * beside their dollars.
 */
export async function readActivity(store: Reads, scope: ActivityScope) {
  const [sums, payers, verifies, settles] = await Promise.all([
    store.sums(scope),
    store.payers(scope),
    store.latencies(scope, 'verify'),
    store.latencies(scope, 'settle'),
  ])
  return { summary: summarize(sums, payers, { verifies, settles }), series: toSeries(sums) }
}

function summarize(
  sums: readonly ActivitySum[],
  payers: PayerTotals,
  { verifies, settles }: Record<'verifies' | 'settles', readonly LatencyStep[]>,
) {
  const settled = sums.filter((it) => it.kind === 'settle' && it.state === 'settled')
  const failed = sums.filter((it) => it.kind === 'settle' && it.state === 'failed')
  const revenue = total(settled.filter(({ isSelf }) => !isSelf))
  return {
    verify: {
      count: count(sums.filter(({ kind }) => kind === 'verify')),
      valid: count(sums.filter(({ kind, state }) => kind === 'verify' && state === 'valid')),
      ...percentiles(verifies),
    },
    settle: {
      count: count(sums.filter(({ kind }) => kind === 'settle')),
      settled: count(settled),
      failed: count(failed),
      successRate: rate(count(settled), count(settled) + count(failed)),
      ...percentiles(settles),
    },
    revenue: money(revenue),
    selfPayments: {
      count: count(settled.filter(({ isSelf }) => isSelf)),
      ...money(total(settled.filter(({ isSelf }) => isSelf))),
    },
    payers: {
      unique: payers.unique,
      repeat: payers.repeat,
      topShare:
        payers.amount === 0n ? null : Number((payers.topAmount * 10_000n) / payers.amount) / 10_000,
    },
    gasUsd: formatUnits(
      settled.reduce((sum, { gas }) => sum + gas, 0n),
      12,
    ),
    failures: failuresByReason(sums),
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
  return [...buckets].map(([bucket, sums]) => {
    const settled = sums.filter(({ state }) => state === 'settled')
    return {
      at: bucket,
      verifies: count(sums.filter(({ kind }) => kind === 'verify')),
      settled: count(settled),
      failed: count(sums.filter(({ kind, state }) => kind === 'settle' && state === 'failed')),
      ...money(total(settled.filter(({ isSelf }) => !isSelf))),
    }
  })
}

export function money(amount: bigint): { amount: string; usd: string } {
  return { amount: amount.toString(), usd: formatAtomic(amount) }
}

function failuresByReason(sums: readonly ActivitySum[]) {
  const reasons = new Map<string, { kind: string; reason: string; count: number }>()
  for (const { kind, state, reason, count } of sums) {
    if (state !== 'failed' && state !== 'invalid') continue
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
