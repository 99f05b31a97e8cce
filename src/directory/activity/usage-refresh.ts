import type { Usage } from '@arcus/protocol/answers/fields'
import type { MayGoOn } from '../../async/background.js'
import { DAY_SECONDS, toSeconds } from '../../async/time.js'
import type { SharedPorts } from '../ports.js'
import type { ActivityStore, ActivitySum } from '../store/activity.js'
import { type PaidPlace, type UsageStore, usageWindows } from '../store/usage.js'
import { spanOf } from './period.js'
import { percentiles, saleFigures, sales, toSeries } from './summary.js'

interface UsageRefreshOptions extends Pick<SharedPorts, 'now'> {
  activity: Pick<ActivityStore, 'sums' | 'payers' | 'payersElsewhere' | 'latencies'>
  store: UsageStore
}

/** The pause is this number of times as long as the refresh before it, because counting payers reads them all. */
const PAUSE_TIMES = 10
const MAX_PAUSE_MS = 3_600_000
/** Places whose hour or day has passed that one refresh takes. */
const MAX_DUE = 500
const SAVED_AT_ONCE = 50
const HOUR_SECONDS = 3_600

/**
 * Creates the refresh of the figures that are published of each endpoint and merchant. It reads the sums of those alone that
 * were paid since, or whose hours have passed.
 */
export function createUsageRefresh(options: UsageRefreshOptions) {
  const { activity, store, now } = options

  /** Refreshes everything that changed. Resolves with the number of endpoints and merchants. */
  async function refresh(mayGoOn: MayGoOn): Promise<number> {
    const seconds = toSeconds(now())
    let after = await store.begin(seconds)
    if (after === undefined) return 0
    const changed = new Map<string | number, PaidPlace>()
    const add = (place: PaidPlace) => {
      const key = place.endpointId ?? place.merchantId
      changed.set(key, merged(place, changed.get(key)))
    }
    for (;;) {
      const page = await store.paidAfter(after)
      if (page === undefined || !mayGoOn()) break
      for (const paid of page.paid) {
        if (paid.endpointId !== null) add(paid)
        add({ ...paid, endpointId: null })
      }
      after = page.last
    }
    for (const due of await store.due(seconds, MAX_DUE)) add(due)
    const places = [...changed.values()]
    for (let at = 0; at < places.length; at += SAVED_AT_ONCE) {
      await save(places.slice(at, at + SAVED_AT_ONCE))
      // The next refresh begins where this one began, so nothing is left out.
      if (!mayGoOn()) return at
    }
    await store.finish(after)
    return places.length
  }

  async function save(places: readonly PaidPlace[]): Promise<void> {
    const rows: Parameters<UsageStore['save']>[0][number][] = []
    for (const place of places) {
      const usage = await readUsage(place, await store.find(place))
      if (usage !== undefined) rows.push({ place, usage, dueAt: dueAfter(usage, now()) })
    }
    if (rows.length > 0) await store.save(rows)
  }

  /** Reads the figures; `undefined` where no payment is known, which happens to refunds alone. */
  async function readUsage(
    { merchantId, endpointId: id, first, last }: PaidPlace,
    before: Usage | undefined,
  ): Promise<Usage | undefined> {
    const firstPaid = Math.min(...present(first, before?.firstPaid))
    const lastPaid = Math.max(...present(last, before?.lastPaid))
    if (!Number.isFinite(lastPaid)) return undefined
    const endpointId = id ?? undefined
    const calls: Record<string, number> = {}
    const payers: Record<string, number> = {}
    const onlyHere: Record<string, number> = {}
    let topPayerShare: number | null = null
    let month = monthOf([], 0)
    for (const window of usageWindows) {
      const { span, since } = spanOf(window, now())
      const scope = { merchantId, endpointId, span, since }
      const sums = (await activity.sums(scope)).filter(({ isSelf }) => !isSelf)
      calls[window] = sales(sums)
      if (window === '30d') month = monthOf(sums, since)
      const totals = await activity.payers(scope)
      const elsewhere = totals.unique === 0 ? 0 : await activity.payersElsewhere(scope)
      payers[window] = elsewhere
      onlyHere[window] = totals.unique - elsewhere
      topPayerShare =
        totals.count === 0 ? null : Math.round((totals.topCount / totals.count) * 10_000) / 10_000
    }
    const { span, since } = spanOf('30d', now())
    const steps = await activity.latencies({ merchantId, endpointId, span, since }, 'settle')
    const { p50Ms, p95Ms } = percentiles(steps)
    return {
      calls: calls as Usage['calls'],
      payers: payers as Usage['payers'],
      onlyHere: onlyHere as Usage['onlyHere'],
      topPayerShare,
      ...month,
      settleP50Ms: p50Ms,
      settleP95Ms: p95Ms,
      firstPaid,
      lastPaid,
    }
  }

  return refresh
}

/** Returns the sales of each day of the month that begins at `since` (Unix seconds), and how many payments settled once sent. */
function monthOf(sums: readonly ActivitySum[], since: number) {
  const sold = new Map(toSeries(sums).map(({ at, settled }) => [at, settled]))
  const daily = Array.from({ length: 30 }, (_, day) => sold.get(since + day * DAY_SECONDS) ?? 0)
  return { daily, successRate: saleFigures(sums).successRate }
}

/** Returns the pause after a refresh that took `tookMs`, in milliseconds, at least `leastMs`. */
export function pauseAfterRefresh(tookMs: number, leastMs: number): number {
  return Math.min(Math.max(tookMs * PAUSE_TIMES, leastMs), MAX_PAUSE_MS)
}

function merged(paid: PaidPlace, before: PaidPlace | undefined): PaidPlace {
  if (before === undefined) return paid
  const first = present(before.first, paid.first)
  const last = present(before.last, paid.last)
  return {
    ...paid,
    first: first.length === 0 ? null : Math.min(...first),
    last: last.length === 0 ? null : Math.max(...last),
  }
}

function present(...values: (number | null | undefined)[]): number[] {
  return values.filter((value) => value != null)
}

/** Returns the moment at which the figures change without a payment: a window of hours or of days moves on. */
function dueAfter({ calls, payers, onlyHere }: Usage, now: number): number | null {
  const seconds = Math.floor(now / 1000)
  const next = (step: number) => seconds - (seconds % step) + step
  const all = (window: '24h' | '30d') => calls[window] + payers[window] + onlyHere[window]
  if (all('24h') > 0) return next(HOUR_SECONDS)
  return all('30d') > 0 ? next(DAY_SECONDS) : null
}
