import { toNative } from '@arcus/protocol/x402/amounts'
import type { Address } from 'viem'
import { readActiveIn } from '../../chain/accounts.js'
import type { Receipt } from '../../chain/receipts.js'
import { RpcResponseError } from '../../chain/rpc-errors.js'
import type { GasCharge } from '../journal/budgets.js'
import type { Attempt, Job, SettlementJournal } from '../journal/settlement-journal.js'
import type { GasModel } from './gas.js'
import type { JobProfile, TrackedJobs } from './jobs.js'
import { costOf, createGasShares, type SlotResult } from './outcomes.js'
import type { RelayerContext } from './relayer-context.js'

export interface GasChargeOptions extends Pick<RelayerContext, 'rpc' | 'readCoded'> {
  journal: Pick<SettlementJournal, 'findByTransaction'>
  jobs: TrackedJobs
  gas: Pick<GasModel, 'perPayment'>
}

type Charge = Omit<GasCharge, 'network'>

/**
 * Decides how much gas of a mined transaction settled nothing, and which accounts are charged for it, whichever part of it
 * failed. The payer of a member that failed alone is charged for it. Where code that appeared in accounts can have made
 * members fail, or the transaction as a whole, each of these accounts is charged for all of it, and the others that shared
 * it for nothing. Rejects with `RpcUnavailableError` when no node could answer which accounts have code.
 */
export async function findGasCharge(
  options: GasChargeOptions,
  attempt: Attempt,
  receipt: Receipt,
  result: SlotResult,
): Promise<Charge> {
  const total = costOf(receipt)
  if (attempt.jobIds.length === 0) return { total, burnt: [] }
  // An account whose code was found only later was let in as a plain one.
  const isOfCode = options.jobs.findAll(attempt.jobIds).some(({ coded }) => coded.length > 0)
  const { wasted, ...charge } = receipt.isSuccess
    ? await chargeOfMembers(options, attempt, receipt, result)
    : { wasted: total, ...(await chargeFailure(options, attempt, receipt)) }
  if (wasted === 0n) return { total, ...charge }
  return { total, wasted: { kind: isOfCode ? 'coded' : 'plain', amount: wasted }, ...charge }
}

/** Returns the charge of a transaction that succeeded. */
async function chargeOfMembers(
  options: GasChargeOptions,
  attempt: Attempt,
  receipt: Receipt,
  result: SlotResult,
): Promise<Omit<Charge, 'total' | 'wasted'> & { wasted: bigint }> {
  let [wasted, subsidised, onReserved] = [0n, 0n, 0n]
  for (const { entry, cost } of result.settled) {
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
  let burnt: Charge['burnt'] = []
  for (const { profile, share, isCharged } of await findFailed(options, attempt, receipt, result)) {
    wasted += share
    if (isCharged && profile.gas !== undefined) onReserved += share
    else if (isCharged) burnt.push({ payer: profile.payer, amount: share })
  }
  const suspects = attempt.jobIds.length === 1 ? [] : burnt.map(({ payer }) => payer as Address)
  const coded = await findCoded(options, suspects, receipt.blockNumber)
  if (coded.length > 0) {
    // Their code may have taken more than the shares of their payments.
    wasted = costOf(receipt) - usualCost(options, receipt, result)
    burnt = coded.map((payer) => ({ payer, amount: wasted }))
  }
  const reserved = onReserved > 0n ? { reserved: { hash: attempt.hash, amount: onReserved } } : {}
  return { wasted, subsidised, burnt, ...reserved }
}

interface FailedMember {
  profile: JobProfile
  /** Its share of the gas, 18-decimal units. */
  share: bigint
  isCharged: boolean
}

/** Returns the members that a transaction did not settle, and whether their payers are charged for their shares of it. */
async function findFailed(
  { jobs, journal }: GasChargeOptions,
  { hash, jobIds }: Attempt,
  receipt: Receipt,
  { settled, unsettled }: SlotResult,
): Promise<FailedMember[]> {
  const known = [...settled, ...unsettled].map(({ entry }) => entry.job.id)
  const failed: FailedMember[] = unsettled
    .filter(({ entry }) => jobIds.includes(entry.job.id))
    .map(({ entry, burnt: share }) => {
      return { profile: entry, share, isCharged: !isSentTwice(jobs, entry.job.id) }
    })
  if (jobIds.every((id) => known.includes(id))) return failed
  // Those that were decided before, because they were cancelled or others brought them on chain.
  const rows = await journal.findByTransaction(hash)
  const share = createGasShares(receipt, jobIds.length)
  for (const row of rows.filter(({ id }) => jobIds.includes(id) && !known.includes(id))) {
    if (row.state === 'confirmed' && row.transaction === hash) continue
    const isCharged = !isSettledByUs(jobs, row, hash)
    failed.push({ profile: jobs.profileOf(row), share: share(jobIds.indexOf(row.id)), isCharged })
  }
  return failed
}

/** Returns what the settled members of a transaction usually cost, and at most what they did. */
function usualCost({ gas }: GasChargeOptions, receipt: Receipt, { settled }: SlotResult): bigint {
  return settled.reduce((sum, { entry, cost }) => {
    const usual = (entry.expectedGas ?? gas.perPayment()) * receipt.effectiveGasPrice
    return sum + (cost < usual ? cost : usual)
  }, 0n)
}

/** Finds the accounts that are charged for a transaction that failed as a whole. */
async function chargeFailure(
  options: GasChargeOptions,
  { hash, jobIds }: Attempt,
  receipt: Receipt,
): Promise<Pick<Charge, 'burnt' | 'reserved'>> {
  const { rpc, journal, jobs } = options
  const amount = costOf(receipt)
  const rows = (await journal.findByTransaction(hash)).filter((row) => jobIds.includes(row.id))
  const profiles = rows.filter((row) => !isSettledByUs(jobs, row, hash)).map(jobs.profileOf)
  const [only] = profiles
  const toBurnt = (payers: readonly string[]) => payers.map((payer) => ({ payer, amount }))
  if (only === undefined) return { burnt: [] }
  // A payment that was alone failed by its own payer, with code or without.
  if (jobIds.length === 1 && only.gas === undefined) return { burnt: toBurnt([only.payer]) }
  const accountsThatRun = [
    ...new Set(profiles.flatMap((profile) => profile.accountsThatRun as Address[])),
  ]
  const coded = await findCoded(options, accountsThatRun, receipt.blockNumber)
  if (jobIds.length === 1) return { burnt: toBurnt(coded), reserved: { hash, amount } }
  if (coded.length > 0) return { burnt: toBurnt(coded) }
  // A delegation that was set and taken back within the block leaves nothing but used nonces.
  return { burnt: toBurnt(await readActiveIn(rpc, accountsThatRun, receipt.blockNumber)) }
}

/** Returns whether two lanes sent the job, and the other transaction was first. */
function isSettledByUs(jobs: TrackedJobs, row: Job, hash: string): boolean {
  if (row.state === 'confirmed') return row.transaction !== hash && row.gasCost !== null
  return isSentTwice(jobs, row.id)
}

/** Returns whether another transaction of ours settled the job, or may settle it. */
function isSentTwice(jobs: TrackedJobs, jobId: string): boolean {
  const entry = jobs.find(jobId)
  return entry !== undefined && (entry.isSettled || entry.liveSlots > 0)
}

/** Returns the accounts with code before or after the block; nodes that keep no such state are asked for the newest. */
async function findCoded(
  { readCoded }: GasChargeOptions,
  accounts: readonly Address[],
  block: number,
): Promise<Address[]> {
  const at = (when: number | 'latest') =>
    readCoded(accounts, when).catch((error) => {
      if (error instanceof RpcResponseError) return undefined
      throw error
    })
  const [before, after] = await Promise.all([at(block - 1), at(block)])
  const now = after ?? (await readCoded(accounts))
  return accounts.filter((account) => now.has(account) || before?.has(account))
}
