import type { ReasonKey } from '@arcus/protocol/x402/reasons'
import type { Address, Hex } from 'viem'
import { persist } from '../../async/persist.js'
import type { Receipt } from '../../chain/receipts.js'
import { LeaseLostError } from '../../sql/leases.js'
import type { WasteKind } from '../journal/budgets.js'
import type { Customer } from '../journal/customers.js'
import type { Attempt, Job, Outcome, SettlementJournal } from '../journal/settlement-journal.js'
import type { Settled, TrackedJob, TrackedJobs } from './jobs.js'
import type { RelayerContext } from './relayer-context.js'

/** Events of the relayer for metrics; the methods are called synchronously and must not throw. */
export interface RelayerEvents {
  /** A lane took these jobs out of the queue. */
  taken(ids: readonly string[]): void
  /** A transaction with these jobs was signed and kept, and is being sent. */
  signed(ids: readonly string[], transaction: Hex): void
  decided(job: Job, outcome: Outcome): void
  /** A transaction was mined and cost this much, and settled nothing with a part of it; 18-decimal units. */
  spent(cost: bigint, wasted: SlotCharge['wasted']): void
}

export const noRelayerEvents: RelayerEvents = {
  taken() {},
  signed() {},
  decided() {},
  spent() {},
}

/** What a mined transaction cost, and under which names of the books. */
export interface SlotCharge {
  total: bigint
  /** The part that settled nothing, and the kind of accounts that wasted it. */
  wasted?: { kind: WasteKind; amount: bigint }
  sums: ReadonlyMap<string, bigint>
  customers: Customer[]
}

/** The meaning of a mined transaction for the jobs of its slot. */
export interface SlotResult {
  settled: { entry: TrackedJob; outcome: Outcome; cost: bigint }[]
  /** Jobs that nothing in the receipt settles, each with its share of the gas. */
  unsettled: { entry: TrackedJob; burnt: bigint }[]
}

/**
 * Reads a receipt for every job of a slot. Logs of the asset itself settle a job, never the status of the transaction
 * alone. The members share its cost so that the shares add up to the last unit.
 */
export function readSlotResult(
  entries: readonly TrackedJob[],
  members: readonly string[],
  receipt: Receipt,
): SlotResult {
  const share = createGasShares(receipt, members.length)
  const result: SlotResult = { settled: [], unsettled: [] }
  for (const entry of entries) {
    const position = members.indexOf(entry.job.id)
    const cost = position < 0 ? 0n : share(position)
    const settled =
      position >= 0 && receipt.isSuccess ? entry.kind.findSettled(entry.job, receipt) : undefined
    if (settled === undefined) result.unsettled.push({ entry, burnt: cost })
    else {
      const attestation = entry.kind.attest?.(entry.job, receipt)
      const outcome = confirmation(receipt, settled, cost + entry.burntGas, attestation)
      result.settled.push({ entry, outcome, cost })
    }
  }
  return result
}

export function confirmation(
  receipt: Receipt,
  { transferLog }: Settled,
  gasCost: bigint | null,
  attestation?: string,
): Outcome {
  return {
    state: 'confirmed',
    transaction: receipt.transactionHash,
    blockNumber: receipt.blockNumber,
    gasCost,
    reason: null,
    message: null,
    ...(transferLog === undefined ? {} : { transferLog }),
    ...(attestation === undefined ? {} : { attestation }),
  }
}

/** Makes a failure with the gas it burnt; `transaction` is the one that reverted, if any was sent. */
export function failure(
  reason: ReasonKey,
  message: string,
  details: { transaction?: `0x${string}` | null; gasCost?: bigint } = {},
): Outcome {
  const { transaction = null, gasCost = 0n } = details
  return { state: 'failed', reason, message, transaction, blockNumber: null, gasCost }
}

/** Returns what a transaction cost, in 18-decimal units. */
export function costOf(receipt: Receipt): bigint {
  return receipt.gasUsed * receipt.effectiveGasPrice
}

/** Shares the cost of a transaction among its members, to the last unit. */
export function createGasShares(receipt: Receipt, members: number): (position: number) => bigint {
  const cost = costOf(receipt)
  const count = BigInt(Math.max(1, members))
  return (position) => cost / count + (BigInt(position) < cost % count ? 1n : 0n)
}

/** Writes the outcomes of jobs to the journal, and resolves the callers that wait for them. */
export interface OutcomeKeeper {
  /**
   * Keeps outcomes, and the closed slot with them, in one commit; callers that wait get them only then. A job that another
   * process works on by now is abandoned instead: that process finds its outcome.
   */
  keep(decisions: readonly DecidedJob[], closed?: ClosedSlot): Promise<void>
  decide(entry: TrackedJob, outcome: Outcome): Promise<void>
  /** Decides what the chain has not decided, unless a transaction signed for it may still land; returns whether it did. */
  refuse(entry: TrackedJob, outcome: Outcome): Promise<boolean>
  /** Names this transaction, which a node took, in rows that name none because every node had refused it. */
  markTaken(attempt: Attempt): Promise<void>
  /**
   * Removes this transaction, which no node has, from the rows that name it: no answer names it then. The signed bytes
   * are kept all the same, because only the chain decides.
   */
  markRefused(attempt: Attempt): Promise<void>
  /** Names a transaction that may have settled a job, with the reason why nobody knows. */
  markUncertain(entry: TrackedJob, found: { transaction: Hex; message: string }): Promise<void>
  /** Tries until it succeeds, ever more slowly; throws only once the relayer has stopped, or has lost the lease. */
  persistently<Result>(attempt: () => Promise<Result>): Promise<Result>
  stop(): void
}

/** A job, and the outcome that it is about to get. */
interface DecidedJob {
  entry: TrackedJob
  outcome: Outcome
}

/** A slot that its receipt closes, and what the transaction cost. */
interface ClosedSlot {
  relayer: Address
  relayerNonce: number
  /** The epoch of the lease under which it was worked on. */
  epoch: number
  charge: Pick<SlotCharge, 'sums' | 'customers'>
}

const retries = { firstMs: 250, lastMs: 5_000 }

/** Makes the keeper of outcomes. A disk or a node that refuses is asked until it answers: an outcome is never dropped. */
export function createOutcomeKeeper(
  options: Pick<RelayerContext, 'network' | 'journal' | 'now' | 'log'> & {
    jobs: TrackedJobs
    events: RelayerEvents
  },
): OutcomeKeeper {
  const { network, journal, jobs, events, now, log } = options
  let isStopped = false

  const persistently = <Result>(attempt: () => Promise<Result>) =>
    persist(attempt, {
      ...retries,
      onFailure(error) {
        if (isStopped || error instanceof LeaseLostError) throw error
        log.warn({ err: error }, 'not yet; trying again')
      },
    })

  async function keep(decisions: readonly DecidedJob[], closed?: ClosedSlot): Promise<void> {
    const outcomes = decisions.map(({ entry: { job }, outcome }) => ({
      id: job.id,
      round: job.round,
      outcome,
    }))
    const change = {
      ...(closed && {
        slot: { network, ...placeOf(closed) },
        gasCharge: { network, sums: closed.charge.sums },
        customers: { network, pairs: closed.charge.customers },
      }),
      outcomes,
    }
    const kept = new Map((await resolve(change)).map(({ id, outcome }) => [id, outcome]))
    for (const { entry } of decisions) {
      const outcome = kept.get(entry.job.id)
      if (outcome === undefined) {
        jobs.abandon(entry.job.id, entry.job.round)
        continue
      }
      const { state, reason, transaction } = outcome
      const { payer, nonce } = entry
      const names = state === 'failed' ? { payer, nonce } : {}
      const decided = { settlementId: entry.job.id, state, reason, transaction, ...names }
      log.info(decided, 'settlement decided')
      events.decided(entry.job, outcome)
      // If the job was opened again since the commit, another entry tracks it.
      entry.job = { ...entry.job, ...outcome, updatedAt: now() }
      jobs.update(entry.job)
    }
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

  /** Names another transaction in the row, unless the row changed meanwhile. */
  async function rename(
    entry: TrackedJob,
    from: Hex | null,
    to: Hex | null,
    message: string | null = null,
  ): Promise<void> {
    try {
      const isNamed = await journal.nameTransaction(entry.job, from, to, now(), message)
      if (!isNamed || entry.job.transaction !== from) return
      entry.isRefusedByAll = to === null
      const state = to === null ? 'queued' : 'submitted'
      jobs.update({ ...entry.job, state, transaction: to, message })
    } catch (err) {
      log.warn({ err, settlementId: entry.job.id }, 'the row still names the transaction it named')
    }
  }

  return {
    keep,
    decide: (entry, outcome) => keep([{ entry, outcome }]),
    async refuse(entry, outcome) {
      // The journal also knows what other processes signed, and a write whose answer was lost.
      if (await persistently(() => journal.mayLand(network, entry.job.id))) return false
      await keep([{ entry, outcome }])
      return true
    },
    async markTaken({ hash, jobIds }) {
      for (const entry of jobs.findAll(jobIds)) {
        entry.mayBeOut.add(hash)
        if (entry.isRefusedByAll) await rename(entry, null, hash)
      }
    },
    async markRefused({ hash, jobIds }) {
      for (const entry of jobs.findAll(jobIds)) {
        entry.mayBeOut.delete(hash)
        if (entry.mayBeOut.size === 0 && !entry.isRefusedByAll) await rename(entry, hash, null)
      }
    },
    async markUncertain(entry, { transaction, message }) {
      const { job } = entry
      if (job.transaction === transaction && job.message === message) return
      await rename(entry, job.transaction, transaction, message)
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
