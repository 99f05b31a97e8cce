import type { BlockFeed } from '../chain/block-feed.js'
import { GasBudgetError } from '../store/budgets.js'
import { JobsTakenError } from '../store/leases.js'
import type { ReasonKey, Rejection } from '../x402/reasons.js'
import type { Cause } from './examiner.js'
import { quoteFees } from './fees.js'
import type { GasModel } from './gas-model.js'
import { createJobQueue } from './job-queue.js'
import type { Lane } from './lane.js'
import type { OutcomeKeeper } from './outcome-keeper.js'
import { failure } from './outcomes.js'
import type { Preparation } from './preparation.js'
import type { RelayerEvents } from './relayer-events.js'
import type { TrackedJob, TrackedJobs } from './tracked-jobs.js'
import { spentBudget, type WalletGate } from './wallet-gate.js'

export interface Dispatcher {
  enqueue(entry: TrackedJob): void
  /** Somebody is on the way; to be called back when he has come, or will not. */
  expect(): () => void
  resendAlone(entry: TrackedJob): void
  /** Back to the queue after a moment. */
  enqueueLater(entry: TrackedJob): void
  /** Whether it waited in the queue. */
  remove(entry: TrackedJob): boolean
  /** Hands what waits to the lanes that are free. */
  pump(): void
  /** Takes jobs that have waited this long out of the queue, but for one batch if a lane is at work. */
  takeWaiting(longerThanMs: number): TrackedJob[]
  /** Ends what waits in vain because every lane is closed. */
  giveUpStranded(): void
  queueLength(): number
  stop(): void
}

export interface DispatcherOptions {
  lanes: readonly Lane[]
  preparation: Preparation
  gate: WalletGate
  /** Finds the truth about what may have been sent. */
  examine(entry: TrackedJob, cause: Cause): void
  keeper: OutcomeKeeper
  tracked: TrackedJobs
  feed: BlockFeed
  gas: GasModel
  hasMulticall3: boolean
  maxBatch: number
  maxFeePerGas: bigint
  /** Unix milliseconds. */
  now: () => number
  events: RelayerEvents
  log: { warn(o: object, m: string): void }
}

/**
 * Transactions one wallet may have under way. A block of 30 M gas holds about 14 full batches; with fewer in
 * flight than a block can take, the wallet and not the chain would set the pace.
 */
const MAX_IN_FLIGHT = 16
/** With this many under way, what comes next gathers company before it goes, unless it fills a batch. */
const UNPACED_IN_FLIGHT = 1
/** How long it gathers: little against a block of half a second, enough to share one transaction under load. */
const GATHER_MS = 40
/** How long what waits is held back for payments that are being judged: they come together, and share its transaction. */
const COMPANY_MS = 40
/** After trouble before the signature the next try waits this long. */
const PREPARE_RETRY_MS = 200
/** What waits until a budget bears it asks again this soon: a block of Arc takes half a second. */
const BUDGET_RETRY_MS = 100
/** A job that could not even be signed for this long is failed: never sent, so proven. */
const GIVE_UP_MS = 4_000
/** Until the first block is seen. */
const USUAL_BLOCK_GAS = 30_000_000n

/** Natural batching: a free lane takes what waits at once; while all are busy the queue grows into the next batch. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { lanes, preparation, keeper, tracked, gate, feed, gas, now, events, log } = options
  const queue = createJobQueue()
  let isStopped = false
  let openedAt = 0
  let expected = 0
  let gathering: NodeJS.Timeout | undefined

  function enqueue(entry: TrackedJob): void {
    queue.add(entry)
    pump()
  }

  function expect(): () => void {
    expected++
    return () => {
      expected--
      if (expected === 0) pump()
    }
  }

  function pump(): void {
    while (!isStopped && queue.entries().length > 0) {
      const lane = freeLane()
      if (lane === undefined) return
      if (isGathering(lane)) return
      const batch = queue.take(maxMembers(), gate.mayGo())
      if (batch.length === 0) return
      lane.isSigning = true
      openedAt = now()
      void carry(lane, batch).finally(() => {
        lane.isSigning = false
        pump()
      })
    }
  }

  function freeLane(): Lane | undefined {
    const isFree = (lane: Lane) =>
      !lane.isSigning && !lane.isLeaving && isUsable(lane) && lane.inFlight() < MAX_IN_FLIGHT
    return lanes.filter(isFree).sort((a, b) => a.inFlight() - b.inFlight())[0]
  }

  /** Sets the next pump itself when the queue had better grow a little. */
  function isGathering(lane: Lane): boolean {
    if (queue.entries().length >= maxMembers()) return false
    const left = leaveAt(lane) - now()
    if (left <= 0) return false
    gathering ??= setTimeout(() => {
      gathering = undefined
      pump()
    }, left)
    return true
  }

  /** When what waits for this lane has waited long enough, Unix milliseconds. */
  function leaveAt(lane: Lane): number {
    const paced = lane.inFlight() >= UNPACED_IN_FLIGHT ? openedAt + GATHER_MS : 0
    const oldest = queue.entries()[0]?.queuedAt ?? 0
    return expected > 0 ? Math.max(paced, oldest + COMPANY_MS) : paced
  }

  function maxMembers(): number {
    if (!options.hasMulticall3) return 1
    return Math.min(options.maxBatch, gas.maxMembers(feed.latest()?.gasLimit ?? USUAL_BLOCK_GAS))
  }

  /** Prepares, signs, keeps and sends; on trouble before the signature the jobs go back to the queue. */
  async function carry(lane: Lane, batch: TrackedJob[]): Promise<void> {
    const quote = (members: TrackedJob[]) => {
      const baseFee = feed.latest()?.baseFeePerGas ?? 0n
      return quoteFees(baseFee, options.maxFeePerGas, gate.headroomFor(members))
    }
    if (quote(batch) === undefined) return postpone(batch, 'gasPriceTooHigh')
    let held: TrackedJob[] = []
    try {
      const purse = lane.readPurse()
      const prepared = await preparation.prepare(lane.address, batch)
      if (prepared === undefined) return
      const fees = quote(prepared.members)
      if (fees === undefined) return postpone(prepared.members, 'gasPriceTooHigh')
      held = prepared.members
      for (const entry of held) entry.liveSlots++
      events.batched(held.length)
      const ids = held.map(({ job }) => job.id)
      await lane.open(prepared, ids, fees, await purse)
    } catch (error) {
      for (const entry of held) entry.liveSlots--
      if (error instanceof GasBudgetError) return stopAtBudget(held, error)
      const settlementIds = batch.map(({ job }) => job.id)
      log.warn({ err: error, settlementIds }, 'could not prepare a transaction')
      if (error instanceof JobsTakenError) for (const id of error.jobIds) tracked.abandon(id)
      const isHere = (entry: TrackedJob) => tracked.find(entry.job.id) === entry
      postpone((held.length > 0 ? held : batch).filter(isHere), 'unexpectedSettleError')
    }
  }

  /** Nothing was signed: what the budget is about waits or is refused, the others go without it. */
  async function stopAtBudget(members: TrackedJob[], error: GasBudgetError): Promise<void> {
    const concerned = gate.concernedBy(error.bearer, members)
    for (const entry of members) if (!concerned.includes(entry)) enqueue(entry)
    if (error.isSpent) {
      const { amount, limit } = error.bearer
      const each = amount / BigInt(Math.max(1, concerned.length))
      // Of several that share a budget as many go as it bears.
      const borne = each > 0n && limit > error.burnt ? Number((limit - error.burnt) / each) : 0
      for (const entry of concerned.slice(0, borne)) enqueue(entry)
      for (const entry of concerned.slice(borne)) await refuse(entry, spentBudget(error))
      return
    }
    gate.pause(error.bearer, BUDGET_RETRY_MS)
    setTimeout(() => {
      for (const entry of concerned) enqueue(entry)
    }, BUDGET_RETRY_MS)
  }

  async function refuse(entry: TrackedJob, refusal: Rejection): Promise<void> {
    // What was signed before may have landed, or may yet.
    const isNeverSigned = entry.job.transaction === null
    const outcome = failure(refusal.reason, refusal.message, { gasCost: entry.burntGas })
    if (!(isNeverSigned && (await keeper.refuse(entry, outcome)))) {
      options.examine(entry, { refusal })
    }
  }

  function postpone(entries: TrackedJob[], reason: ReasonKey): void {
    setTimeout(() => {
      for (const entry of entries) if (!giveUp(entry, reason)) enqueue(entry)
    }, PREPARE_RETRY_MS)
  }

  /** Never sent is proof enough of failure. */
  function giveUp(entry: TrackedJob, reason: ReasonKey): boolean {
    const isNeverSent = entry.job.transaction === null && !entry.isUntaken && entry.liveSlots === 0
    if (!isNeverSent || now() - entry.queuedAt < GIVE_UP_MS) return false
    keeper
      .refuse(entry, failure(reason, `${explain(reason)}; nothing was sent.`))
      .then((isOver) => isOver || enqueue(entry))
      .catch((err) => log.warn({ err, settlementId: entry.job.id }, 'left to the next start'))
    return true
  }

  function explain(reason: ReasonKey): string {
    if (reason === 'gasPriceTooHigh') {
      return "The chain's base fee is above the cap of this facilitator"
    }
    return lanes.some(isOpen)
      ? 'The chain could not be reached'
      : 'No relayer of this facilitator can pay for gas at present'
  }

  return {
    enqueue,
    expect,
    resendAlone(entry) {
      entry.isAlone = true
      enqueue(entry)
    },
    enqueueLater(entry) {
      setTimeout(() => enqueue(entry), PREPARE_RETRY_MS)
    },
    remove: (entry) => queue.remove(entry),
    pump,
    giveUpStranded() {
      if (lanes.some(isOpen)) return
      const seconds = feed.latest()?.timestamp ?? 0
      for (const entry of [...queue.entries()]) {
        if (giveUp(entry, 'unexpectedSettleError')) queue.remove(entry)
        else if (entry.job.expiresAt <= seconds && queue.remove(entry)) options.examine(entry, {})
      }
    },
    takeWaiting(longerThanMs) {
      const kept = lanes.some(isUsable) ? maxMembers() : 0
      const waiting = queue
        .entries()
        .slice(kept)
        .filter((entry) => entry.liveSlots === 0 && now() - entry.queuedAt >= longerThanMs)
      for (const entry of waiting) queue.remove(entry)
      return waiting
    },
    queueLength: () => queue.entries().length,
    stop() {
      isStopped = true
      clearTimeout(gathering)
    },
  }
}

function isOpen(lane: Lane): boolean {
  return lane.closedBecause() === undefined
}

function isUsable(lane: Lane): boolean {
  return isOpen(lane) && lane.isHeld()
}
