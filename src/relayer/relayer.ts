import type { Address } from 'viem'
import type { BlockFeed } from '../chain/block-feed.js'
import type { Block } from '../chain/blocks.js'
import { createBlockReceiptsReader, type Receipt } from '../chain/receipts.js'
import type { Rpc } from '../chain/rpc.js'
import {
  type Attempt,
  isDecided,
  type Job,
  type Outcome,
  type SettlementJournal,
} from '../store/settlement-journal.js'
import type { ReasonKey } from '../x402/reasons.js'
import { quoteFees } from './fees.js'
import type { GasModel } from './gas-model.js'
import type { JobKind } from './job-kind.js'
import { createJobQueue } from './job-queue.js'
import { createLane, type Lane } from './lane.js'
import { confirmation, costOf, failure, readSlotResult } from './outcomes.js'
import { createPreparation } from './preparation.js'
import type { RelayerEvents } from './relayer-events.js'
import type { Signer } from './signer.js'
import type { Slot } from './slot.js'
import { createTrackedJobs, type TrackedJob } from './tracked-jobs.js'

export interface Relayer {
  network: string
  addresses: readonly Address[]
  /** Takes over a claimed job; its outcome is told by `untilDecided`. */
  submit(job: Job): void
  /** Resolves with the row when it is confirmed or failed. */
  untilDecided(id: string): Promise<Job>
  /** Whether this process is working on the job. */
  isTracking(id: string): boolean
  /** Takes a job back that was never signed; resolves when it is withdrawn, decided, or has a hash after all. */
  withdraw(id: string): Promise<Job>
  lanes(): readonly Lane[]
  queueLength(): number
  /** Takes up what an earlier process left, then follows the chain. */
  start(): Promise<void>
  stop(): void
}

export interface RelayerOptions {
  network: string
  chainId: number
  rpc: Rpc
  feed: BlockFeed
  journal: SettlementJournal
  kinds: Record<string, JobKind>
  signers: readonly Signer[]
  gas: GasModel
  hasMulticall3: boolean
  maxBatch: number
  maxFeePerGas: bigint
  /** Unix milliseconds. */
  now: () => number
  events: RelayerEvents
  log: {
    info(o: object, m: string): void
    warn(o: object, m: string): void
  }
}

/**
 * Transactions one wallet may have under way. A block of 30 M gas holds about 14 full batches; with fewer in
 * flight than a block can take, the wallet and not the chain would set the pace.
 */
const MAX_IN_FLIGHT = 16
/** How often a job may travel again after a transaction that did not decide it. */
const MAX_RESENDS = 3
const TICK_MS = 500
/** After trouble before the signature the next try waits this long. */
const PREPARE_RETRY_MS = 200
/** A job that could not even be signed for this long is failed: never sent, so proven. */
const PREPARE_GIVE_UP_MS = 4_000
const FIRST_RETRY_MS = 250
const LAST_RETRY_MS = 5_000

/** Brings jobs on chain: queue, batches, lanes, and the truth about each outcome. */
export function createRelayer(options: RelayerOptions): Relayer {
  const { network, rpc, feed, journal, kinds, gas, now, events, log } = options
  const tracked = createTrackedJobs(now)
  const queue = createJobQueue()
  const readBlockReceipts = createBlockReceiptsReader(rpc)
  const preparation = createPreparation({
    ...options,
    decide,
    resendAlone,
    examine: (entry, revert) => void examine(entry, { revert }),
  })
  const lanes = options.signers.map((signer) =>
    createLane({
      ...options,
      signer,
      onSigned,
      onLanded: (slot, attempt, receipt) => void settleSlot(slot, attempt, receipt),
      onLost: (slot) => release(slot, (entry) => void examine(entry, {})),
      onRefused: (slot) => release(slot, enqueue),
      isUndecided: (id) => tracked.find(id) !== undefined,
    }),
  )
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  function enqueue(entry: TrackedJob): void {
    queue.add(entry)
    feed.setBusy(true)
    pump()
  }

  function resendAlone(entry: TrackedJob): void {
    entry.isAlone = true
    enqueue(entry)
  }

  /** A free lane takes what waits at once; while all are busy the queue grows into the next batch. */
  function pump(): void {
    while (!isStopped && queue.entries().length > 0) {
      const lane = freeLane()
      if (lane === undefined) return
      lane.isSigning = true
      void carry(lane, queue.take(maxMembers())).finally(() => {
        lane.isSigning = false
        pump()
      })
    }
  }

  function freeLane(): Lane | undefined {
    const isFree = (lane: Lane) =>
      !lane.isSigning && lane.closedBecause() === undefined && lane.inFlight() < MAX_IN_FLIGHT
    return lanes.filter(isFree).sort((a, b) => a.inFlight() - b.inFlight())[0]
  }

  function maxMembers(): number {
    if (!options.hasMulticall3) return 1
    return Math.min(options.maxBatch, gas.maxMembers(feed.latest()?.gasLimit ?? 30_000_000n))
  }

  /** Prepares, signs, keeps and sends; on trouble before the signature the jobs go back to the queue. */
  async function carry(lane: Lane, batch: TrackedJob[]): Promise<void> {
    let members = batch
    try {
      const fees = quoteFees(feed.latest()?.baseFeePerGas ?? 0n, options.maxFeePerGas)
      if (fees === undefined) return postpone(members, 'gasPriceTooHigh')
      const prepared = await preparation.prepare(lane.address, batch)
      members = prepared?.members ?? []
      if (prepared === undefined) return
      for (const entry of members) entry.liveSlots++
      events.batched(members.length)
      await lane.open(
        prepared,
        members.map(({ job }) => job.id),
        fees,
      )
    } catch (error) {
      log.warn({ err: error, jobs: members.length }, 'could not prepare a transaction')
      for (const entry of members) if (entry.liveSlots > 0) entry.liveSlots--
      postpone(members.filter(isUndecided), 'unexpectedSettleError')
    }
  }

  function isUndecided(entry: TrackedJob): boolean {
    return tracked.find(entry.job.id) === entry
  }

  /** Back to the queue after a pause; given up when it has been tried for long enough. */
  function postpone(members: TrackedJob[], reason: ReasonKey): void {
    setTimeout(() => {
      for (const entry of members) if (!giveUp(entry, reason)) enqueue(entry)
    }, PREPARE_RETRY_MS)
  }

  /** Never sent is proof enough of failure. */
  function giveUp(entry: TrackedJob, reason: ReasonKey): boolean {
    const isNeverSent = entry.job.transaction === null && entry.liveSlots === 0
    if (!isNeverSent || now() - entry.queuedAt < PREPARE_GIVE_UP_MS) return false
    const why = {
      gasPriceTooHigh: "The chain's base fee is above the cap of this facilitator",
      noRelayer: 'No relayer of this facilitator can pay for gas at present',
    }
    const what =
      reason === 'gasPriceTooHigh'
        ? why.gasPriceTooHigh
        : freeLanesExist()
          ? 'The chain could not be reached'
          : why.noRelayer
    void decide(entry, failure(reason, `${what}; nothing was sent.`))
    return true
  }

  function freeLanesExist(): boolean {
    return lanes.some((lane) => lane.closedBecause() === undefined)
  }

  function onSigned(attempt: Attempt): void {
    for (const id of attempt.jobIds) {
      const entry = tracked.find(id)
      if (entry !== undefined) {
        tracked.update({ ...entry.job, state: 'submitted', transaction: attempt.hash })
      }
    }
  }

  async function settleSlot(slot: Slot, attempt: Attempt, receipt: Receipt): Promise<void> {
    const entries = leave(slot)
    const { settled, unsettled } = readSlotResult(entries, attempt.jobIds, receipt)
    const landed = settled.length === attempt.jobIds.length
    if (landed)
      gas.learn(
        receipt.gasUsed,
        settled.map(({ entry }) => entry.payTo),
      )
    for (const { entry, burnt } of unsettled) entry.burntGas += burnt
    pump()
    const place = { network, relayer: attempt.relayer, relayerNonce: slot.nonce }
    await persist(settled, { slot: place, spent: costOf(receipt) })
    for (const { entry } of unsettled) if (entry.liveSlots === 0) void examine(entry, { receipt })
  }

  /** The slot holds its jobs no longer. */
  function leave(slot: Slot): TrackedJob[] {
    const entries = [...slot.jobIds].flatMap((id) => tracked.find(id) ?? [])
    for (const entry of entries) entry.liveSlots = Math.max(0, entry.liveSlots - 1)
    return entries
  }

  function release(slot: Slot, next: (entry: TrackedJob) => void): void {
    for (const entry of leave(slot)) if (entry.liveSlots === 0) next(entry)
    pump()
  }

  /** Finds the truth about a job that no transaction of ours can decide any more, however long the node takes. */
  async function examine(
    entry: TrackedJob,
    cause: { revert?: string | undefined; receipt?: Receipt; atLeastBlock?: number },
  ): Promise<void> {
    if (entry.isBeingExamined) return
    entry.isBeingExamined = true
    const { revert, receipt } = cause
    const told = { transaction: receipt?.transactionHash ?? null, gasCost: entry.burntGas }
    try {
      const block = receipt?.blockNumber ?? cause.atLeastBlock ?? 0
      const found = await persistently(() => entry.kind.examine(entry.job, block))
      if (found.state === 'confirmed')
        return await decide(entry, confirmation(found.receipt, entry.burntGas))
      if (found.state === 'failed')
        return await decide(entry, failure(found.reason, found.message, told))
      if (entry.liveSlots > 0) return
      if (revert !== undefined) {
        const { reason, message } = entry.kind.rejectionOf(entry.job, revert)
        return await decide(entry, failure(reason, message, told))
      }
      if (entry.resends >= MAX_RESENDS) {
        const message = `The transaction failed ${entry.resends + 1} times without a cause the token names.`
        return await decide(entry, failure('transactionFailed', message, told))
      }
      entry.resends++
      if (receipt === undefined) enqueue(entry)
      else resendAlone(entry)
    } catch (error) {
      // Only a relayer that stops gives up asking; the next start asks again.
      log.warn({ err: error, settlementId: entry.job.id }, 'outcome left to the next start')
    } finally {
      entry.isBeingExamined = false
    }
  }

  async function persistently<Result>(read: () => Promise<Result>): Promise<Result> {
    for (let wait = FIRST_RETRY_MS; ; wait = Math.min(wait * 2, LAST_RETRY_MS)) {
      try {
        return await read()
      } catch (error) {
        if (isStopped) throw error
        log.warn({ err: error }, 'not yet; trying again')
        await new Promise((resolve) => setTimeout(resolve, wait))
      }
    }
  }

  function decide(entry: TrackedJob, outcome: Outcome): Promise<void> {
    return persist([{ entry, outcome }], {})
  }

  /** An outcome is told only once it is kept; a disk that refuses is asked until it takes it. */
  async function persist(
    decided: { entry: TrackedJob; outcome: Outcome }[],
    change: { slot?: { network: string; relayer: Address; relayerNonce: number }; spent?: bigint },
  ): Promise<void> {
    const outcomes = decided.map(({ entry: { job }, outcome }) => ({
      id: job.id,
      round: job.round,
      outcome,
    }))
    const burnt = decided.flatMap(({ entry, outcome }) =>
      outcome.state === 'failed' && entry.burntGas > 0n
        ? [{ payer: entry.payer, amount: entry.burntGas }]
        : [],
    )
    const spending = { network, total: change.spent ?? 0n, burnt }
    const { slot } = change
    await persistently(() =>
      journal.resolve({ ...(slot && { slot }), outcomes, spending, now: now() }),
    )
    for (const { entry, outcome } of decided) {
      const { state, reason, transaction } = outcome
      log.info({ settlementId: entry.job.id, state, reason, transaction }, 'settlement decided')
      events.decided(entry.job, outcome)
      tracked.update({ ...entry.job, ...outcome, updatedAt: now() })
    }
    feed.setBusy(tracked.size() > 0)
  }

  async function onBlock(block: Block): Promise<void> {
    const ours = block.transactions.filter((hash) => lanes.some((lane) => lane.holds(hash)))
    if (ours.length > 0) {
      const receipts = await persistently(() => readBlockReceipts(block.number, ours))
      for (const receipt of receipts) for (const lane of lanes) lane.land(receipt)
    }
    // Past its end an authorization can land no more: if it is still unused, that is final.
    for (const entry of tracked.all()) {
      const isOver = entry.liveSlots > 0 && block.timestamp >= entry.job.expiresAt
      if (isOver) void examine(entry, { atLeastBlock: block.number })
    }
  }

  function tick(): void {
    for (const lane of lanes) {
      lane
        .tick()
        .catch((err) => log.warn({ err, relayer: lane.address }, 'lane could not be checked'))
    }
    if (!freeLanesExist()) {
      for (const entry of [...queue.entries()]) {
        if (giveUp(entry, 'unexpectedSettleError')) queue.remove(entry)
      }
    }
    pump()
  }

  return {
    network,
    addresses: lanes.map((lane) => lane.address),
    submit: (job) => enqueue(tracked.add(job, kindOf(job))),
    untilDecided: (id) => tracked.until(id, isDecided),
    isTracking: (id) => tracked.find(id) !== undefined,
    async withdraw(id) {
      const entry = tracked.find(id)
      if (entry !== undefined) {
        entry.isWithdrawn = true
        if (queue.remove(entry)) await preparation.dropHopeless([entry])
      }
      return tracked.until(id, (job) => isDecided(job) || job.transaction !== null)
    },
    lanes: () => lanes,
    queueLength: () => queue.entries().length,
    async start() {
      for (const job of await journal.openJobs(network)) tracked.add(job, kindOf(job))
      await feed.start()
      feed.onBlock((block) => {
        onBlock(block).catch((err) =>
          log.warn({ err, block: block.number }, 'block left to the watchdog'),
        )
      })
      for (const lane of lanes) {
        for (const { jobIds } of await journal.openAttempts(network, lane.address)) {
          for (const id of jobIds) tracked.hold(id)
        }
        await lane.resume()
      }
      for (const entry of [...tracked.all()]) {
        if (entry.liveSlots > 0) continue
        if (entry.job.state === 'queued') enqueue(entry)
        else void examine(entry, {})
      }
      feed.setBusy(tracked.size() > 0)
      timer = setInterval(tick, TICK_MS)
    },
    stop() {
      isStopped = true
      clearInterval(timer)
      feed.stop()
    },
  }

  function kindOf(job: Job): JobKind {
    const kind = kinds[job.kind]
    if (kind === undefined) throw new Error(`no handler for jobs of kind ${job.kind}`)
    return kind
  }
}
