import type { Address } from 'viem'
import { type GasBearer, type GasBudgetError, SUBSIDISED, WASTED } from '../store/budgets.js'
import { formatNative, toNative } from '../x402/amounts.js'
import type { Rejection } from '../x402/reasons.js'
import type { TrackedJob, TrackedJobs } from './jobs.js'
import type { RelayerWorld } from './world.js'

/** Both fee fields of an EIP-1559 transaction, 18-decimal units a gas. */
export interface Fees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

/** Arc takes a tip of 0; a little above it, so that a replacement can raise this field too. */
const TIP = 1_000_000n
/** Arc's fee may rise 2 % a block: three times the base fee outlasts 50 full blocks, and unused it costs nothing. */
const HEADROOM = 300n
/** The headroom of a transaction that a budget must bear. A small one reserves less, and a quarter outlasts 11 full blocks. */
export const RISKY_HEADROOM = 125n
/** Nodes ask at least 10 % more in both fields of a replacement. */
const BUMP_PERCENT = 125n

/** Returns what a gas costs in a block with this base fee, 18-decimal units. */
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
  /** Returns what one payment takes at present, for prices and forecasts. */
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
  /** On all transactions that settle nothing, before accounts with code are refused. */
  wasted: bigint
  /** On settlements that move less than their gas; `undefined` is no limit. */
  subsidised: bigint | undefined
}

/** Keeps accounts whose code runs in a transaction, and may deceive its simulation, within their budgets of gas. */
export interface GasBudgets {
  /** Returns the test that a job must pass to leave the queue; it holds for one pass over the queue. */
  mayGo(): (entry: TrackedJob) => boolean
  /** Notes in the entries which of their accounts have code now. Throws `RpcUnavailableError`. */
  readCodes(entries: readonly TrackedJob[]): Promise<void>
  /** Returns the budgets that must bear a transaction with these jobs, and how much of it. */
  bearersOf(entries: readonly TrackedJob[], gasLimit: bigint, fees: Fees): GasBearer[]
  /** Returns how far above the base fee the ceiling of a transaction with these jobs is set, in percent. */
  headroomFor(entries: readonly TrackedJob[]): bigint
  /** Returns those of these jobs that a budget is about. */
  concernedBy(bearer: GasBearer, entries: readonly TrackedJob[]): TrackedJob[]
  /** Holds back for so long the jobs that the budget of this bearer does not bear beside what is under way. */
  pause(bearer: GasBearer, ms: number): void
}

export interface GasBudgetsOptions extends Pick<RelayerWorld, 'readCoded' | 'feed' | 'now'> {
  jobs: TrackedJobs
  gasLimits: GasLimits
  gas: GasModel
}

/** Transactions of one wallet under way at once, whatever its budget bears: the lanes are there for others, too. */
const MAX_UNDER_WAY = 8

export function createGasBudgets(options: GasBudgetsOptions): GasBudgets {
  const { jobs, readCoded, gasLimits: limits, gas, feed, now } = options
  const pausedUntil = new Map<string, number>()

  /** Returns whether a settlement moves less than its gas costs now. */
  function isSubsidised({ value, expectedGas = gas.perPayment() }: TrackedJob): boolean {
    if (limits.subsidised === undefined || value === undefined) return false
    return toNative(value) < expectedGas * priceOf(feed.latest()?.baseFeePerGas ?? 0n)
  }

  function isAbout(name: string, entry: TrackedJob): boolean {
    if (name === SUBSIDISED) return isSubsidised(entry)
    if (name === WASTED) return entry.coded.length > 0
    return entry.payer === name || entry.coded.includes(name)
  }

  function isPaused(entry: TrackedJob): boolean {
    for (const [name, until] of pausedUntil) {
      if (until <= now()) pausedUntil.delete(name)
      else if (isAbout(name, entry)) return true
    }
    return false
  }

  return {
    mayGo() {
      let underWay: Map<string, number> | undefined
      return (entry) => {
        if (isPaused(entry)) return false
        if (entry.coded.length === 0) return true
        underWay ??= countUnderWay(jobs)
        return (underWay.get(entry.payer) ?? 0) < MAX_UNDER_WAY
      }
    },
    async readCodes(entries) {
      const runners = entries.flatMap((entry) => entry.runners as Address[])
      const coded: ReadonlySet<string> = await readCoded(runners)
      for (const entry of entries) {
        // An account that had code once answers for what it burns, also when the code is gone for the moment of a read.
        const isCoded = (runner: string) => coded.has(runner) || entry.coded.includes(runner)
        if (entry.runners.some(isCoded)) entry.coded = entry.runners.filter(isCoded)
      }
    },
    bearersOf(entries, gasLimit, { maxFeePerGas }) {
      const worst = gasLimit * maxFeePerGas
      const bearers = new Map<string, GasBearer>()
      const add = (name: string, amount: bigint, limit: bigint, isStrict: boolean) =>
        bearers.set(name, { name, amount, limit, isStrict })
      for (const { payer, gas: bounds } of entries) {
        // Payments of plain accounts fail at the price of a transaction of the payer's own: nothing is reserved for them.
        add(payer, bounds === undefined ? 0n : worst, limits.perAccount, false)
      }
      const coded = entries.flatMap((entry) => entry.coded)
      for (const name of coded) add(name, worst, limits.perAccount, true)
      if (coded.length > 0) add(WASTED, worst, limits.wasted, true)
      const given = BigInt(entries.filter(isSubsidised).length)
      if (given > 0n && limits.subsidised !== undefined) {
        add(SUBSIDISED, (worst * given) / BigInt(entries.length), limits.subsidised, true)
      }
      return [...bearers.values()]
    },
    headroomFor: (entries) =>
      entries.some(({ coded }) => coded.length > 0) ? RISKY_HEADROOM : HEADROOM,
    concernedBy: ({ name }, entries) => entries.filter((entry) => isAbout(name, entry)),
    pause({ name }, ms) {
      pausedUntil.set(name, now() + ms)
    },
  }
}

function countUnderWay(jobs: TrackedJobs): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { coded, liveSlots, payer } of jobs.all()) {
    if (coded.length > 0 && liveSlots > 0) counts.set(payer, (counts.get(payer) ?? 0) + 1)
  }
  return counts
}

/** Returns the rejection of a payment for which the budget of a bearer is spent. */
export function spentBudget({ bearer, burnt }: GasBudgetError): Rejection {
  const { name, amount, limit } = bearer
  const [spent, most, needed] = [burnt, limit, amount].map((it) => formatNative(it))
  const message =
    name === SUBSIDISED
      ? `Payments that move less than their gas cost ${spent} dollars of gas today; the limit for them is ${most}. Payments that move more than their gas are still settled.`
      : name === WASTED
        ? `Transactions that settled nothing burnt ${spent} dollars of gas today; the limit is ${most}, so no more gas is risked on accounts with code.`
        : `Transactions of ${name} that settled nothing burnt ${spent} dollars of gas today, and this one may burn ${needed}; the limit is ${most}.`
  return { reason: 'gasBudgetExceeded', message }
}
