import {
  type AtomicAmount,
  formatAtomic,
  formatNative,
  type NativeAmount,
  toNative,
} from '@arcus/protocol/x402/amounts'
import type { Rejection } from '@arcus/protocol/x402/reasons'
import type { Address, Hex } from 'viem'
import { toSeconds } from '../../async/time.js'
import {
  callsOf,
  decodeAggregate3,
  type EvmCall,
  encodeAggregate3,
  multicall3Address,
  parseQuantity,
  toQuantity,
} from '../../chain/abi.js'
import { WALLET_GAS_CAP } from '../../chain/contract-wallet.js'
import { PAYER_HAS_CODE } from '../../chain/deployments.js'
import { PAYMENT_TOO_EARLY } from '../../chain/permit2.js'
import type { Rpc } from '../../chain/rpc.js'
import {
  decodeRevert,
  isRevert,
  RpcResponseError,
  RpcUnavailableError,
  revertText,
} from '../../chain/rpc-errors.js'
import type { Outcome } from '../journal/settlement-journal.js'
import type { Examiner } from './examiner.js'
import { type GasModel, priceOf } from './gas.js'
import type { TrackedJob } from './jobs.js'
import type { SlotCall } from './lane/slot.js'
import { failure, type OutcomeKeeper } from './outcomes.js'
import { type JobQueue, RETRY_MS } from './queue.js'
import type { RelayerContext } from './relayer-context.js'
import type { Waste } from './waste.js'

/** A transaction ready to be signed, and the jobs in it. */
interface BatchTransaction extends SlotCall {
  members: TrackedJob[]
}

/** Turns a batch into a transaction that will land; a job that cannot land is dropped here, before gas is spent. */
export interface Preparation {
  /** Resolves with `undefined` when no job is left. Throws `RpcUnavailableError`. */
  prepare(from: Address, batch: TrackedJob[]): Promise<BatchTransaction | undefined>
  /** Drops jobs that nobody waits for, and those that could not land in time by the chain's clock or ours. */
  dropHopeless(members: TrackedJob[]): Promise<TrackedJob[]>
}

interface PreparationOptions extends Pick<RelayerContext, 'rpc' | 'feed' | 'guard' | 'now'> {
  gas: GasModel
  waste: Waste
  queue: JobQueue
  keeper: Pick<OutcomeKeeper, 'refuse'>
  examiner: Pick<Examiner, 'examine'>
}

/** A plain payment takes about a tenth of this; more means that the token misbehaves. */
const SINGLE_GAS_CAP = 1_000_000n

/** A proof by facts counts for so long after the job was claimed, milliseconds: an idle feed sees blocks late. */
const PROOF_MS = 500

export function createPreparation(options: PreparationOptions): Preparation {
  const { rpc, feed, gas, waste, queue, keeper, examiner, now } = options

  async function prepare(
    from: Address,
    batch: TrackedJob[],
  ): Promise<BatchTransaction | undefined> {
    const simulated = await simulate(from, await dropHopeless(batch))
    const members = await dropHopeless(keepPlain(simulated.members))
    if (members.length === 0) return undefined
    return { members, ...toTransaction(members, options.guard()), gasLimit: simulated.gasLimit }
  }

  async function dropHopeless(members: TrackedJob[]): Promise<TrackedJob[]> {
    const chainSeconds = feed.latest()?.timestamp ?? 0
    const seconds = Math.max(chainSeconds, toSeconds(now()))
    const kept: TrackedJob[] = []
    for (const entry of members) {
      if (entry.withdrawnAs !== undefined && entry.job.transaction === null) {
        if (!(await keeper.refuse(entry, entry.withdrawnAs))) kept.push(entry)
      } else if (entry.job.expiresAt <= seconds) {
        const message = `The authorization expired at ${entry.job.expiresAt}, before it could be sent; it is ${seconds} now.`
        const outcome = failure('validBefore', message, { gasCost: entry.burntGas })
        if (entry.job.transaction === null && (await keeper.refuse(entry, outcome))) continue
        // A transaction signed before may have landed, or may land until the chain's clock is past the end: only the chain shows which.
        if (entry.job.expiresAt <= chainSeconds) void examiner.examine(entry, {})
        else queue.putBack(entry, RETRY_MS)
      } else kept.push(entry)
    }
    return kept
  }

  /** Simulates the transaction and returns the members that passed, with its gas limit. */
  async function simulate(from: Address, members: TrackedJob[]) {
    const [only] = members
    if (only === undefined) return { members, gasLimit: 0n }
    if (members.every(isProven)) {
      return { members, gasLimit: members.length > 1 ? gas.batchLimit(members) : gas.aloneLimit() }
    }
    if (members.length === 1) return simulateAlone(from, only)
    const gasLimit = gas.batchLimit(members)
    const [results] = await Promise.all([
      simulateBatch(rpc, { from, ...toTransaction(members, options.guard()) }, gasLimit),
      waste.readCodes(members),
    ])
    return { members: dropFailed(members, results), gasLimit }
  }

  /** Returns whether facts of the newest block have just shown all that the chain asks of the job. */
  function isProven({ provenInBlock = -1, isAlone, queuedAt }: TrackedJob): boolean {
    const isNewest = provenInBlock >= (feed.latest()?.number ?? Number.POSITIVE_INFINITY)
    return !isAlone && isNewest && now() - queuedAt <= PROOF_MS
  }

  async function simulateAlone(from: Address, only: TrackedJob) {
    const cap = only.gas?.most ?? (only.isAlone ? WALLET_GAS_CAP : SINGLE_GAS_CAP)
    const [result, gain] = await Promise.all([
      simulateSingle(rpc, from, toTransaction([only]), cap),
      only.kind.gain?.(only.job),
      waste.readCodes([only]),
    ])
    if (!result.ok) return { members: dropFailed([only], [result]), gasLimit: cap }
    if (gain !== undefined && result.gas < cap) {
      const refusal = checkGain(gain, result.gas * priceOf(feed.latest()?.baseFeePerGas ?? 0n))
      if (refusal !== undefined) {
        void examiner.examine(only, { refusal })
        return { members: [], gasLimit: 0n }
      }
    }
    const limit = atLeast(gas.singleLimit(result.gas), only.gas?.least)
    return { members: [only], gasLimit: limit < cap ? limit : cap }
  }

  /** Sends an account that has code by now alone: it could burn the gas of all that share the transaction. */
  function keepPlain(members: TrackedJob[]): TrackedJob[] {
    return members.filter((entry) => {
      if (entry.isAlone || entry.coded.length === 0) return true
      queue.putBackAlone(entry)
      return false
    })
  }

  function dropFailed(members: TrackedJob[], results: CallResult[]): TrackedJob[] {
    return members.filter((entry, i) => {
      const result = results[i]
      if (result === undefined || result.ok) return true
      if (isEarly(result.revert)) {
        if (isDue(entry)) return true
        queue.putBack(entry, RETRY_MS)
      }
      // A member without a revert text ran out of gas, or out of room: that says nothing about the payment.
      else if (result.revert === undefined && members.length > 1) queue.putBackAlone(entry)
      else if (result.revert === PAYER_HAS_CODE) queue.putBackAlone(entry)
      else void examiner.examine(entry, { revert: result.revert })
      return false
    })
  }

  /**
   * Returns whether the job is valid by the wall clock, in whole seconds, both ends exclusive, as the token counts. Such a
   * job is sent all the same, because a chain that makes blocks only on demand simulates in the past.
   */
  function isDue(entry: TrackedJob): boolean {
    return entry.kind.validAfter(entry.job) < toSeconds(now())
  }

  return { prepare, dropHopeless }
}

/** Returns why a job that must cover its gas does not; both amounts are dollars, each on its own scale. */
export function checkGain(gain: AtomicAmount, gasCost: NativeAmount): Rejection | undefined {
  if (toNative(gain) >= gasCost) return undefined
  const message = `It moves ${formatAtomic(gain)} dollars and would cost ${formatNative(gasCost)} of gas now; wait until more has come together.`
  return { reason: 'amountBelowMinimum', message }
}

/** Makes the outcome of a job that nobody waits for any more and that was never signed. */
export function withdrawal(): Outcome {
  return failure('unexpectedSettleError', 'It could not be sent in time; nothing was sent.')
}

/** Makes the outcome of a job whose turn did not come while somebody waited for it. */
export function outOfTime(waitedMs: number, payer: string, others: number): Outcome {
  const seconds = Math.round(waitedMs / 1000)
  const message = `It waited ${seconds} seconds for its turn, while ${others} other payments of ${payer} waited or were under way; nothing was sent, so settle it again.`
  return failure('notSentInTime', message)
}

function atLeast(gasLimit: bigint, least = 0n): bigint {
  return gasLimit > least ? gasLimit : least
}

function isEarly(revert = ''): boolean {
  return /not yet valid/i.test(revert) || revert.includes(PAYMENT_TOO_EARLY)
}

/** The result of one member when its transaction was simulated. */
type CallResult =
  | { ok: true }
  /** The token's reason; a member without a text ran out of gas or out of room. */
  | { ok: false; revert: string | undefined }

const SIMULATION_TIMEOUT_MS = 3_000

/**
 * Wraps several calls into one transaction of a multicall in which each may fail alone; one call stays as it is, unless the
 * multicall of the relayers must make it. That one makes shared calls wherever it can, because it skips what can only fail.
 */
function toTransaction(members: readonly TrackedJob[], guard?: Address): EvmCall {
  const calls = members.map(({ job }) => ({ to: job.to, data: job.calldata }))
  const [only] = calls
  const through = members[0]?.through
  if (calls.length === 1 && only !== undefined && through === undefined) return only
  return { to: through ?? guard ?? multicall3Address, data: encodeAggregate3(calls) }
}

/** Simulates a plain call and returns the gas it takes. Throws `RpcUnavailableError`. */
export async function simulateSingle(
  rpc: Rpc,
  from: Address,
  call: EvmCall,
  gasCap: bigint,
): Promise<{ ok: true; gas: bigint } | { ok: false; revert: string | undefined }> {
  try {
    const gas = await rpc.request('eth_estimateGas', [{ from, ...call, gas: toQuantity(gasCap) }], {
      timeoutMs: SIMULATION_TIMEOUT_MS,
    })
    return { ok: true, gas: parseQuantity(gas) }
  } catch (error) {
    if (isRevert(error)) return { ok: false, revert: revertText(error) }
    // The sender's balance or the cap is the cause, not the payment: sending shows it, and has its own repair.
    if (error instanceof RpcResponseError) return { ok: true, gas: gasCap }
    throw error
  }
}

/** Simulates a batch under the very gas limit it will have. Throws `RpcUnavailableError`. */
async function simulateBatch(
  rpc: Rpc,
  call: EvmCall & { from: Address },
  gasLimit: bigint,
): Promise<CallResult[]> {
  const transaction = { ...call, gas: toQuantity(gasLimit) }
  const calls = callsOf(call)
  try {
    const answer = await rpc.request('eth_call', [transaction, 'latest'], {
      timeoutMs: SIMULATION_TIMEOUT_MS,
    })
    const members = decodeAggregate3(answer as Hex)
    if (members.length !== calls.length) throw new RpcUnavailableError('a simulation lacks members')
    return members.map(({ ok, data }) => (ok ? { ok } : { ok, revert: decodeRevert(data) }))
  } catch (error) {
    if (error instanceof RpcResponseError)
      return calls.map(() => ({ ok: false, revert: undefined }))
    throw error
  }
}
