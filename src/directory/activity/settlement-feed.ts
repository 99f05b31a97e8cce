import type { Settlement } from '@arcus/protocol/answers/activity'
import { singleFlight } from '../../async/single-flight.js'
import type { SharedPorts } from '../ports.js'
import type { PublicSettlement, SettlementReader } from '../store/activity.js'
import { findRefunded } from './refunded.js'
import type { ShowsSettlements } from './shown-settlements.js'

interface SettlementFeedOptions extends Pick<SharedPorts, 'findRefunds'> {
  store: Pick<SettlementReader, 'newestRow' | 'settledAfter'>
  toShown: ShowsSettlements
  lookMs?: number
  log: { warn(details: object, message: string): void }
}

/** The pause between two reads of the store while somebody listens. Without a listener it is never read. */
const LOOK_MS = 1_000
const KEPT = 30
const ROWS_AT_ONCE = 1_000
/** Rows that one read looks through, though nobody asked for days. Most are checks of payments. */
const MAX_ROWS = 5_000
/** A row of another process may become visible after one with a higher number. */
const LOOK_BACK = 200

export type SettlementFeed = ReturnType<typeof createSettlementFeed>

/**
 * Creates the feed of the latest settlements of all processes, with nothing but what the chain and the directory show
 * anyway.
 */
export function createSettlementFeed(options: SettlementFeedOptions) {
  const { store, toShown, findRefunds, lookMs = LOOK_MS, log } = options
  const listeners = new Set<(news: readonly Settlement[]) => void>()
  let kept: { payment: PublicSettlement; shown: Settlement }[] = []
  let seen = new Set<number>()
  let last = 0
  let readAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  async function read(): Promise<void> {
    const newest = await store.newestRow()
    const news: PublicSettlement[] = []
    let row = Math.max(0, last - LOOK_BACK, newest - MAX_ROWS)
    for (let isMore = true; isMore && !isStopped; ) {
      const page = await store.settledAfter(row, ROWS_AT_ONCE)
      news.push(...page.settled.filter(({ id }) => !seen.has(id)))
      isMore = page.last > row
      row = page.last
      // Any more of them would push these out again.
      if (news.length > KEPT) news.splice(0, news.length - KEPT)
      await new Promise((resolve) => setImmediate(resolve))
    }
    const isMoved = row !== last
    const settled = await describe(news)
    // A refund is a new row too, and comes after its payment.
    const given = isMoved ? await findGivenBack() : []
    last = row
    const from = row - LOOK_BACK
    seen = new Set([...seen, ...news.map(({ id }) => id)].filter((id) => id > from))
    kept = [...kept, ...settled].sort((a, b) => a.payment.id - b.payment.id).slice(-KEPT)
    const told = [...given, ...settled.map(({ shown }) => shown)]
    if (told.length > 0) for (const listener of listeners) listener(told)
  }

  /** Returns the payments among those shown of which something was given back since. */
  async function findGivenBack(): Promise<Settlement[]> {
    const open = kept.filter(({ shown }) => shown.refunded === null)
    const amounts = await findRefunded(
      findRefunds,
      open.map(({ payment }) => payment),
    )
    const given: Settlement[] = []
    for (const one of open) {
      const refunded = amounts.get(one.payment.id)
      if (refunded === undefined) continue
      one.shown = { ...one.shown, refunded }
      given.push(one.shown)
    }
    return given
  }

  async function describe(payments: readonly PublicSettlement[]): Promise<typeof kept> {
    const shown = await toShown(payments)
    return payments.map((payment, i) => ({ payment, shown: shown[i] as Settlement }))
  }

  /** Reads at most once in the interval, however many ask. */
  const look = singleFlight(async () => {
    if (performance.now() - readAt < lookMs || isStopped) return
    await read().finally(() => {
      readAt = performance.now()
    })
  })

  function follow(): void {
    timer = undefined
    if (isStopped || listeners.size === 0) return
    look()
      .catch((err) => log.warn({ err }, 'settlements could not be read; trying again'))
      .finally(() => {
        timer ??= setTimeout(follow, lookMs)
      })
  }

  return {
    /** Newest first. */
    async latest(): Promise<readonly Settlement[]> {
      await look()
      return kept.map(({ shown }) => shown).reverse()
    },
    /** Calls `listener` with new settlements, oldest first. Returns how to stop that. */
    subscribe(listener: (news: readonly Settlement[]) => void): () => void {
      listeners.add(listener)
      timer ??= setTimeout(follow, lookMs)
      return () => void listeners.delete(listener)
    },
    /** Resolves when nothing is read any more. */
    async stop(): Promise<void> {
      isStopped = true
      clearTimeout(timer)
      await look.underWay()?.catch(() => {})
    },
  }
}
