import { bytesToHex } from 'viem'
import { readTransactionCount } from '../../chain/accounts.js'
import { findReceiptAnywhere, readReceipts } from '../../chain/receipts.js'
import {
  classifySendError,
  RpcResponseError,
  RpcUnavailableError,
  type SendProblem,
} from '../../chain/rpc-errors.js'
import { LeaseLostError, laneLease } from '../../sql/leases.js'
import { GasBudgetError } from '../journal/budgets.js'
import type { Attempt } from '../journal/settlement-journal.js'
import type { Examiner } from './examiner.js'
import { bumpFees, type Fees } from './gas.js'
import type { TrackedJob, TrackedJobs } from './jobs.js'
import type { OutcomeKeeper } from './outcomes.js'
import { type JobQueue, RETRY_MS } from './queue.js'
import type { RelayerContext } from './relayer-context.js'
import { hashOfTransaction, type Signer, type WatchedSigner } from './signer.js'
import { newestAttempt, newSlot, type Slot, type SlotCall, type Slots } from './slot.js'
import type { Waste } from './waste.js'

export interface LaneOptions
  extends Omit<RelayerContext, 'sharing' | 'readCoded' | 'hasMulticall3' | 'guard' | 'maxBatch'> {
  signer: Signer
  /** The nonces of this lane, which the examiner closes when a transaction is mined. */
  slots: Slots
  jobs: TrackedJobs
  queue: JobQueue
  keeper: OutcomeKeeper
  examiner: Examiner
  waste: Waste
}

/** The state of a lane. Only `lane.ts`, `repairs.ts` and this file write it. */
export interface LaneState extends LaneOptions {
  signer: WatchedSigner
  /** Milliseconds of a clock that only goes on. */
  now: () => number
  /** The epoch of the lease under which its slots were resumed; `undefined` while another process has the wallet. */
  epoch: number | undefined
  /** Everything that an earlier process left is resumed. */
  isReady: boolean
  /** Why the lane takes no payments. */
  closed: string | undefined
  /** Sends of one wallet go out one after another, so that a node sees its nonces in order. */
  sending: Promise<void>
  isTicking: boolean
  /** Nonces below an open slot that no transaction of ours has. */
  gaps: number[]
  /** The lowest open slot, since when it is that, and the newest block of then: no block could take its transaction before. */
  next: { slot: Slot; since: number; block: number } | undefined
  asideCheckedAt: number
  reopeningCheckedAt: number
}

/** The reasons for which a lane takes no payments, as `/ready` shows them. */
export const closedBy = { balance: 'no gas money', block: 'blocked by the chain' } as const
/** A transaction that only fills its slot. */
const NO_OP_GAS = 21_000n
const SEND_TIMEOUT_MS = 5_000
const NOT_TAKEN = 'the chain node answered something other than the hash of the transaction'
/** Refusals after which no node may have the transaction; the others have a repair that sends another at once. */
const mayBeNowhere = new Set<SendProblem>([
  'insufficientFunds',
  'senderBlocked',
  'gasAboveLimit',
  'unknown',
])
/** A refusal without a cause is followed by another send this soon, since every later nonce waits for it. */
const AGAIN_AFTER_MS = [100, 200, 400, 800]
/** A nonce that is used on chain although no node shows a receipt of ours is given up after this. */
const LOST_MS = 1_500

// The lease: without it nothing is signed or sent.

/** Returns whether a transaction that was begun under this epoch may still be sent. */
export function mayWork(lane: LaneState, epoch = lane.epoch): boolean {
  const { leases, network, signer } = lane
  const held = leases.held(laneLease(network, signer.address))
  return epoch !== undefined && lane.epoch === epoch && held === epoch
}

function requireEpoch(lane: LaneState): number {
  if (lane.epoch === undefined || !mayWork(lane)) {
    throw new LeaseLostError(`another process works for ${lane.signer.address}, or may by now`)
  }
  return lane.epoch
}

/** Sets the next nonce: the journal's counter with the chain as its floor, lowered only when no slot is open. */
export async function alignNonce(lane: LaneState, epoch: number): Promise<void> {
  const { network, signer, journal, slots } = lane
  const kept = await journal.findNextNonce(network, signer.address)
  const chainNonce = await readChainNonce(lane)
  // A nonce that was given back counts as used while a transaction that was signed for it may land.
  const after = slots.open().map(({ nonce }) => nonce + 1)
  slots.nextNonce = Math.max(kept ?? 0, chainNonce, ...after)
  if (kept === undefined || after.length > 0 || chainNonce >= kept) return
  const isLowered = await journal.setNextNonce(network, signer.address, kept, chainNonce, epoch)
  if (isLowered) slots.nextNonce = chainNonce
}

export function readChainNonce({ rpc, signer }: LaneState): Promise<number> {
  return readTransactionCount(rpc, signer.address)
}

// Signing and sending.

/** Signs a transaction under this nonce, keeps it and sends it; rejects when nothing was kept. */
export async function openAt(
  lane: LaneState,
  nonce: number,
  call: SlotCall,
  jobIds: string[],
  fees: Fees,
): Promise<void> {
  const epoch = requireEpoch(lane)
  const free = lane.slots.reserve(nonce)
  try {
    const attempt = await sign(lane, nonce, call, fees, jobIds)
    const slot = newSlot(attempt, call, epoch, lane.now())
    lane.slots.add(slot)
    lane.feed.setBusy(true)
    lane.slots.nextNonce = Math.max(lane.slots.nextNonce, nonce + 1)
    void send(lane, slot)
  } finally {
    free()
  }
}

/**
 * Signs a transaction and keeps it, before anybody can send it. Rejects when nothing was kept, with `GasBudgetError` where
 * a budget of gas has no room for it, and also where one of its jobs was decided meanwhile. Rejects as well when the wallet
 * went to another process meanwhile, which then has the transaction.
 */
async function sign(
  lane: LaneState,
  nonce: number,
  { to, data, gasLimit }: SlotCall,
  fees: Fees,
  jobIds: string[],
  isReplacement = false,
): Promise<Attempt> {
  const { network, chainId, signer, journal, jobs, waste } = lane
  const epoch = requireEpoch(lane)
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  const fields = { gasLimit, maxFeePerGas, maxPriorityFeePerGas }
  const rawTransaction = await signer.sign({ chainId, nonce, to, data, ...fields })
  const attempt: Attempt = {
    hash: bytesToHex(hashOfTransaction(lane.keccak256, rawTransaction)),
    network,
    relayer: signer.address,
    relayerNonce: nonce,
    rawTransaction,
    ...fields,
    createdAt: lane.leases.now(),
    jobIds,
  }
  const members = jobs.findAll(jobIds).filter(jobs.isOpen)
  // Nobody would answer for the gas of a job that is decided.
  if (members.length < jobIds.length) throw new Error('a job of the transaction is decided by now')
  const charged = waste.budgetsOf(members, gasLimit, fees, isReplacement)
  await journal.recordAttempt(attempt, epoch, charged)
  jobs.markSigned(attempt)
  // If the lease is lost during the write, the new owner of the wallet finds the transaction in the journal.
  if (lane.epoch !== epoch) throw new LeaseLostError(`${signer.address} went to another process`)
  return attempt
}

/** Sends the newest transaction of the slot, and repairs the cause of a refusal. */
export function send(lane: LaneState, slot: Slot): Promise<void> {
  lane.sending = lane.sending.then(() => sendNow(lane, slot))
  return lane.sending
}

async function sendNow(lane: LaneState, slot: Slot): Promise<void> {
  const { slots, log } = lane
  if (!slots.isOpen(slot) || lane.closed !== undefined) return
  if (!mayWork(lane, slot.epoch)) return
  const { hash } = newestAttempt(slot)
  const refusal = await offer(lane, slot)
  let problem = refusal?.problem
  if (refusal !== undefined) {
    const place = { settlementIds: [...slot.jobIds], hash, relayerNonce: slot.nonce }
    log.warn({ ...place, problem, err: refusal.error }, 'send refused')
    const isRefused = refusal.error instanceof RpcResponseError
    if (isRefused && mayBeNowhere.has(refusal.problem) && (await isTakenAnywhere(lane, slot))) {
      problem = undefined
    }
  }
  // A repair that fails is left to the next tick: the signed bytes are kept.
  if (problem !== undefined && slots.isOpen(slot)) {
    await afterRefusal[problem](lane, slot).catch((err) => log.warn({ err }, 'repair failed'))
  }
  lane.feed.poke()
}

/** Sends the newest transaction of the slot once; returns the refusal, if there is one. */
export async function offer(
  lane: LaneState,
  slot: Slot,
): Promise<{ problem: SendProblem; error: unknown } | undefined> {
  slot.touchedAt = lane.now()
  const { hash, rawTransaction } = newestAttempt(slot)
  try {
    const timeoutMs = SEND_TIMEOUT_MS
    const answer = await lane.rpc.request('eth_sendRawTransaction', [rawTransaction], { timeoutMs })
    if (String(answer).toLowerCase() !== hash) throw new RpcUnavailableError(NOT_TAKEN)
  } catch (error) {
    const problem = classifySendError(error)
    if (problem !== 'alreadyKnown') return { problem, error }
  }
  slot.refusals = 0
  void lane.keeper.markTaken(newestAttempt(slot))
  return undefined
}

/** Asks every node after one refused; a transaction that each of them refuses is nowhere. */
async function isTakenAnywhere({ rpc, keeper }: LaneState, slot: Slot): Promise<boolean> {
  const attempt = newestAttempt(slot)
  const timeoutMs = SEND_TIMEOUT_MS
  const answers = await rpc.everywhere('eth_sendRawTransaction', [attempt.rawTransaction], {
    timeoutMs,
  })
  const problems = answers.map((answer) =>
    answer.ok ? 'alreadyKnown' : classifySendError(answer.error),
  )
  if (problems.includes('alreadyKnown')) {
    void keeper.markTaken(attempt)
    return true
  }
  const isNowhere = answers.every(
    (answer, i) =>
      !answer.ok && answer.error instanceof RpcResponseError && problems[i] !== 'nonceTooLow',
  )
  if (isNowhere) await keeper.markRefused(attempt)
  return false
}

/** Signs the slot again with both fee fields up; every earlier hash stays known, because any may land. */
export async function replace(lane: LaneState, slot: Slot): Promise<void> {
  const { signer, slots, feed, jobs, waste, log } = lane
  // Without a signer the slot keeps the transactions it has. A later check tries to replace them again.
  if (signer.failure() !== undefined) return
  const base = feed.latest()?.baseFeePerGas ?? 0n
  const carried = slot.isGivenUp ? [] : jobs.findAll(slot.jobIds).filter(jobs.isOpen)
  const jobIds = carried.map(({ job }) => job.id)
  const isCarried = jobIds.length > 0 && (await maySignAgain(lane, jobIds))
  const headroom = waste.headroomFor(jobs.findAll(isCarried ? jobIds : []))
  const fees = bumpFees(newestAttempt(slot), base, lane.maxFeePerGas, headroom)
  if (fees === undefined || !slots.isOpen(slot)) return
  const raised = isCarried ? await signWithinBudget(lane, slot, fees, jobIds) : undefined
  const attempt = raised ?? (await fill(lane, slot, fees))
  slot.attempts.push(attempt)
  slot.bumpedAt = lane.now()
  slot.bumpedBlock = feed.latest()?.number ?? 0
  const { hash } = attempt
  log.info({ settlementIds: attempt.jobIds, hash, relayerNonce: slot.nonce }, 'fee raised')
  void send(lane, slot)
}

/** Returns whether these jobs may be signed together once more: those that share a transaction must be plain. */
async function maySignAgain({ jobs, waste }: LaneState, ids: readonly string[]) {
  const entries = jobs.findAll(ids)
  await waste.readCodes(entries)
  return entries.length === 1 || entries.every(({ coded }) => coded.length === 0)
}

/** Resolves with `undefined` when a budget of gas has no room for the transaction. */
function signWithinBudget(lane: LaneState, slot: Slot, fees: Fees, jobIds: string[]) {
  return sign(lane, slot.nonce, slot, fees, jobIds, true).catch((error) => {
    if (error instanceof GasBudgetError) return undefined
    throw error
  })
}

/** Signs a transaction that only takes the nonce. Jobs that the slot carried are sent elsewhere once the nonce is taken. */
function fill(lane: LaneState, slot: Slot, fees: Fees): Promise<Attempt> {
  slot.isGivenUp = true
  Object.assign(slot, noOp(lane))
  return sign(lane, slot.nonce, slot, fees, [])
}

export function noOp({ signer }: LaneState): SlotCall {
  return { to: signer.address, data: '0x', gasLimit: NO_OP_GAS }
}

// One answer to each refusal of a node. The next tick finds everything else: see `repairs.ts`.

const afterRefusal: Record<SendProblem, (lane: LaneState, slot: Slot) => Promise<void>> = {
  alreadyKnown: async () => {},
  nonceTooLow: async (lane, slot) => {
    await checkConsumed(lane, slot)
  },
  // There is a gap below it, which a tick fills.
  nonceTooHigh: async () => {},
  underpriced: replace,
  feeBelowBase: replace,
  intrinsicGas: async (lane, slot) => {
    slot.gasLimit = (slot.gasLimit * 3n) / 2n
    await replace(lane, slot)
  },
  insufficientFunds: (lane) => closeWith(lane, closedBy.balance),
  senderBlocked: (lane) => closeWith(lane, closedBy.block),
  gasAboveLimit: (lane, slot) => giveBack(lane, slot, RETRY_MS),
  unknown: async (lane, slot) => {
    const wait = AGAIN_AFTER_MS[slot.refusals++]
    if (wait !== undefined) setTimeout(() => void send(lane, slot), wait)
  },
}

/** Closes the lane. Its wallet cannot pay for any transaction in flight, or may not send any: all are given back. */
async function closeWith(lane: LaneState, reason: string): Promise<void> {
  if (lane.closed === undefined) {
    lane.log.warn({ relayer: lane.signer.address, reason }, 'lane closed')
  }
  lane.closed = reason
  for (const slot of lane.slots.open().reverse()) await giveBack(lane, slot)
}

/**
 * Gives back a slot of which nodes take no transaction: its jobs are sent elsewhere, after a rest where each wallet would be
 * refused, and its nonce is freed or filled.
 */
export async function giveBack(lane: LaneState, slot: Slot, restMs = 0): Promise<void> {
  const { network, signer, journal, slots, queue } = lane
  const jobIds = new Set(slot.jobIds)
  slot.jobIds.clear()
  try {
    if (slots.isOpen(slot) && slot.nonce === slots.nextNonce - 1) {
      const { nextNonce: expected } = slots
      const { nonce, epoch } = slot
      const isLowered = await journal.setNextNonce(network, signer.address, expected, nonce, epoch)
      if (isLowered && slots.isOpen(slot)) {
        slots.nextNonce = slot.nonce
        slots.setAside(slot)
      }
    }
  } finally {
    release(lane, jobIds, (entry) => queue.putBack(entry, restMs))
  }
}

/** Notes that a slot holds these jobs no longer; those that no other slot holds go on with `next`. */
function release(lane: LaneState, ids: Set<string>, next: (entry: TrackedJob) => void): void {
  for (const entry of lane.jobs.leave(ids)) if (entry.liveSlots === 0) next(entry)
  lane.queue.noteChange()
}

/** Lands receipts that the block feed did not see. */
export async function landMissed(lane: LaneState, stale: Slot[]): Promise<void> {
  const hashes = stale.flatMap((slot) => slot.attempts.map(({ hash }) => hash))
  for (const receipt of await readReceipts(lane.rpc, hashes)) lane.examiner.land(receipt)
}

/**
 * Asks whether the nonce of the slot is used and lands its receipt; "not found" alone never counts as "failed". Returns
 * the next nonce of the chain.
 */
export async function checkConsumed(lane: LaneState, slot: Slot): Promise<number> {
  const { slots, signer, log, now } = lane
  const chainNonce = await readChainNonce(lane)
  await landMissed(lane, [slot])
  if (chainNonce <= slot.nonce || !slots.isOpen(slot)) return chainNonce
  // Whichever transaction used this nonce, the next one must not take the same.
  slots.nextNonce = Math.max(slots.nextNonce, chainNonce)
  if (await landAnywhere(lane, slot)) return chainNonce
  slot.consumedAt ??= now()
  if (now() - slot.consumedAt < LOST_MS || !slots.isOpen(slot)) return chainNonce
  const settlementIds = [...slot.jobIds]
  const place = { relayer: signer.address, relayerNonce: slot.nonce }
  log.warn({ settlementIds, ...place }, 'nonce used, and no node shows a transaction of ours')
  slots.setAside(slot)
  release(lane, new Set(slot.jobIds), (entry) => void lane.examiner.examine(entry, {}))
  slot.jobIds.clear()
  return chainNonce
}

export async function landAnywhere(lane: LaneState, slot: Slot): Promise<boolean> {
  for (const { hash } of slot.attempts) {
    const receipt = await findReceiptAnywhere(lane.rpc, hash)
    if (receipt !== undefined) return lane.examiner.land(receipt)
  }
  return false
}
