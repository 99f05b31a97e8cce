import { toNative } from '@arcus/protocol/x402/amounts'
import type { Address } from 'viem'
import { readActiveIn } from '../../chain/accounts.js'
import type { Receipt } from '../../chain/receipts.js'
import { RpcResponseError } from '../../chain/rpc-errors.js'
import { EVERYBODY, NEWCOMERS, spentBy, WASTED, wastedBy } from '../journal/budgets.js'
import type { Customer } from '../journal/customers.js'
import type { Attempt, Job, SettlementJournal } from '../journal/settlement-journal.js'
import type { GasModel } from './gas.js'
import type { JobProfile, TrackedJobs } from './jobs.js'
import { costOf, createGasShares, type SlotCharge, type SlotResult } from './outcomes.js'
import type { RelayerContext } from './relayer-context.js'

export interface GasChargeOptions extends Pick<RelayerContext, 'rpc' | 'readCoded'> {
  journal: Pick<SettlementJournal, 'findByTransaction'>
  jobs: TrackedJobs
  gas: Pick<GasModel, 'perPayment'>
}

/** An amount that settled nothing, and who is charged with it. */
interface Blame {
  account: string
  caller: string
  amount: bigint
}

/** Gas by which nothing was settled. What nobody is to blame for is wasted all the same. */
interface Losses {
  wasted: bigint
  blames: Blame[]
}

/**
 * Decides how much gas of a mined transaction settled nothing, and which accounts and callers are charged for it, whichever
 * part of it failed. The payer of a member that failed alone is charged for it. Where code that appeared in accounts can
 * have made members fail, or the transaction as a whole, each of these accounts is charged for all of it, and the others
 * that shared it for nothing. Rejects with `RpcUnavailableError` when no node could answer which accounts have code.
 */
export async function findGasCharge(
  options: GasChargeOptions,
  attempt: Attempt,
  receipt: Receipt,
  result: SlotResult,
): Promise<SlotCharge> {
  const total = costOf(receipt)
  const sums = new Map([[EVERYBODY, total]])
  const customers: Customer[] = []
  if (attempt.jobIds.length === 0) return { total, sums, customers }
  const add = (name: string, amount: bigint) => sums.set(name, (sums.get(name) ?? 0n) + amount)
  // An account whose code was found only later was let in as a plain one.
  const isOfCode = options.jobs.findAll(attempt.jobIds).some(({ coded }) => coded.length > 0)
  const kind = isOfCode ? 'coded' : 'plain'
  const { wasted, blames } = receipt.isSuccess
    ? await lossesOfMembers(options, attempt, receipt, result)
    : await lossesOfFailure(options, attempt, receipt)
  for (const { account, caller, amount } of blames) {
    add(account, amount)
    const name = wastedBy(kind, caller)
    const before = sums.get(name) ?? 0n
    // Several accounts of one caller may be charged for all of it each.
    sums.set(name, before + amount < wasted ? before + amount : wasted)
  }
  addSettled(result, receipt, add, customers)
  if (wasted === 0n) return { total, sums, customers }
  add(WASTED[kind], wasted)
  return { total, wasted: { kind, amount: wasted }, sums, customers }
}

/** Adds what settlements took of the shares of callers and recipients, and who paid whom. */
function addSettled(
  { settled }: SlotResult,
  receipt: Receipt,
  add: (name: string, amount: bigint) => void,
  customers: Customer[],
): void {
  for (const { entry, cost } of settled) {
    const { standing, caller, payer, payTo } = entry
    const moved = toNative(entry.kind.movedIn(entry.job, receipt))
    if (moved >= cost) customers.push({ payTo, payer })
    // Recipients that the operator named share with nobody.
    if (standing === 'own' || moved === 0n) continue
    if (standing === 'none') add(NEWCOMERS, cost)
    if (caller !== '') add(spentBy(caller), cost)
    // Anybody may send a recipient less than its gas. That must not use up the recipient's share.
    if (moved >= cost) add(spentBy(payTo), cost)
  }
}

/** Returns the losses of a transaction that succeeded. */
async function lossesOfMembers(
  options: GasChargeOptions,
  { hash, jobIds }: Attempt,
  receipt: Receipt,
  { settled, unsettled }: SlotResult,
): Promise<Losses> {
  const { journal, jobs, gas } = options
  const losses: Losses = { wasted: 0n, blames: [] }
  const suspects: JobProfile[] = []
  const lose = (profile: JobProfile, amount: bigint, isCharged = true) => {
    losses.wasted += amount
    if (isCharged) losses.blames.push(...blamePayer(profile, amount))
    if (isCharged) suspects.push(profile)
  }
  for (const { entry, cost } of settled) {
    const moved = entry.kind.movedIn(entry.job, receipt)
    const lack = cost - toNative(moved)
    if (lack > 0n && (entry.value === undefined || moved === 0n)) lose(entry, lack)
  }
  const failed = unsettled.filter(({ entry }) => jobIds.includes(entry.job.id))
  for (const { entry, burnt } of failed) {
    // All members share the cost evenly, and one that failed may have taken far less than those that settled.
    const expected = BigInt(entry.riskedGas ?? receipt.gasUsed) * receipt.effectiveGasPrice
    const most = (expected * 5n) / 4n
    lose(entry, burnt < most ? burnt : most, !isSentTwice(jobs, entry.job.id))
  }
  const known = new Set([...settled, ...failed].map(({ entry }) => entry.job.id))
  const share = createGasShares(receipt, jobIds.length)
  // Those that were decided before, because they were cancelled or others brought them on chain.
  const rows = known.size < jobIds.length ? await journal.findByTransaction(hash) : []
  for (const row of rows.filter(({ id }) => jobIds.includes(id) && !known.has(id))) {
    if (row.state === 'confirmed' && row.transaction === hash) continue
    lose(jobs.profileOf(row), share(jobIds.indexOf(row.id)), !isSettledByUs(jobs, row, hash))
  }
  // Code that appeared in an account may have taken more than the share of its payment.
  const usual = settled.reduce(
    (sum, { entry }) => sum + (entry.expectedGas ?? gas.perPayment()),
    0n,
  )
  const lost = costOf(receipt) - usual * receipt.effectiveGasPrice
  if (jobIds.length === 1 || lost <= losses.wasted) return losses
  const blames = await blameCode(options, suspects, receipt, lost)
  return blames.length > 0 ? { wasted: lost, blames } : losses
}

/** Blames a job that failed by itself: the accounts whose code was to run, or else its payer. */
function blamePayer(profile: JobProfile & { coded?: readonly string[] }, amount: bigint): Blame[] {
  const { coded = [], gas, payer, caller } = profile
  const accounts = gas !== undefined && coded.length > 0 ? coded : [payer]
  return accounts.map((account) => ({ account, caller, amount }))
}

/** Returns the losses of a transaction that failed as a whole. */
async function lossesOfFailure(
  options: GasChargeOptions,
  { hash, jobIds }: Attempt,
  receipt: Receipt,
): Promise<Losses> {
  const { rpc, journal, jobs } = options
  const wasted = costOf(receipt)
  const rows = (await journal.findByTransaction(hash)).filter((row) => jobIds.includes(row.id))
  const profiles: JobProfile[] = rows
    .filter((row) => !isSettledByUs(jobs, row, hash))
    .map((row) => jobs.find(row.id) ?? jobs.profileOf(row))
  const [only] = profiles
  if (only === undefined) return { wasted, blames: [] }
  // A payment that was alone failed by its own payer, with code or without.
  const isPayment = jobIds.length === 1 && only.gas === undefined
  const blames = isPayment ? [] : await blameCode(options, profiles, receipt, wasted)
  if (blames.length > 0) return { wasted, blames }
  if (jobIds.length === 1) return { wasted, blames: blamePayer(only, wasted) }
  // A delegation that was set and taken back within the block leaves nothing but used nonces.
  const active = await readActiveIn(rpc, runnersOf(profiles), receipt.blockNumber)
  return { wasted, blames: blameFor(profiles, active, wasted) }
}

/** Returns the accounts whose code runs in these jobs, if they have any. */
function runnersOf(profiles: readonly JobProfile[]): Address[] {
  return [...new Set(profiles.flatMap(({ accountsThatRun }) => accountsThatRun as Address[]))]
}

/** Blames the accounts of these jobs that have code by now, each for the whole amount. */
async function blameCode(
  { readCoded }: GasChargeOptions,
  profiles: readonly JobProfile[],
  receipt: Receipt,
  amount: bigint,
): Promise<Blame[]> {
  const coded = await findCoded(readCoded, runnersOf(profiles), receipt.blockNumber)
  return blameFor(profiles, coded, amount)
}

/** Blames each of these accounts, and the caller of the first job in which it runs. */
function blameFor(profiles: readonly JobProfile[], accounts: readonly string[], amount: bigint) {
  return accounts.map((account): Blame => {
    const { caller = '' } = profiles.find((it) => it.accountsThatRun.includes(account)) ?? {}
    return { account, caller, amount }
  })
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
  readCoded: GasChargeOptions['readCoded'],
  accounts: readonly Address[],
  block: number,
): Promise<Address[]> {
  if (accounts.length === 0) return []
  const at = (when: number | 'latest') =>
    readCoded(accounts, when).catch((error) => {
      if (error instanceof RpcResponseError) return undefined
      throw error
    })
  const [before, after] = await Promise.all([at(block - 1), at(block)])
  const now = after ?? (await readCoded(accounts))
  return accounts.filter((account) => now.has(account) || before?.has(account))
}
