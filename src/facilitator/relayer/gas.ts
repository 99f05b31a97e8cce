import { formatNative, toNative } from '@arcus/protocol/x402/amounts'
import type { Rejection } from '@arcus/protocol/x402/reasons'
import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import {
  dayOf,
  type GasBudget,
  type GasBudgetError,
  SUBSIDISED,
  WASTED,
} from '../journal/budgets.js'
import type { TrackedJob, TrackedJobs } from './jobs.js'
import type { JobQueue, MayGo } from './queue.js'
import type { RelayerContext } from './relayer-context.js'

/** Both fee fields of an EIP-1559 transaction, 18-decimal units per gas. */
export interface Fees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

/** Arc takes a tip of 0; a little above it, so that a replacement can raise this field too. */
const TIP = 1_000_000n
/** Arc's fee may rise 2 % a block: three times the base fee outlasts 50 full blocks, and unused it costs nothing. */
const HEADROOM = 300n
/** The headroom of a transaction whose whole gas limit may burn. A small one reserves less, and a quarter outlasts 11 full blocks. */
export const RISKY_HEADROOM = 125n
/** Nodes ask at least 10 % more in both fields of a replacement. */
const BUMP_PERCENT = 125n

/** Returns the price of one unit of gas in a block with this base fee, 18-decimal units. */
export function priceOf(baseFeePerGas: bigint): bigint {
  return baseFeePerGas + TIP
}

/** Returns fees for a new transaction, `headroom` percent of the base fee; `undefined` when that alone is above the cap. */
export function quoteFees(
  baseFeePerGas: bigint,
  capPerGas: bigint,
  headroom = HEADROOM,
): Fees | undefined {
  if (priceOf(baseFeePerGas) > capPerGas) return undefined
  const wanted = (baseFeePerGas * headroom) / 100n + TIP
  return { maxFeePerGas: wanted < capPerGas ? wanted : capPerGas, maxPriorityFeePerGas: TIP }
}

/** Returns fees of a replacement, both fields up; `undefined` when the cap leaves no room for one. */
export function bumpFees(
  previous: Fees,
  baseFeePerGas: bigint,
  capPerGas: bigint,
  headroom = HEADROOM,
): Fees | undefined {
  const raised = (previous.maxFeePerGas * BUMP_PERCENT) / 100n + 1n
  const fresh = quoteFees(baseFeePerGas, capPerGas, headroom)?.maxFeePerGas ?? 0n
  const maxFeePerGas = raised > fresh ? raised : fresh
  if (maxFeePerGas > capPerGas) return undefined
  const maxPriorityFeePerGas = (previous.maxPriorityFeePerGas * BUMP_PERCENT) / 100n + 1n
  return { maxFeePerGas, maxPriorityFeePerGas }
}

/** Gas limits of one network, learnt from its receipts. Units: gas. */
export interface GasModel {
  /** Returns the limit of a multicall with these members. */
  batchLimit(members: readonly { payTo: string; expectedGas?: bigint }[]): bigint
  /** Returns the limit of a plain call whose simulation used this much. */
  singleLimit(simulated: bigint): bigint
  /** Returns the most a payment that is sent alone is expected to be given. */
  aloneLimit(): bigint
  /** Returns how many members a transaction may carry, each of which takes as much gas as a payment unless said. */
  maxMembers(blockGasLimit: bigint, expectedGas?: bigint): number
  /** Learns from a mined transaction that paid these recipients. */
  learn(gasUsed: bigint, payTos: readonly string[]): void
  /** Returns what one payment takes now, for prices and forecasts. */
  perPayment(): bigint
}

/** Before the first receipt: a FiatToken behind a proxy takes about 113k alone. */
const FIRST_GUESS = 120_000n
/** An account that does not exist yet costs its creation. */
const NEW_ACCOUNT_GAS = 25_000n
const BATCH_OVERHEAD = 80_000n
const TRANSACTION_BASE = 21_000n
const MARGIN_PERCENT = 115n
/** A tenth of the block's gas is left to others, and to the estimate's error. */
const BLOCK_SHARE_PERCENT = 90n
/** The number of recipients that are remembered as existing accounts. */
const MAX_KNOWN = 10_000

export function createGasModel(plainTransferGas?: bigint): GasModel {
  // An authorization adds the slot of its nonce, the signature check and calldata to a plain transfer.
  let perMember = plainTransferGas === undefined ? FIRST_GUESS : plainTransferGas + 60_000n
  const known = new Set<string>()

  const newAccounts = (members: readonly { payTo: string }[]) =>
    BigInt(new Set(members.map(({ payTo }) => payTo).filter((payTo) => !known.has(payTo))).size)

  const singleLimit = (simulated: bigint) => (simulated * MARGIN_PERCENT) / 100n + NEW_ACCOUNT_GAS

  return {
    batchLimit(members) {
      const sum = members.reduce((sum, { expectedGas = perMember }) => sum + expectedGas, 0n)
      const body = (sum * MARGIN_PERCENT) / 100n
      return body + newAccounts(members) * NEW_ACCOUNT_GAS + BATCH_OVERHEAD
    },
    singleLimit,
    // A payment alone takes more than what is learnt from shared transactions.
    aloneLimit: () => singleLimit(perMember > FIRST_GUESS ? perMember : FIRST_GUESS),
    maxMembers(blockGasLimit, expectedGas = perMember) {
      const room = (blockGasLimit * BLOCK_SHARE_PERCENT) / 100n - BATCH_OVERHEAD
      const each = (expectedGas * MARGIN_PERCENT) / 100n + NEW_ACCOUNT_GAS
      return Math.max(1, Number(room / each))
    },
    learn(gasUsed, payTos) {
      if (payTos.length === 0) return
      const base = payTos.length === 1 ? 0n : TRANSACTION_BASE
      const each = (gasUsed - base) / BigInt(payTos.length)
      // Up at once, down slowly: a limit too low costs a resend, one too high costs nothing.
      perMember = each > perMember ? each : (perMember * 31n + each) / 32n
      for (const payTo of payTos) known.add(payTo)
      if (known.size > MAX_KNOWN) known.clear()
    },
    perPayment: () => perMember,
  }
}

/** The gas a day may burn or give away, 18-decimal units. */
export interface GasLimits {
  /** On transactions of one account that settle nothing. */
  perAccount: bigint
  /**
   * On all transactions that settle nothing, for each kind of accounts: then accounts with code are refused, and new payers
   * without code take turns.
   */
  wasted: bigint
  /** On settlements that move less than their gas; `undefined` is no limit. */
  subsidised: bigint | undefined
}

/**
 * Keeps every account within its budget of gas that settles nothing. What its transactions under way may burn counts as
 * burnt: of an account with code, which may deceive the simulation, the whole gas limit; of a plain one what a payment
 * burns that fails.
 */
export interface GasBudgets {
  /**
   * Returns the test that a job must pass to leave the queue, in a transaction with those that are taken for it already;
   * it holds for one pass over the queue.
   */
  mayGo(): MayGo
  /** Notes in the entries which of their accounts have code now. Throws `RpcUnavailableError`. */
  readCodes(entries: readonly TrackedJob[]): Promise<void>
  /**
   * Returns the budgets that must have room for a transaction with these jobs, and for how much of it; the jobs remember
   * their part. A replacement may exceed budgets that are not strict: its payments are under way already.
   */
  budgetsOf(
    entries: readonly TrackedJob[],
    gasLimit: bigint,
    fees: Fees,
    isReplacement?: boolean,
  ): GasBudget[]
  /** Returns how far above the base fee the ceiling of a transaction with these jobs is set, in percent. */
  headroomFor(entries: readonly TrackedJob[]): bigint
  /** Returns those of these jobs that a budget is about. */
  concernedBy(budget: GasBudget, entries: readonly TrackedJob[]): TrackedJob[]
  /** Holds back for so long the jobs for which this budget has no room next to what is under way. */
  pause(full: GasBudgetError, ms: number): void
  /** Lets new payers without code take turns until midnight UTC. */
  takeTurns(): void
  /** Notes that a payer's job settled, or burnt gas without a settlement. */
  note(payer: string, isSettled: boolean): void
}

interface GasBudgetsOptions extends Pick<RelayerContext, 'readCoded' | 'feed' | 'now'> {
  jobs: TrackedJobs
  queue: Pick<JobQueue, 'isInHand'>
  gasLimits: GasLimits
  gas: GasModel
}

/** Transactions of one wallet under way at once, whatever its budget is: the lanes are there for others, too. */
const MAX_UNDER_WAY = 8
/**
 * The gas that a payment of a plain account burns when it fails, without the base of its transaction: it fails before the
 * token writes balances. The local chain takes up to 47,000, and 43,000 in a full transaction. A test compares.
 */
const FAILED_GAS = 45_000
/** While payers take turns, a payer of whom so many payments settled in a row may share a transaction. */
const TRUSTED_FROM = 50
const MAX_REMEMBERED = 10_000

export function createGasBudgets(options: GasBudgetsOptions): GasBudgets {
  const { jobs, readCoded, gasLimits: limits, gas, feed, now } = options
  const pausedUntil = new Map<string, number>()
  /** Gas that accounts were found to have burnt today. */
  const burntToday = new LRUCache<string, { day: string; burnt: bigint }>({ max: MAX_REMEMBERED })
  const turns = createTurns(now)

  const price = () => priceOf(feed.latest()?.baseFeePerGas ?? 0n)

  /** Returns whether a settlement moves less than its gas costs now. */
  function isSubsidised({ value, expectedGas = gas.perPayment() }: TrackedJob): boolean {
    if (limits.subsidised === undefined || value === undefined) return false
    return toNative(value) < expectedGas * price()
  }

  function isAbout(name: string, entry: TrackedJob): boolean {
    if (name === SUBSIDISED) return isSubsidised(entry)
    if (name === WASTED.coded) return hasCode(entry)
    return entry.payer === name || entry.coded.includes(name)
  }

  function isPaused(entry: TrackedJob): boolean {
    for (const [name, until] of pausedUntil) {
      if (until <= now()) pausedUntil.delete(name)
      else if (isAbout(name, entry)) return true
    }
    return false
  }

  /** Returns what a plain account has left today for what is under way, as far as this process knows. */
  function leftOf(payer: string): bigint {
    const known = burntToday.get(payer)
    return known?.day === dayOf(now()) ? limits.perAccount - known.burnt : limits.perAccount
  }

  /** Counts the jobs that a slot carries, or that are about to be signed. */
  function countUnderWay(): UnderWay {
    const byPayer = new Map<string, Load>()
    let newcomers = 0
    for (const entry of jobs.all()) {
      if (entry.liveSlots === 0 && !options.queue.isInHand(entry)) continue
      const load = byPayer.get(entry.payer) ?? { jobs: 0, coded: 0, gas: 0 }
      load.jobs++
      if (hasCode(entry)) load.coded++
      load.gas += entry.riskedGas ?? riskOf(entry)
      byPayer.set(entry.payer, load)
      if (turns.isNew(entry)) newcomers++
    }
    return { byPayer, newcomers }
  }

  /** Returns how much gas of a plain payer may be at risk now. Where nothing is left, the journal refuses the job. */
  function roomOf(payer: string): number {
    const left = leftOf(payer)
    return left <= 0n ? Number.POSITIVE_INFINITY : Number(left) / Number(price())
  }

  return {
    mayGo() {
      let underWay: UnderWay | undefined
      return (entry, taken) => {
        if (isPaused(entry)) return false
        underWay ??= countUnderWay()
        const load = underWay.byPayer.get(entry.payer) ?? noLoad
        if (hasCode(entry)) return load.coded < MAX_UNDER_WAY
        const own = taken.filter(({ payer }) => payer === entry.payer)
        const base = own.length > 0 ? Number(TRANSACTION_BASE) : 0
        const atRisk = own.reduce((sum, it) => sum + riskOf(it), load.gas + base)
        if (atRisk >= roomOf(entry.payer)) return false
        entry.hasTurn = turns.areTaken()
        return turns.isTurnOf(entry, taken, load.jobs + own.length, underWay.newcomers)
      }
    },
    async readCodes(entries) {
      const accountsThatRun = entries.flatMap((entry) => entry.accountsThatRun as Address[])
      const coded: ReadonlySet<string> = await readCoded(accountsThatRun)
      for (const entry of entries) {
        // An account that had code once answers for what it burns, also when the code is gone for the moment of a read.
        const isCoded = (runner: string) => coded.has(runner) || entry.coded.includes(runner)
        if (entry.accountsThatRun.some(isCoded)) entry.coded = entry.accountsThatRun.filter(isCoded)
      }
    },
    budgetsOf(entries, gasLimit, { maxFeePerGas }, isReplacement = false) {
      const worst = gasLimit * maxFeePerGas
      const base = Number(TRANSACTION_BASE) / Math.max(1, entries.length)
      const budgets = new Map<string, GasBudget>()
      for (const entry of entries) {
        const { payer: name, gas: bounds } = entry
        entry.riskedGas = Math.ceil(riskOf(entry) + base)
        const last = bounds === undefined ? BigInt(entry.riskedGas) * price() : worst
        const amount = (budgets.get(name)?.amount ?? 0n) + last
        const isStrict = false
        budgets.set(name, {
          ...{ name, amount, limit: limits.perAccount, isStrict },
          last: isReplacement ? amount : last,
        })
      }
      const add = (name: string, amount: bigint, limit: bigint, isStrict: boolean) =>
        budgets.set(name, { name, amount, limit, isStrict })
      const coded = entries.flatMap((entry) => entry.coded)
      for (const name of coded) add(name, worst, limits.perAccount, true)
      if (coded.length > 0) add(WASTED.coded, worst, limits.wasted, true)
      // Plain accounts are asked for their sum until it is spent, and take turns from then on. What had left the queue
      // just before the turns began is asked as well.
      else if (!isReplacement && !entries.every(({ hasTurn }) => hasTurn))
        add(WASTED.plain, 0n, limits.wasted, false)
      const given = BigInt(entries.filter(isSubsidised).length)
      if (given > 0n && limits.subsidised !== undefined) {
        add(SUBSIDISED, (worst * given) / BigInt(entries.length), limits.subsidised, true)
      }
      return [...budgets.values()]
    },
    headroomFor: (entries) => (entries.some(hasCode) ? RISKY_HEADROOM : HEADROOM),
    concernedBy: ({ name }, entries) => entries.filter((entry) => isAbout(name, entry)),
    pause({ budget: { name }, burnt }, ms) {
      pausedUntil.set(name, now() + ms)
      burntToday.set(name, { day: dayOf(now()), burnt })
    },
    takeTurns: turns.begin,
    note: turns.note,
  }
}

function hasCode({ coded }: TrackedJob): boolean {
  return coded.length > 0
}

/** Returns the gas that a plain account's job burns when it fails. */
function riskOf({ failedGas = FAILED_GAS }: TrackedJob): number {
  return failedGas
}

/** The jobs of one payer under way, and the gas they burn if they fail. */
interface Load {
  jobs: number
  coded: number
  gas: number
}

const noLoad: Readonly<Load> = { jobs: 0, coded: 0, gas: 0 }

interface UnderWay {
  byPayer: ReadonlyMap<string, Load>
  /** The jobs of new plain payers. */
  newcomers: number
}

/**
 * The turns of plain payers, once their sum of waste is spent. Payments that settled since the last that failed are a
 * payer's standing. A payer has as many under way as their standing, and at least one. New payers have none: together
 * they have as many under way as settled of them since the last that failed, and at least one. Payments travel alone, so
 * that code which appears at the last moment burns their own gas and no other, until their payer is trusted.
 */
function createTurns(now: () => number) {
  /** The day on which turns are taken. */
  let day: string | undefined
  const standings = new LRUCache<string, number>({ max: MAX_REMEMBERED })
  let newcomersSettled = 0

  const standingOf = ({ payer }: TrackedJob) => standings.get(payer) ?? 0
  const isNew = (entry: TrackedJob) => !hasCode(entry) && standingOf(entry) === 0
  const isTrusted = (entry: TrackedJob) => standingOf(entry) >= TRUSTED_FROM
  const areTaken = () => day === dayOf(now())

  return {
    areTaken,
    isNew,
    begin() {
      day = dayOf(now())
    },
    note(payer: string, isSettled: boolean) {
      const standing = standings.get(payer) ?? 0
      if (isSettled) {
        standings.set(payer, standing + 1)
        if (standing === 0) newcomersSettled++
      } else {
        standings.delete(payer)
        newcomersSettled = 0
      }
    },
    /** Returns whether a plain job may go now, with so many jobs of its payer, and of all new payers, under way or taken. */
    isTurnOf(
      entry: TrackedJob,
      taken: readonly TrackedJob[],
      before: number,
      newcomers: number,
    ): boolean {
      if (!areTaken()) return true
      if (taken.length > 0 && ![entry, ...taken].every(isTrusted)) return false
      if (before >= Math.max(1, standingOf(entry))) return false
      return !isNew(entry) || newcomers < Math.max(1, newcomersSettled)
    },
  }
}

/** Returns the rejection of a payment whose budget is spent. */
export function spentBudget({ budget, burnt }: GasBudgetError): Rejection {
  const { name, amount, limit } = budget
  const [spent, most, needed] = [burnt, limit, amount].map((it) => formatNative(it))
  const message =
    name === SUBSIDISED
      ? `Payments that move less than their gas cost ${spent} dollars of gas today; the limit for them is ${most}. Payments that move more than their gas are still settled.`
      : name === WASTED.coded
        ? `Transactions of accounts with code that settled nothing burnt ${spent} dollars of gas today; the limit is ${most}, so no more gas is risked on such accounts.`
        : `Transactions of ${name} that settled nothing burnt ${spent} dollars of gas today, and this one may burn ${needed}; the limit is ${most}.`
  return { reason: 'gasBudgetExceeded', message }
}
