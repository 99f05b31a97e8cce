import type { Address } from 'viem'
import type { ReadCoded } from '../chain/account-codes.js'
import type { BlockFeed } from '../chain/block-feed.js'
import { type GasBearer, type GasBudgetError, SUBSIDISED, WASTED } from '../store/budgets.js'
import { formatNative, toNative } from '../x402/amounts.js'
import type { Rejection } from '../x402/reasons.js'
import { type Fees, HEADROOM, priceOf, RISKY_HEADROOM } from './fees.js'
import type { GasModel } from './gas-model.js'
import type { TrackedJob, TrackedJobs } from './tracked-jobs.js'

/** What a day may burn or give away, 18-decimal units. */
export interface GasLimits {
  /** On transactions of one account that settle nothing. */
  perAccount: bigint
  /** On all transactions that settle nothing, before accounts with code are refused. */
  wasted: bigint
  /** On settlements that move less than their gas; `undefined` is no limit. */
  subsidised: bigint | undefined
}

/** Keeps accounts whose code runs in a transaction, and who may lie to its simulation, within their budgets of gas. */
export interface WalletGate {
  /** Looked at anew whenever something is taken from the queue. */
  mayGo(): (entry: TrackedJob) => boolean
  /** Looks which accounts of these have code now. Throws `RpcUnavailableError`. */
  look(entries: readonly TrackedJob[]): Promise<void>
  /** Whose budgets must bear a transaction with these, and how much of it. */
  bearersOf(entries: readonly TrackedJob[], gasLimit: bigint, fees: Fees): GasBearer[]
  /** How far above the base fee the ceiling of a transaction with these is set, in percent. */
  headroomFor(entries: readonly TrackedJob[]): bigint
  /** Which of these a budget is about. */
  concernedBy(bearer: GasBearer, entries: readonly TrackedJob[]): TrackedJob[]
  /** Holds back for so long what the budget of this bearer does not bear beside what is under way. */
  pause(bearer: GasBearer, ms: number): void
}

export interface WalletGateOptions {
  tracked: TrackedJobs
  readCoded: ReadCoded
  limits: GasLimits
  gas: GasModel
  feed: BlockFeed
  /** Unix milliseconds. */
  now: () => number
}

/** Transactions of one wallet under way at once, whatever its budget bears: the lanes are there for others, too. */
const MAX_UNDER_WAY = 8

export function createWalletGate(options: WalletGateOptions): WalletGate {
  const { tracked, readCoded, limits, gas, feed, now } = options
  const pausedUntil = new Map<string, number>()

  /** Whether a settlement moves less than its gas costs now. */
  function isSubsidised({ value }: TrackedJob): boolean {
    if (limits.subsidised === undefined || value === undefined) return false
    return toNative(value) < gas.perPayment() * priceOf(feed.latest()?.baseFeePerGas ?? 0n)
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
        underWay ??= countUnderWay(tracked)
        return (underWay.get(entry.payer) ?? 0) < MAX_UNDER_WAY
      }
    },
    async look(entries) {
      const runners = entries.flatMap((entry) => entry.runners as Address[])
      const coded: ReadonlySet<string> = await readCoded(runners)
      for (const entry of entries) {
        // Who had code once answers for what it burns, also when it is gone for the moment of a look.
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
        // Payments of plain accounts fail at the price of a transaction of the payer's own: they are only asked.
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

/** Why nothing more is risked on the budget of a bearer, in words for the caller. */
export function spentBudget({ bearer, burnt }: GasBudgetError): Rejection {
  const { name, amount, limit } = bearer
  const [spent, most, needed] = [burnt, limit, amount].map((it) => formatNative(it))
  const words =
    name === SUBSIDISED
      ? `Payments that move less than their gas cost ${spent} dollars of gas today; the limit for them is ${most}. Payments that bear their gas are settled.`
      : name === WASTED
        ? `Transactions that settled nothing burnt ${spent} dollars of gas today; with the limit of ${most} no more is risked on accounts with code.`
        : `Transactions of ${name} that settled nothing burnt ${spent} dollars of gas today, and this one may burn ${needed}; the limit is ${most}.`
  return { reason: 'gasBudgetExceeded', message: words }
}

function countUnderWay(tracked: TrackedJobs): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { coded, liveSlots, payer } of tracked.all()) {
    if (coded.length > 0 && liveSlots > 0) counts.set(payer, (counts.get(payer) ?? 0) + 1)
  }
  return counts
}
