import type { Address } from 'viem'
import { LeaseLostError } from '../store/leases.js'
import type { GasSpending, Outcome, SettlementJournal } from '../store/settlement-journal.js'
import type { RelayerEvents } from './relayer-events.js'
import type { TrackedJob, TrackedJobs } from './tracked-jobs.js'

export interface OutcomeKeeperOptions {
  network: string
  journal: SettlementJournal
  tracked: TrackedJobs
  events: RelayerEvents
  /** Unix milliseconds. */
  now: () => number
  log: { info(o: object, m: string): void; warn(o: object, m: string): void }
}

export interface Decision {
  entry: TrackedJob
  outcome: Outcome
}

/** A slot that its receipt closes, and what the transaction cost whom. */
export interface ClosedSlot {
  relayer: Address
  relayerNonce: number
  /** Of the lease under which it was worked on. */
  epoch: number
  spending: Omit<GasSpending, 'network'>
}

export interface OutcomeKeeper {
  /**
   * Keeps outcomes, and the closed slot with them, in one commit; only then are they told. What another process works on
   * by now is let go instead: that one finds the truth.
   */
  keep(decisions: readonly Decision[], closed?: ClosedSlot): Promise<void>
  decide(entry: TrackedJob, outcome: Outcome): Promise<void>
  /** Decides what the chain has not, unless a transaction signed for it may still land; whether it did. */
  refuse(entry: TrackedJob, outcome: Outcome): Promise<boolean>
  /** Tries until it succeeds, ever more slowly; throws only once the relayer has stopped, or has lost the lease. */
  persistently<Result>(attempt: () => Promise<Result>): Promise<Result>
  stop(): void
}

const FIRST_RETRY_MS = 250
const LAST_RETRY_MS = 5_000

/** Keeps what became of jobs. A disk or a node that refuses is asked until it answers: an outcome is never dropped. */
export function createOutcomeKeeper(options: OutcomeKeeperOptions): OutcomeKeeper {
  const { network, journal, tracked, events, now, log } = options
  let isStopped = false

  async function persistently<Result>(attempt: () => Promise<Result>): Promise<Result> {
    for (let wait = FIRST_RETRY_MS; ; wait = Math.min(wait * 2, LAST_RETRY_MS)) {
      try {
        return await attempt()
      } catch (error) {
        if (isStopped || error instanceof LeaseLostError) throw error
        log.warn({ err: error }, 'not yet; trying again')
        await new Promise((resolve) => setTimeout(resolve, wait))
      }
    }
  }

  async function keep(decisions: readonly Decision[], closed?: ClosedSlot): Promise<void> {
    const outcomes = decisions.map(({ entry: { job }, outcome }) => ({
      id: job.id,
      round: job.round,
      outcome,
    }))
    const change = {
      ...(closed && { slot: { network, ...placeOf(closed) } }),
      outcomes,
      ...spendingOf(decisions, closed),
    }
    const kept = new Map((await resolve(change)).map(({ id, outcome }) => [id, outcome]))
    for (const { entry } of decisions) {
      const outcome = kept.get(entry.job.id)
      if (outcome === undefined) {
        tracked.abandon(entry.job.id, entry.job.round)
        continue
      }
      const { state, reason, transaction } = outcome
      log.info({ settlementId: entry.job.id, state, reason, transaction }, 'settlement decided')
      events.decided(entry.job, outcome)
      // Opened again since the commit, it is tracked by another entry.
      entry.job = { ...entry.job, ...outcome, updatedAt: now() }
      tracked.update(entry.job)
    }
  }

  /** Gas of a plain account counts against it only where its payment has failed; the rest is booked with its slot. */
  function spendingOf(decisions: readonly Decision[], closed?: ClosedSlot) {
    const burnt = decisions.flatMap(({ entry, outcome }) =>
      outcome.state === 'failed' && entry.gas === undefined && !entry.isAlone && entry.burntGas > 0n
        ? [{ payer: entry.payer, amount: entry.burntGas }]
        : [],
    )
    if (closed === undefined && burnt.length === 0) return {}
    const own = closed?.spending ?? { total: 0n, burnt: [] }
    return { spending: { network, ...own, burnt: [...own.burnt, ...burnt] } }
  }

  async function resolve(
    change: Omit<Parameters<SettlementJournal['resolve']>[0], 'now'>,
  ): ReturnType<SettlementJournal['resolve']> {
    try {
      return await persistently(() => journal.resolve({ ...change, now: now() }))
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error
      log.warn({ err: error }, 'outcome left to the process that has the wallet now')
      return []
    }
  }

  return {
    keep,
    decide: (entry, outcome) => keep([{ entry, outcome }]),
    async refuse(entry, outcome) {
      // The journal knows also of what other processes signed, and of a write whose answer was lost.
      if (await persistently(() => journal.mayLand(network, entry.job.id))) return false
      await keep([{ entry, outcome }])
      return true
    },
    persistently,
    stop() {
      isStopped = true
    },
  }
}

function placeOf({ relayer, relayerNonce, epoch }: ClosedSlot) {
  return { relayer, relayerNonce, epoch }
}
