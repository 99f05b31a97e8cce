import type { Address, Hex } from 'viem'
import type { BlockFeed } from '../chain/block-feed.js'
import { WALLET_GAS_CAP } from '../chain/contract-wallet.js'
import type { Rpc } from '../chain/rpc.js'
import type { Outcome } from '../store/settlement-journal.js'
import {
  type AtomicAmount,
  formatAtomic,
  formatNative,
  type NativeAmount,
  toNative,
} from '../x402/amounts.js'
import type { Rejection } from '../x402/reasons.js'
import type { Cause } from './examiner.js'
import { priceOf } from './fees.js'
import type { GasModel } from './gas-model.js'
import { failure } from './outcomes.js'
import { type Fate, simulateBatch, simulateSingle, toTransaction } from './simulation.js'
import type { TrackedJob } from './tracked-jobs.js'

/** A transaction ready to be signed, and who rides in it. */
export interface Prepared {
  members: TrackedJob[]
  to: Address
  data: Hex
  gasLimit: bigint
}

export interface PreparationOptions {
  rpc: Rpc
  feed: BlockFeed
  gas: GasModel
  /** Unix milliseconds. */
  now: () => number
  /** Fails it unless something signed for it may land; whether it did. */
  refuse(entry: TrackedJob, outcome: Outcome): Promise<boolean>
  /** The simulation refused it, or it is not worth its gas: find out the truth. */
  examine(entry: TrackedJob, cause: Cause): void
  /** Notes which accounts have code now. Throws `RpcUnavailableError`. */
  look(entries: readonly TrackedJob[]): Promise<void>
  /** It may pass by itself: it travels again, alone. */
  resendAlone(entry: TrackedJob): void
  /** The chain's clock has not reached it yet. */
  sendLater(entry: TrackedJob): void
}

/** A plain payment takes about a tenth of this; more is a token gone wrong. */
const SINGLE_GAS_CAP = 1_000_000n

export interface Preparation {
  /** `undefined` when nobody is left. Throws `RpcUnavailableError`. */
  prepare(from: Address, batch: TrackedJob[]): Promise<Prepared | undefined>
  /** Drops what nobody waits for, and what could not land in time by the chain's clock or ours. */
  dropHopeless(members: TrackedJob[]): Promise<TrackedJob[]>
}

/** Turns a batch into a transaction that will land: who cannot is dropped here, with his own reason, before gas is spent. */
export function createPreparation(options: PreparationOptions): Preparation {
  const { rpc, feed, gas, now } = options

  async function prepare(from: Address, batch: TrackedJob[]): Promise<Prepared | undefined> {
    const weighed = await weigh(from, await dropHopeless(batch))
    const members = await dropHopeless(keepPlain(weighed.members))
    if (members.length === 0) return undefined
    return { members, ...toTransaction(members.map(callOf)), gasLimit: weighed.gasLimit }
  }

  async function dropHopeless(members: TrackedJob[]): Promise<TrackedJob[]> {
    const chainSeconds = feed.latest()?.timestamp ?? 0
    const seconds = Math.max(chainSeconds, Math.floor(now() / 1000))
    const kept: TrackedJob[] = []
    for (const entry of members) {
      if (entry.isWithdrawn && entry.job.transaction === null) {
        if (!(await options.refuse(entry, withdrawal()))) kept.push(entry)
      } else if (entry.job.expiresAt <= seconds) {
        const message = `The authorization expired at ${entry.job.expiresAt}, before it could be sent; it is ${seconds} now.`
        const outcome = failure('validBefore', message, { gasCost: entry.burntGas })
        if (entry.job.transaction === null && (await options.refuse(entry, outcome))) continue
        // What was signed before may have landed, or may until the chain's clock is past its end: only the chain can tell.
        if (entry.job.expiresAt <= chainSeconds) options.examine(entry, {})
        else options.sendLater(entry)
      } else kept.push(entry)
    }
    return kept
  }

  async function weigh(from: Address, members: TrackedJob[]) {
    const [only] = members
    if (only === undefined) return { members, gasLimit: 0n }
    if (members.length === 1) {
      const cap = only.gas?.most ?? (only.isAlone ? WALLET_GAS_CAP : SINGLE_GAS_CAP)
      const [fate, gain] = await Promise.all([
        simulateSingle(rpc, from, callOf(only), cap),
        only.kind.gain?.(only.job),
        options.look(members),
      ])
      if (fate.ok && gain !== undefined && fate.gas < cap) {
        const refusal = judgeGain(gain, fate.gas * priceOf(feed.latest()?.baseFeePerGas ?? 0n))
        if (refusal !== undefined) {
          options.examine(only, { refusal })
          return { members: [], gasLimit: 0n }
        }
      }
      if (!fate.ok) return { members: dropFailed(members, [fate]), gasLimit: cap }
      const limit = atLeast(gas.singleLimit(fate.gas), only.gas?.least)
      return { members, gasLimit: limit < cap ? limit : cap }
    }
    const gasLimit = gas.batchLimit(members)
    const [fates] = await Promise.all([
      simulateBatch(rpc, from, members.map(callOf), gasLimit),
      options.look(members),
    ])
    return { members: dropFailed(members, fates), gasLimit }
  }

  /** Whoever has code by now travels alone: it could burn the gas of all who share the transaction. */
  function keepPlain(members: TrackedJob[]): TrackedJob[] {
    return members.filter((entry) => {
      if (entry.isAlone || entry.coded.length === 0) return true
      options.resendAlone(entry)
      return false
    })
  }

  function dropFailed(members: TrackedJob[], fates: Fate[]): TrackedJob[] {
    return members.filter((entry, i) => {
      const fate = fates[i]
      if (fate === undefined || fate.ok) return true
      if (isEarly(fate.revert)) {
        if (isDue(entry)) return true
        options.sendLater(entry)
      }
      // Without words it ran out of gas, or out of room: that says nothing about the payment.
      else if (fate.revert === undefined && members.length > 1) options.resendAlone(entry)
      else options.examine(entry, { revert: fate.revert })
      return false
    })
  }

  /**
   * A chain that makes blocks only on demand simulates in the past: what is valid by the wall clock is sent all
   * the same. Whole seconds, both ends exclusive, as the token counts.
   */
  function isDue(entry: TrackedJob): boolean {
    return entry.kind.validAfter(entry.job) < Math.floor(now() / 1000)
  }

  return { prepare, dropHopeless }
}

/** Why what must bear its gas does not; both in dollars on their own scales. */
export function judgeGain(gain: AtomicAmount, gasCost: NativeAmount): Rejection | undefined {
  if (toNative(gain) >= gasCost) return undefined
  const message = `It moves ${formatAtomic(gain)} dollars and would cost ${formatNative(gasCost)} of gas at present; wait until more has come together.`
  return { reason: 'amountBelowMinimum', message }
}

function atLeast(gasLimit: bigint, least = 0n): bigint {
  return gasLimit > least ? gasLimit : least
}

function isEarly(revert: string | undefined): boolean {
  return /not yet valid/i.test(revert ?? '')
}

/** The outcome of what nobody waits for any more and was never signed. */
export function withdrawal(): Outcome {
  return failure(
    'unexpectedSettleError',
    'The chain could not be reached in time; nothing was sent.',
  )
}

function callOf({ job }: TrackedJob): { to: Address; data: Hex } {
  return { to: job.to, data: job.calldata }
}
