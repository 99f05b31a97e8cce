import { type Address, bytesToHex, type Hex } from 'viem'
import { readGasMoney, readTransactionCount } from '../../chain/accounts.js'
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
import { bumpFees, type Fees, type GasBudgets, quoteFees } from './gas.js'
import type { TrackedJob, TrackedJobs } from './jobs.js'
import type { OutcomeKeeper } from './outcomes.js'
import type { JobQueue } from './queue.js'
import { hashOfTransaction, type Signer } from './signer.js'
import {
  newestAttempt,
  newSlot,
  restoreSlot,
  type Slot,
  type SlotCall,
  type Slots,
} from './slot.js'
import { type WatchedSigner, watchSigner } from './watched-signer.js'
import type { RelayerWorld } from './world.js'

/** One relayer wallet on one network: its nonces, its transactions in flight, and their repair. */
export interface Lane {
  address: Address
  /** Returns why the lane takes no payments now; `undefined` while it does. */
  closedBecause(): string | undefined
  inFlight(): number
  /** Returns the jobs of each transaction under way. */
  carried(): TrackedJob[][]
  /** Returns whether a block may hold a transaction that somebody waits for. */
  isAwaited(): boolean
  /** True while the dispatcher prepares and signs a transaction: nonces of one wallet are signed one after another. */
  isSigning: boolean
  /** Set while its lease is about to be given up: it takes nothing new. */
  isLeaving: boolean
  /** Returns whether this process holds the wallet now, and has resumed its transactions. */
  isHeld(): boolean
  /** Returns where the wallet's lease is held, as far as this process knows. */
  holder(): 'here' | 'elsewhere' | 'nobody'
  /** Returns the epoch of the lease under which the lane was resumed. */
  epoch(): number | undefined
  /** Reads the gas money of an idle wallet, 18-decimal units; `undefined` where sending will show it. Never rejects. */
  readBalance(): Promise<bigint | undefined>
  /**
   * Signs, keeps and sends. Rejects only when nothing was kept, so nothing was sent: also for a balance that cannot pay,
   * which closes the lane.
   */
  open(call: SlotCall, jobIds: string[], fees: Fees, balance?: bigint): Promise<void>
  /** Closes an idle lane whose wallet cannot pay; for a wallet with transactions under way, the nodes refuse those. */
  closeIdle(): void
  holds(hash: Hex): boolean
  /** Repairs what is stuck; runs twice a second. */
  tick(): Promise<void>
  /** Resumes the transactions that an earlier process left, under the lease of this epoch. */
  resume(epoch: number): Promise<void>
  /** Forgets everything, because another process holds the wallet. Returns the slots that were open. */
  drop(): Slot[]
  /** Returns the age of the oldest open slot in milliseconds, 0 when there is none. */
  pendingMs(): number
}

export interface LaneOptions
  extends Omit<RelayerWorld, 'sharing' | 'readCoded' | 'hasMulticall3' | 'maxBatch'> {
  signer: Signer
  /** The nonces of this lane, which the examiner closes when a transaction is mined. */
  slots: Slots
  jobs: TrackedJobs
  queue: JobQueue
  keeper: OutcomeKeeper
  examiner: Examiner
  budgets: GasBudgets
}

/** Returns why no process sends with the wallet, as far as this one knows; `undefined` while one does. */
export function closedAnywhere(lane: Pick<Lane, 'closedBecause' | 'holder'>): string | undefined {
  return lane.holder() === 'nobody' ? 'no replica holds its lease' : lane.closedBecause()
}

/** The state of a lane. Only the functions of this file write it. */
interface LaneState extends LaneOptions {
  signer: WatchedSigner
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
  asideCheckedAt: number
  reopeningCheckedAt: number
}

/** The reasons for which a lane takes no payments, as `/ready` shows them. */
const closedBy = { balance: 'no gas money', block: 'blocked by the chain' } as const
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
/** The same bytes are sent again when the lowest nonce has not been mined for this long. */
const REBROADCAST_MS = 2_500
/** The fee is raised after this, and again after as long. */
const BUMP_MS = 6_000
/** A nonce that is used on chain although no node shows a receipt of ours is given up after this. */
const LOST_MS = 1_500
/** A replacement at a higher fee gets this long before the next one, while the base fee runs away. */
const CATCH_UP_MS = 1_000
/** Milliseconds between two reads of receipts of slots that were set aside, in addition to the block feed. */
const CHECK_ASIDE_MS = 3_000
/** A nonce that is used is not asked about any more after this. */
const ASIDE_MS = 60_000
/** Milliseconds between two checks whether a closed lane may open again. */
const CHECK_REOPENING_MS = 3_000
/** A lane opens again when it can pay for a few payments. */
const REOPEN_GAS = 500_000n

export function createLane(options: LaneOptions): Lane {
  const { network, rpc, slots, examiner, now, log } = options
  const signer = watchForLane(options)
  const lane: LaneState = {
    ...options,
    signer,
    epoch: undefined,
    isReady: false,
    closed: undefined,
    sending: Promise.resolve(),
    isTicking: false,
    gaps: [],
    asideCheckedAt: 0,
    reopeningCheckedAt: 0,
  }

  function closeIdle(): void {
    if (!lane.isReady || lane.closed !== undefined || slots.open().length > 0) return
    lane.closed = closedBy.balance
    log.warn({ relayer: signer.address, reason: lane.closed }, 'lane closed')
  }

  return {
    address: signer.address,
    isSigning: false,
    isLeaving: false,
    isHeld: () => lane.isReady && mayWork(lane),
    holder: () => lane.leases.holder(laneLease(network, signer.address)),
    epoch: () => lane.epoch,
    closedBecause: () => lane.closed ?? signer.failure(),
    inFlight: () => slots.open().length,
    carried: () => slots.open().map(({ jobIds }) => lane.jobs.findAll(jobIds)),
    isAwaited: () => awaited(lane).length > 0,
    async readBalance() {
      if (slots.open().length > 0) return undefined
      return readGasMoney(rpc, signer.address).catch(() => undefined)
    },
    open(call, jobIds, fees, balance) {
      if (balance !== undefined && balance < call.gasLimit * fees.maxFeePerGas) {
        closeIdle()
        return Promise.reject(new Error(`${signer.address} cannot pay for the transaction`))
      }
      return openAt(lane, takeGap(lane) ?? slots.nextNonce, call, jobIds, fees)
    },
    closeIdle,
    holds: (hash) => slots.find(hash) !== undefined,
    async tick() {
      if (!mayWork(lane)) return
      signer.tryAgain()
      if (lane.isTicking || !lane.isReady) return
      lane.isTicking = true
      try {
        await repairStuck(lane)
      } finally {
        lane.isTicking = false
      }
    },
    async resume(epoch) {
      lane.epoch = epoch
      const attempts = await lane.journal.openAttempts(network, signer.address)
      for (const nonce of new Set(attempts.map(({ relayerNonce }) => relayerNonce))) {
        const same = attempts.filter(({ relayerNonce }) => relayerNonce === nonce)
        const slot = restoreSlot(same, epoch, now())
        slots.add(slot)
        const hashes = same.map(({ hash }) => hash)
        for (const id of slot.jobIds) lane.jobs.hold(id, hashes)
      }
      await alignNonce(lane, epoch)
      const receipts = await readReceipts(
        rpc,
        attempts.map(({ hash }) => hash),
      )
      for (const receipt of receipts) examiner.land(receipt)
      lane.isReady = true
      signer.tryEarly()
      for (const slot of slots.open()) void send(lane, slot)
    },
    drop() {
      const left = slots.open()
      slots.clear()
      lane.isReady = false
      lane.epoch = undefined
      lane.closed = undefined
      signer.reset()
      this.isLeaving = false
      return left
    },
    pendingMs() {
      const opened = awaited(lane).map((slot) => slot.openedAt)
      return opened.length === 0 ? 0 : now() - Math.min(...opened)
    },
  }
}

/** Watches the signer: one that fails closes the lane until it signs again. What was sent before stays under way. */
function watchForLane({ signer, chainId, queue, now, log }: LaneOptions): WatchedSigner {
  const relayer = signer.address
  return watchSigner(signer, {
    chainId,
    now,
    onFailure: (reason, err) => log.warn({ relayer, reason, err }, 'lane closed'),
    onRecovery() {
      log.info({ relayer }, 'lane open again')
      queue.noteChange()
    },
  })
}

/** Returns the slots that keep somebody waiting: not those of a closed lane that carry no job. */
function awaited({ slots, closed }: LaneState): Slot[] {
  return slots.open().filter(({ jobIds }) => jobIds.size > 0 || closed === undefined)
}

// The lease: without it nothing is signed or sent.

/** Returns whether a transaction that was begun under this epoch may still be sent. */
function mayWork(lane: LaneState, epoch = lane.epoch): boolean {
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
async function alignNonce(lane: LaneState, epoch: number): Promise<void> {
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

function readChainNonce({ rpc, signer }: LaneState): Promise<number> {
  return readTransactionCount(rpc, signer.address)
}

// Signing and sending.

/** Signs a transaction under this nonce, keeps it and sends it; rejects when nothing was kept. */
async function openAt(
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
  const { network, chainId, signer, journal, jobs, budgets } = lane
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
    createdAt: lane.now(),
    jobIds,
  }
  const members = jobs.findAll(jobIds).filter(jobs.isOpen)
  // Nobody would answer for the gas of a job that is decided.
  if (members.length < jobIds.length) throw new Error('a job of the transaction is decided by now')
  const charged = budgets.budgetsOf(members, gasLimit, fees, isReplacement)
  await journal.recordAttempt(attempt, epoch, charged)
  jobs.markSigned(attempt)
  // If the lease is lost during the write, the new owner of the wallet finds the transaction in the journal.
  if (lane.epoch !== epoch) throw new LeaseLostError(`${signer.address} went to another process`)
  return attempt
}

/** Sends the newest transaction of the slot, and repairs the cause of a refusal. */
function send(lane: LaneState, slot: Slot): Promise<void> {
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
    await repairs[problem](lane, slot).catch((err) => log.warn({ err }, 'repair failed'))
  }
  lane.feed.poke()
}

/** Sends the newest transaction of the slot once; returns the refusal, if there is one. */
async function offer(
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
async function replace(lane: LaneState, slot: Slot): Promise<void> {
  const { signer, slots, feed, jobs, budgets, log } = lane
  // Without a signer the slot keeps the transactions it has. A later check tries to replace them again.
  if (signer.failure() !== undefined) return
  const base = feed.latest()?.baseFeePerGas ?? 0n
  const carried = slot.isGivenUp ? [] : jobs.findAll(slot.jobIds).filter(jobs.isOpen)
  const jobIds = carried.map(({ job }) => job.id)
  const isCarried = jobIds.length > 0 && (await maySignAgain(lane, jobIds))
  const headroom = budgets.headroomFor(jobs.findAll(isCarried ? jobIds : []))
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
async function maySignAgain({ jobs, budgets }: LaneState, ids: readonly string[]) {
  const entries = jobs.findAll(ids)
  await budgets.readCodes(entries)
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

function noOp({ signer }: LaneState): SlotCall {
  return { to: signer.address, data: '0x', gasLimit: NO_OP_GAS }
}

// Repairs: one for each refusal of a node. The next tick finds everything else.

const repairs: Record<SendProblem, (lane: LaneState, slot: Slot) => Promise<void>> = {
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
  gasAboveLimit: giveBack,
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

/** Gives back a slot of which nodes take no transaction: its jobs are sent elsewhere, its nonce is freed or filled. */
async function giveBack(lane: LaneState, slot: Slot): Promise<void> {
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
    release(lane, jobIds, queue.putBack)
  }
}

/** Notes that a slot holds these jobs no longer; those that no other slot holds go on with `next`. */
function release(lane: LaneState, ids: Set<string>, next: (entry: TrackedJob) => void): void {
  for (const entry of lane.jobs.leave(ids)) if (entry.liveSlots === 0) next(entry)
  lane.queue.noteChange()
}

// The watchdog: finds and repairs what no answer of a node showed, such as lost transactions, missed receipts and gaps.

async function repairStuck(lane: LaneState): Promise<void> {
  const { rpc, slots, now } = lane
  await checkAside(lane)
  if (lane.closed !== undefined) {
    await giveBackLate(lane)
    return checkReopening(lane)
  }
  await followBaseFee(lane)
  const stale = slots
    .open()
    .filter((slot) => slot.consumedAt !== undefined || now() - slot.touchedAt >= REBROADCAST_MS)
  await landMissed(lane, stale)
  const lowest = stale.find(slots.isOpen)
  if (lowest === undefined) return
  // When the node does not answer, the slots are checked again at the next tick.
  const chainNonce = await checkConsumed(lane, lowest)
  for (const slot of stale) slot.touchedAt = now()
  if (!slots.isOpen(lowest) || chainNonce > lowest.nonce) return
  await fillGaps(lane, chainNonce, lowest.nonce)
  if (isPassedOver(lane, lowest)) return replace(lane, lowest)
  // All of them: a node that lost one has usually lost its neighbours too.
  for (const slot of stale.filter(slots.isOpen)) {
    await rpc.everywhere('eth_sendRawTransaction', [newestAttempt(slot).rawTransaction])
    await send(lane, slot)
  }
}

/** Returns whether blocks passed the slot over. While a chain makes no blocks, a growing tip would only cost more later. */
function isPassedOver({ feed, now }: LaneState, { bumpedAt, bumpedBlock }: Slot): boolean {
  return now() - bumpedAt >= BUMP_MS && (feed.latest()?.number ?? 0) > bumpedBlock
}

/** Gives back a transaction that was being signed while the lane closed; it is not sent. */
async function giveBackLate(lane: LaneState): Promise<void> {
  for (const slot of lane.slots.open().reverse()) {
    if (slot.jobIds.size > 0) await giveBack(lane, slot)
  }
}

/** Replaces transactions that offer less than the base fee: they cannot be mined, and nodes forget them. */
async function followBaseFee(lane: LaneState): Promise<void> {
  const baseFee = lane.feed.latest()?.baseFeePerGas ?? 0n
  for (const slot of lane.slots.open()) {
    const isUnderwater = newestAttempt(slot).maxFeePerGas < baseFee
    if (isUnderwater && lane.now() - slot.bumpedAt >= CATCH_UP_MS) await replace(lane, slot)
  }
}

/** Asks for receipts that the block feed missed of slots set aside: their gas is spent all the same. */
async function checkAside(lane: LaneState): Promise<void> {
  const { slots, now } = lane
  if (slots.aside().length === 0 || now() - lane.asideCheckedAt < CHECK_ASIDE_MS) return
  lane.asideCheckedAt = now()
  const chainNonce = await readChainNonce(lane)
  for (const slot of slots.aside()) {
    if (chainNonce <= slot.nonce || (await landAnywhere(lane, slot))) continue
    slot.consumedAt ??= now()
    if (now() - slot.consumedAt > ASIDE_MS) await forget(lane, slot)
  }
}

/** Closes the slot without a receipt. */
async function forget(lane: LaneState, slot: Slot): Promise<void> {
  const { network, signer, journal, slots, now } = lane
  slots.remove(slot)
  const { nonce: relayerNonce, epoch } = slot
  const place = { network, relayer: signer.address, relayerNonce, epoch }
  await journal.resolve({ slot: place, outcomes: [], now: now() })
}

/** Lands receipts that the block feed did not see. */
async function landMissed(lane: LaneState, stale: Slot[]): Promise<void> {
  const hashes = stale.flatMap((slot) => slot.attempts.map(({ hash }) => hash))
  for (const receipt of await readReceipts(lane.rpc, hashes)) lane.examiner.land(receipt)
}

/**
 * Asks whether the nonce of the slot is used and lands its receipt; "not found" alone never counts as "failed". Returns
 * the next nonce of the chain.
 */
async function checkConsumed(lane: LaneState, slot: Slot): Promise<number> {
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

async function landAnywhere(lane: LaneState, slot: Slot): Promise<boolean> {
  for (const { hash } of slot.attempts) {
    const receipt = await findReceiptAnywhere(lane.rpc, hash)
    if (receipt !== undefined) return lane.examiner.land(receipt)
  }
  return false
}

/**
 * Finds the gaps below the lowest open slot, which block every later nonce. The next payment takes a gap; when none has
 * come until the next check, a transaction that does nothing takes it.
 */
async function fillGaps(lane: LaneState, chainNonce: number, lowest: number): Promise<void> {
  const missing = Array.from(
    { length: Math.max(0, lowest - chainNonce) },
    (_, i) => chainNonce + i,
  ).filter((nonce) => !lane.slots.isTaken(nonce))
  const waited = missing.filter((nonce) => lane.gaps.includes(nonce))
  lane.gaps = missing.filter((nonce) => !waited.includes(nonce))
  const fees = quoteFees(lane.feed.latest()?.baseFeePerGas ?? 0n, lane.maxFeePerGas)
  if (fees === undefined || lane.signer.failure() !== undefined) return
  for (const nonce of waited) await openAt(lane, nonce, noOp(lane), [], fees)
}

/** Takes a gap that the next transaction should fill. */
function takeGap(lane: LaneState): number | undefined {
  lane.gaps = lane.gaps.filter((nonce) => !lane.slots.isTaken(nonce))
  return lane.gaps.shift()
}

/** Opens a closed lane once it surely can send: payments are not tried on it. */
async function checkReopening(lane: LaneState): Promise<void> {
  const { rpc, feed, signer, slots, log, now } = lane
  if (now() - lane.reopeningCheckedAt < CHECK_REOPENING_MS) return
  lane.reopeningCheckedAt = now()
  const fees = quoteFees(feed.latest()?.baseFeePerGas ?? 0n, lane.maxFeePerGas)
  if (fees === undefined) return
  const gasMoney = await readGasMoney(rpc, signer.address)
  if (gasMoney < fees.maxFeePerGas * REOPEN_GAS) return
  let offered: Slot | undefined
  if (lane.closed === closedBy.block) {
    offered = await offerNothing(lane, fees)
    if (offered === undefined) return
  }
  lane.closed = undefined
  log.info({ relayer: signer.address }, 'lane open again')
  // Their jobs are sent elsewhere; the slots only have to fill their nonces.
  for (const slot of slots.open()) if (slot !== offered) await replace(lane, slot)
}

/** Sends a transaction that does nothing, the only way to ask whether nodes take any of this wallet. */
async function offerNothing(lane: LaneState, fees: Fees): Promise<Slot | undefined> {
  const { slots } = lane
  if (slots.open().length === 0) await openAt(lane, slots.nextNonce, noOp(lane), [], fees)
  const [lowest] = slots.open()
  if (lowest === undefined) return undefined
  // The jobs it carried are sent elsewhere by now.
  if (newestAttempt(lowest).jobIds.length > 0) await replace(lane, lowest)
  const problem = (await offer(lane, lowest))?.problem
  return problem === 'senderBlocked' || problem === 'unknown' ? undefined : lowest
}
