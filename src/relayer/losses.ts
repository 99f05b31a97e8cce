import type { Address } from 'viem'
import { type ReadCoded, readActiveIn } from '../chain/account-codes.js'
import type { Receipt } from '../chain/receipts.js'
import type { Rpc } from '../chain/rpc.js'
import { RpcResponseError } from '../chain/rpc-errors.js'
import type { Attempt, GasSpending, Job, SettlementJournal } from '../store/settlement-journal.js'
import { toNative } from '../x402/amounts.js'
import type { Ride } from './job-kind.js'
import { costOf, type SlotResult } from './outcomes.js'
import type { TrackedJobs } from './tracked-jobs.js'

type Spending = Omit<GasSpending, 'network'>

/** Decides what of a mined transaction's gas bought nothing, and the accounts that answer for it. */
export type JudgeLosses = (
  attempt: Attempt,
  receipt: Receipt,
  result: SlotResult,
) => Promise<Spending>

export interface LossJudgeOptions {
  rpc: Rpc
  readCoded: ReadCoded
  journal: Pick<SettlementJournal, 'findByTransaction'>
  tracked: TrackedJobs
  rideOf(job: Job): Ride
}

/**
 * Makes the judge of losses. A member that failed alone is its payer's loss. A transaction that died as a whole is the
 * loss of those whose code can have killed it: all of it on each of them, and nothing on the others that shared it.
 * The promise rejects with `RpcUnavailableError` when no node could say who has code.
 */
export function createLossJudge(options: LossJudgeOptions): JudgeLosses {
  const { rpc, readCoded, journal, tracked, rideOf } = options

  return async (attempt, receipt, result) => {
    const total = costOf(receipt)
    if (attempt.jobIds.length === 0) return { total, burnt: [] }
    if (receipt.isSuccess) return ofMembers(attempt, receipt, result)
    return { total, wasted: total, ...(await findAnswerers(attempt, receipt)) }
  }

  /** Of a transaction that went through. */
  function ofMembers(
    { hash }: Attempt,
    receipt: Receipt,
    { settled, unsettled }: SlotResult,
  ): Spending {
    const burnt: Spending['burnt'] = []
    let [wasted, subsidised, onReserved] = [0n, 0n, 0n]
    for (const { entry, cost } of settled) {
      const moved = entry.kind.movedIn(entry.job, receipt)
      const lack = cost - toNative(moved)
      if (lack <= 0n) continue
      if (entry.value !== undefined && moved > 0n) {
        subsidised += cost
        continue
      }
      wasted += lack
      onReserved += lack
    }
    for (const { entry, burnt: share } of unsettled) {
      wasted += share
      if (isOurDoing(entry.job.id)) continue
      // What a plain account's failed try burnt is booked if its payment fails: others may have brought it on chain.
      if (entry.gas === undefined && entry.isAlone)
        burnt.push({ payer: entry.payer, amount: share })
      else if (entry.gas !== undefined) onReserved += share
    }
    const reserved = onReserved > 0n ? { reserved: { hash, amount: onReserved } } : {}
    return { total: costOf(receipt), wasted, subsidised, burnt, ...reserved }
  }

  /** Of a transaction that died as a whole. */
  async function findAnswerers(
    { hash, jobIds }: Attempt,
    receipt: Receipt,
  ): Promise<Pick<Spending, 'burnt' | 'reserved'>> {
    const amount = costOf(receipt)
    const rows = (await journal.findByTransaction(hash)).filter((row) => jobIds.includes(row.id))
    const rides = rows.filter((row) => !settledByUs(row, hash)).map(rideOf)
    const runners = [...new Set(rides.flatMap((ride) => ride.runners as Address[]))]
    const coded = await findCoded(runners, receipt.blockNumber)
    const toBurnt = (payers: readonly string[]) => payers.map((payer) => ({ payer, amount }))
    const [only] = rides
    if (jobIds.length > 1) {
      if (coded.length > 0) return { burnt: toBurnt(coded) }
      // A delegation that was set and taken back within the block leaves nothing but used nonces.
      return { burnt: toBurnt(await readActiveIn(rpc, runners, receipt.blockNumber)) }
    }
    if (only === undefined) return { burnt: [] }
    const isPayment = only.gas === undefined
    const payers = isPayment && only.isAlone ? new Set([only.payer, ...coded]) : coded
    return { burnt: toBurnt([...payers]), reserved: { hash, amount } }
  }

  /** It went out by two lanes, and the other transaction was there first. */
  function settledByUs(row: Job, hash: string): boolean {
    if (row.state === 'confirmed') return row.transaction !== hash && row.gasCost !== null
    return isOurDoing(row.id)
  }

  function isOurDoing(jobId: string): boolean {
    const entry = tracked.find(jobId)
    return entry !== undefined && (entry.isSettled || entry.liveSlots > 0)
  }

  /** Those with code at either end of the block; nodes that keep no such state tell of the newest. */
  async function findCoded(accounts: readonly Address[], block: number): Promise<Address[]> {
    const at = (when: number | 'latest') =>
      readCoded(accounts, when).catch((error) => {
        if (error instanceof RpcResponseError) return undefined
        throw error
      })
    const [before, after] = await Promise.all([at(block - 1), at(block)])
    const now = after ?? (await readCoded(accounts))
    return accounts.filter((account) => now.has(account) || before?.has(account))
  }
}
