import { formatNative } from '@arcus/protocol/x402/amounts'
import type { Rejection } from '@arcus/protocol/x402/reasons'
import type { Address } from 'viem'
import {
  type BudgetStore,
  dayOf,
  type GasBudget,
  type GasBudgetError,
  PAYOUTS,
  WASTED,
  wastedBy,
} from '../journal/budgets.js'
import {
  BATCH_OVERHEAD,
  type Fees,
  type GasModel,
  HEADROOM,
  priceOf,
  RISKY_HEADROOM,
} from './gas.js'
import type { JobProfile, TrackedJob, TrackedJobs } from './jobs.js'
import type { JobQueue, MayGo } from './queue.js'
import type { RelayerContext } from './relayer-context.js'

/** Gas that a day may burn without a settlement, 18-decimal units. */
export interface WasteLimits {
  /** For one account. */
  perAccount: bigint
  /** For all accounts with code together, and for all plain ones. */
  wasted: bigint
}

/**
 * Returns the most that a caller may take of a limit: as much as all others leave when it has taken as much itself. So one
 * caller takes half, two a third each, and something is left for whoever comes next.
 */
export function shareOf(limit: bigint, takenByOthers: bigint): bigint {
  return limit > takenByOthers ? (limit - takenByOthers) / 2n : 0n
}

interface WasteOptions extends Pick<RelayerContext, 'network' | 'readCoded' | 'feed' | 'now'> {
  jobs: TrackedJobs
  queue: Pick<JobQueue, 'isInHand'>
  limits: WasteLimits
  books: Pick<BudgetStore, 'wastedOn'>
  gas: Pick<GasModel, 'memberLimit'>
  /** Returns whether shared transactions go through the multicall that skips what can only fail. */
  isGuarded(): boolean
}

/** Transactions of one account with code under way at once, whatever its budget is: the lanes are there for others, too. */
const MAX_UNDER_WAY = 8
/**
 * The gas that a payment of a plain account burns when it fails, without the base of its transaction. Circle's token was
 * measured: 44,000 in a shared transaction, 56,000 alone, 12,000 where the multicall of the relayers skips it.
 */
const FAILED_GAS = 45_000
const FAILED_ALONE_GAS = 60_000
const SKIPPED_GAS = 13_000
const TRANSACTION_BASE = 21_000
/** A deposit or a payout is like a payment to its caller's share; a claim of many rows is like a hundred of them. */
const MOST_ALONE_GAS = 400_000n
/** A caller that has used up its share waits this long after a failure, and twice as long after each further one. */
const FIRST_PAUSE_MS = 1_000
const MAX_DOUBLINGS = 8

/** Other processes book as well. */
const REFRESH_MS = 2_000

/** What one caller, or one account, has under way. */
interface Load {
  jobs: number
  coded: number
  /** Units of gas that burn if all of it fails. */
  gas: number
}

const noLoad: Readonly<Load> = { jobs: 0, coded: 0, gas: 0 }

/** A transaction for which gas is reserved. */
interface Reservation {
  gasLimit: bigint
  maxFeePerGas: bigint
  isReplacement: boolean
}

/** What the tests of one pass over the queue have in common, in units of gas. */
interface Pass {
  /** By account, by caller, and of all plain accounts under ''. */
  loads: ReadonlyMap<string, Readonly<Load>>
  /** Returns what is booked under a name. */
  burnt: (name: string) => number
  perAccount: number
  limit: number
  /** What is booked for all plain accounts. */
  plain: number
}

/**
 * Bounds the gas that settles nothing. What transactions under way may burn counts as burnt, for an account, for the caller
 * that brought it, and for everybody. The recipient does not matter: anybody may name any recipient in a payment that fails.
 */
export class Waste {
  readonly #options: WasteOptions
  readonly #pausedUntil = new Map<string, number>()
  /** What is booked today, by name. */
  #books = new Map<string, bigint>()
  #day: string
  #refreshedAt = Number.NEGATIVE_INFINITY
  /** Callers that failed beyond their share: how often, and until when they wait. */
  readonly #slowed = new Map<string, { failures: number; until: number }>()

  constructor(options: WasteOptions) {
    this.#options = options
    this.#day = dayOf(options.now())
  }

  // What may leave the queue.

  /**
   * Returns the test that a job must pass to leave the queue, in a transaction with those that are taken for it already;
   * it holds for one pass over the queue.
   */
  mayGo(): MayGo {
    let pass: Pass | undefined
    return (entry, taken) => {
      if (this.#isPaused(entry)) return false
      pass ??= this.#beginPass()
      const load = pass.loads.get(entry.payer) ?? noLoad
      if (hasCode(entry)) return load.coded < MAX_UNDER_WAY
      let atRisk = load.gas
      for (const it of taken) if (it.payer === entry.payer) atRisk += this.#failingGas(it)
      if (atRisk > load.gas) atRisk += TRANSACTION_BASE
      const left = pass.perAccount - pass.burnt(entry.payer)
      // Where nothing is left, the journal refuses the job.
      if (left > 0 && atRisk >= left) return false
      return this.#mayRisk(entry, taken, pass)
    }
  }

  #beginPass(): Pass {
    this.#startDay()
    const { now, limits } = this.#options
    const inGas = (amount: bigint) => Number(amount) / Number(this.#price())
    const isFull = (this.#pausedUntil.get(WASTED.plain) ?? 0) > now()
    return {
      loads: this.#measure(),
      burnt: (name: string) => inGas(this.#books.get(name) ?? 0n),
      perAccount: inGas(limits.perAccount),
      limit: isFull ? 0 : inGas(limits.wasted),
      plain: inGas(this.#books.get(WASTED.plain) ?? 0n),
    }
  }

  /** Adds up what slots carry, or is about to be signed: by account, by caller, and all of plain accounts under ''. */
  #measure(): ReadonlyMap<string, Readonly<Load>> {
    const loads = new Map<string, Load>()
    const add = (name: string, entry: TrackedJob, gas: number) => {
      const load = loads.get(name) ?? { jobs: 0, coded: 0, gas: 0 }
      load.jobs++
      if (hasCode(entry)) load.coded++
      load.gas += gas
      loads.set(name, load)
    }
    for (const entry of this.#options.jobs.all()) {
      if (entry.liveSlots === 0 && !this.#options.queue.isInHand(entry)) continue
      add(entry.payer, entry, this.#failingGas(entry))
      if (hasCode(entry)) continue
      const gas = entry.riskedGas ?? this.#riskOf(entry)
      add(byCaller(entry), entry, gas)
      add('', entry, gas)
    }
    return loads
  }

  /** Returns whether a plain job may go: within its caller's share, or else as the only one of its caller under way. */
  #mayRisk(entry: TrackedJob, taken: readonly TrackedJob[], pass: Pass): boolean {
    const [head] = taken
    if (this.#isWithin(entry, taken, pass)) {
      return taken.length !== 1 || head === undefined || this.#isWithin(head, [], pass)
    }
    // It travels alone, so that code which appears at the last moment burns its own gas and no other.
    const isOnly = (pass.loads.get(byCaller(entry)) ?? noLoad).jobs === 0 && head === undefined
    return isOnly && (this.#slowed.get(entry.caller)?.until ?? 0) <= this.#options.now()
  }

  /** Returns whether a plain job is within the share of its caller, next to what is burnt, under way and taken. */
  #isWithin(entry: TrackedJob, taken: readonly TrackedJob[], pass: Pass): boolean {
    const base = this.#isSkipped(entry) ? 0 : Number(BATCH_OVERHEAD)
    let own = (pass.loads.get(byCaller(entry)) ?? noLoad).gas + base
    let all = (pass.loads.get('') ?? noLoad).gas + pass.plain + base
    for (const it of taken) {
      all += this.#riskOf(it)
      if (it.caller === entry.caller) own += this.#riskOf(it)
    }
    own += pass.burnt(wastedBy('plain', entry.caller))
    const left = pass.limit - all
    return this.#riskOf(entry) <= (isShared(entry) ? Math.min(left, (left - own) / 2) : left)
  }

  #isPaused(entry: TrackedJob): boolean {
    for (const [name, until] of this.#pausedUntil) {
      if (until <= this.#options.now()) this.#pausedUntil.delete(name)
      else if (name !== WASTED.plain && isAbout(name, entry)) return true
    }
    return false
  }

  /** Returns the gas that a plain account's job burns when it fails in a transaction with others. */
  #failingGas({ failedGas }: JobProfile): number {
    return failedGas ?? (this.#options.isGuarded() ? SKIPPED_GAS : FAILED_GAS)
  }

  /** Returns the gas that it burns at most there: code that its account gets meanwhile burns all, where nothing skips it. */
  #riskOf(entry: JobProfile): number {
    if (this.#isSkipped(entry)) return SKIPPED_GAS
    return Number(this.#options.gas.memberLimit(entry))
  }

  /** Returns whether the multicall of the relayers looks at a job's payer first. */
  #isSkipped({ failedGas }: JobProfile): boolean {
    return failedGas === undefined && this.#options.isGuarded()
  }

  /** Notes in the entries which of their accounts have code now. Throws `RpcUnavailableError`. */
  async readCodes(entries: readonly TrackedJob[]): Promise<void> {
    const accountsThatRun = entries.flatMap((entry) => entry.accountsThatRun as Address[])
    const coded: ReadonlySet<string> = await this.#options.readCoded(accountsThatRun)
    for (const entry of entries) {
      // An account that had code once answers for what it burns, also when the code is gone for the moment of a read.
      const isCoded = (runner: string) => coded.has(runner) || entry.coded.includes(runner)
      if (entry.accountsThatRun.some(isCoded)) entry.coded = entry.accountsThatRun.filter(isCoded)
    }
  }

  // What a transaction reserves.

  /**
   * Returns the budgets from which a transaction with these jobs reserves. A replacement reserves without a limit for
   * plain accounts, because its payments are under way already.
   */
  budgetsOf(
    entries: readonly TrackedJob[],
    gasLimit: bigint,
    { maxFeePerGas }: Fees,
    isReplacement = false,
  ): GasBudget[] {
    return entries.some(hasCode)
      ? this.#ofCoded(entries, gasLimit * maxFeePerGas)
      : this.#ofPlain(entries, { gasLimit, maxFeePerGas, isReplacement })
  }

  /** Reserves the whole gas limit for each account with code, for its caller, and for all of them. */
  #ofCoded(entries: readonly TrackedJob[], amount: bigint): GasBudget[] {
    const { perAccount, wasted } = this.#options.limits
    // It travels alone.
    const [entry] = entries as [TrackedJob]
    const own = wastedBy('coded', entry.caller)
    const share = shareOf(wasted, this.#booked(WASTED.coded) - this.#booked(own))
    return [
      ...entry.coded.map((name) => ({ name, amount, limit: perAccount })),
      { name: WASTED.coded, amount, limit: wasted },
      { name: own, amount, ...(isShared(entry) && { limit: share }) },
    ]
  }

  /**
   * Reserves what each payment burns: from the budget of its account if it fails, and from that of all at most, which is
   * the whole gas limit where nothing skips it. The only one of its caller under way goes whatever others have burnt.
   */
  #ofPlain(
    entries: readonly TrackedJob[],
    { gasLimit, maxFeePerGas, isReplacement }: Reservation,
  ): GasBudget[] {
    const { perAccount, wasted } = this.#options.limits
    const isSkipped = entries.length > 1 && entries.every((entry) => this.#isSkipped(entry))
    const base = TRANSACTION_BASE / Math.max(1, entries.length)
    const loads = this.#measure()
    const isOnly = entries.every((entry) => (loads.get(byCaller(entry))?.jobs ?? 1) <= 1)
    const budgets = new Map<string, GasBudget>()
    const reserve = (name: string, amount: bigint, bound: Pick<GasBudget, 'least' | 'limit'>) =>
      budgets.set(name, { name, amount: (budgets.get(name)?.amount ?? 0n) + amount, ...bound })
    for (const entry of entries) {
      const single = entry.failedGas ?? FAILED_ALONE_GAS
      const failing = Math.ceil((entries.length === 1 ? single : this.#failingGas(entry)) + base)
      entry.riskedGas = isSkipped ? failing : Math.ceil(Number(gasLimit) / entries.length)
      const [ofAccount, amount] = [failing, entry.riskedGas].map((gas) =>
        entry.gas === undefined ? BigInt(gas) * this.#price() : gasLimit * maxFeePerGas,
      ) as [bigint, bigint]
      // One more payment goes while anything is left, whatever gas costs at the moment.
      reserve(entry.payer, ofAccount, isReplacement ? {} : { least: 1n, limit: perAccount })
      reserve(WASTED.plain, amount, isReplacement || isOnly ? {} : { limit: wasted })
      const isLarge = entry.gas !== undefined && gasLimit > MOST_ALONE_GAS
      if (!isLarge || !isShared(entry) || isReplacement) continue
      // What is as large as many payments is within the share of its caller, also as the only one.
      const own = wastedBy('plain', entry.caller)
      const others = this.#booked(WASTED.plain) - this.#booked(own)
      reserve(own, amount, { limit: shareOf(wasted, others) })
    }
    return [...budgets.values()]
  }

  /** Returns how far above the base fee the ceiling of a transaction with these jobs is set, in percent. */
  headroomFor(entries: readonly TrackedJob[]): bigint {
    return entries.some(hasCode) ? RISKY_HEADROOM : HEADROOM
  }

  /** Returns those of these jobs that a budget is about. */
  concernedBy({ name }: GasBudget, entries: readonly TrackedJob[]): TrackedJob[] {
    return entries.filter((entry) => isAbout(name, entry))
  }

  /** Holds back for so long the jobs for which this budget has no room next to what is under way. */
  pause({ budget: { name }, burnt }: GasBudgetError, ms: number): void {
    this.#startDay()
    this.#pausedUntil.set(name, this.#options.now() + ms)
    this.#books.set(name, burnt)
  }

  // What was burnt.

  /** Notes what a mined transaction burnt, by name, before the books are read again. */
  noteBurnt(sums: ReadonlyMap<string, bigint>): void {
    for (const [name, amount] of sums) this.#books.set(name, this.#booked(name) + amount)
  }

  /** Notes whether a job of this caller settled, or failed in a transaction. */
  noteEnd(caller: string, isSettled: boolean): void {
    const { limits, now } = this.#options
    const known = this.#slowed.get(caller)
    if (isSettled) {
      if (known !== undefined && --known.failures <= 0) this.#slowed.delete(caller)
      return
    }
    const own = this.#booked(wastedBy('plain', caller))
    if (own <= shareOf(limits.wasted, this.#booked(WASTED.plain) - own)) return
    const failures = Math.min(MAX_DOUBLINGS, (known?.failures ?? 0) + 1)
    this.#slowed.set(caller, { failures, until: now() + FIRST_PAUSE_MS * 2 ** (failures - 1) })
  }

  /** Reads what is booked today, by whichever process. Never rejects. */
  async refresh(): Promise<void> {
    const { network, books, now } = this.#options
    if (now() - this.#refreshedAt < REFRESH_MS) return
    this.#refreshedAt = now()
    const today = dayOf(now())
    const read = await books.wastedOn(network, today).catch(() => undefined)
    this.#startDay()
    if (read !== undefined && this.#day === today) this.#books = read
  }

  #booked(name: string): bigint {
    this.#startDay()
    return this.#books.get(name) ?? 0n
  }

  #startDay(): void {
    const today = dayOf(this.#options.now())
    if (this.#day === today) return
    this.#day = today
    this.#books = new Map()
    this.#slowed.clear()
    this.#pausedUntil.clear()
  }

  #price(): bigint {
    return priceOf(this.#options.feed.latest()?.baseFeePerGas ?? 0n)
  }
}

/** Returns whether a budget of this name is about a job. */
function isAbout(name: string, entry: TrackedJob): boolean {
  if (name.startsWith(WASTED.coded)) {
    return hasCode(entry) && [WASTED.coded, wastedBy('coded', entry.caller)].includes(name)
  }
  if (name === WASTED.plain) return !hasCode(entry)
  if (name === wastedBy('plain', entry.caller)) return !hasCode(entry) && entry.gas !== undefined
  return entry.payer === name || entry.coded.includes(name)
}

function hasCode({ coded }: TrackedJob): boolean {
  return coded.length > 0
}

/** Returns whether others have a share beside the caller of a job: not for recipients of the operator, nor within the process. */
function isShared({ standing, caller }: JobProfile): boolean {
  return standing !== 'own' && caller !== ''
}

function byCaller({ caller }: JobProfile): string {
  return `caller ${caller}`
}

/** Returns the rejection of a payment whose budget is spent. */
export function spentBudget({ budget, burnt }: GasBudgetError): Rejection {
  const { name, amount, limit = 0n } = budget
  const [spent, most, needed] = [burnt, limit, amount].map((it) => formatNative(it))
  const message = name.startsWith(WASTED.coded)
    ? `Transactions of accounts with code${name === WASTED.coded ? '' : ' from your address'} that settled nothing burnt ${spent} dollars of gas today; the limit is ${most}, so no more gas is risked on such accounts.`
    : `Transactions of ${whoIs(name)} that settled nothing burnt ${spent} dollars of gas today, and this one may burn ${needed}; the limit is ${most}.`
  return { reason: 'gasBudgetExceeded', message }
}

/** Returns the account of a budget in words: an account by its address, a caller as the one who is answered. */
function whoIs(name: string): string {
  if (name.startsWith(PAYOUTS)) return 'payouts from your address'
  return name.startsWith(WASTED.plain) ? 'your address' : name
}
