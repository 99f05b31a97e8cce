import type { Address, Hex } from 'viem'
import type { ReadCoded } from '../chain/account-codes.js'
import type { BlockFeed } from '../chain/block-feed.js'
import type { Receipt } from '../chain/receipts.js'
import type { Rpc } from '../chain/rpc.js'
import { laneLease } from '../store/leases.js'
import type { JobSharing } from '../store/settlement-journal.js'
import {
  type Attempt,
  isDecided,
  type Job,
  type SettlementJournal,
} from '../store/settlement-journal.js'
import type { Keccak256 } from '../x402/keccak.js'
import { createBlockFollower } from './block-follower.js'
import { createDecisionWatch } from './decision-watch.js'
import { createDispatcher } from './dispatcher.js'
import { createExaminer } from './examiner.js'
import type { Fees } from './fees.js'
import type { GasModel } from './gas-model.js'
import { createJobIntake } from './job-intake.js'
import type { JobKind } from './job-kind.js'
import { createLane, type Lane } from './lane.js'
import { createLaneShare } from './lane-share.js'
import type { LeaseKeeper } from './lease-keeper.js'
import { createLossJudge } from './losses.js'
import { createOutcomeKeeper } from './outcome-keeper.js'
import { readSlotResult } from './outcomes.js'
import { createPreparation, withdrawal } from './preparation.js'
import { createPurseWatch } from './purse-watch.js'
import type { RelayerEvents } from './relayer-events.js'
import type { Signer } from './signer.js'
import type { Slot } from './slot.js'
import { createTrackedJobs, type Round, type TrackedJob } from './tracked-jobs.js'
import { createWalletGate, type GasLimits } from './wallet-gate.js'

export interface Relayer {
  network: string
  addresses: readonly Address[]
  /** Takes over a claimed job, once; its outcome is told by `untilDecided`. */
  submit(job: Job): void
  /** Says that a payment is being judged, so that others may wait for it; to be called back when it was submitted, or will not be. */
  expect(): () => void
  /** Resolves with the row when it is confirmed or failed; with `undefined` when another process works on it by now. */
  untilDecided(job: Round): Promise<Job | undefined>
  /** Of a job another process works on: resolves when it may have an outcome, or after so many milliseconds. */
  untilDecidedElsewhere(id: string, ms: number): Promise<void>
  /** Whether this process is working on the job, in this round or a later one. */
  isTracking(job: Round): boolean
  /** Whether no other process can be working on any job. */
  isSole: boolean
  /**
   * Takes a job back that was never signed; resolves with the row when it is withdrawn, decided, or has a hash after all,
   * with `undefined` when that could not be done here.
   */
  withdraw(job: Job): Promise<Job | undefined>
  /**
   * Whether some wallet can pay for a settlement now, as far as is known: of wallets that other processes work for only the
   * purse is.
   */
  canSend(): boolean
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
  keccak256: Keccak256
  /** Unix milliseconds. */
  now: () => number
  events: RelayerEvents
  readCoded: ReadCoded
  gasLimits: GasLimits
  leases: LeaseKeeper
  sharing: JobSharing
  log: { info(o: object, m: string): void; warn(o: object, m: string): void }
}

const TICK_MS = 500

/** Brings jobs on chain: a queue, batches, lanes, and the truth about each outcome. */
export function createRelayer(options: RelayerOptions): Relayer {
  const { network, feed, kinds, gas, now, log, leases, sharing } = options
  const tracked = createTrackedJobs(now)
  const keeper = createOutcomeKeeper({ ...options, tracked })
  const gate = createWalletGate({ ...options, tracked, limits: options.gasLimits })
  const judgeLosses = createLossJudge({
    ...options,
    tracked,
    rideOf: (job) => kindOf(job).ride(job),
  })
  const lanes = options.signers.map((signer) =>
    createLane({
      ...options,
      signer,
      onSigned,
      onLanded: (slot, attempt, receipt) => void settleSlot(slot, attempt, receipt),
      onLost: (slot) => release(slot, (entry) => void examine(entry, {})),
      onRefused: (slot) => release(slot, (entry) => dispatcher.enqueue(entry)),
      onTaken: (attempt) => void onTaken(attempt),
      onUntaken,
      isUndecided: (id) => tracked.find(id) !== undefined,
      gate: {
        maySignAgain,
        bearersOf,
        headroomFor: (ids) => gate.headroomFor(tracked.findAll(ids)),
      },
      heldEpoch: () => leases.held(laneLease(network, signer.address)),
    }),
  )
  const preparation = createPreparation({
    ...options,
    refuse: keeper.refuse,
    resendAlone: (entry) => dispatcher.resendAlone(entry),
    sendLater: (entry) => dispatcher.enqueueLater(entry),
    examine: (entry, cause) => void examine(entry, cause),
    look: gate.look,
  })
  const dispatcher = createDispatcher({
    ...options,
    lanes,
    preparation,
    keeper,
    tracked,
    gate,
    examine: (entry, cause) => void examine(entry, cause),
  })
  const examine = createExaminer({
    keeper,
    land: (receipt) => lanes.some((lane) => lane.land(receipt)),
    enqueue: dispatcher.enqueue,
    resendAlone: dispatcher.resendAlone,
    log,
  })
  const blocks = createBlockFollower({ ...options, lanes, tracked, keeper, examine })
  const purses = createPurseWatch({ ...options, lanes })
  const share = createLaneShare({ ...options, lanes, tracked, track })
  const intake = createJobIntake({ ...options, lanes, tracked, dispatcher, begin })
  const elsewhere = createDecisionWatch(sharing)
  let timer: NodeJS.Timeout | undefined

  function onSigned({ hash, jobIds }: Attempt): void {
    for (const entry of tracked.findAll(jobIds)) {
      entry.mayBeOut.add(hash)
      entry.isUntaken = false
      tracked.update({ ...entry.job, state: 'submitted', transaction: hash })
    }
  }

  async function onTaken({ hash, jobIds }: Attempt): Promise<void> {
    for (const entry of tracked.findAll(jobIds)) {
      entry.mayBeOut.add(hash)
      if (entry.isUntaken) await tell(entry, null, hash)
    }
  }

  /** Nobody is told a hash that no node has; what was signed is kept all the same, for only the chain decides. */
  async function onUntaken({ hash, jobIds }: Attempt): Promise<void> {
    for (const entry of tracked.findAll(jobIds)) {
      entry.mayBeOut.delete(hash)
      if (entry.mayBeOut.size === 0 && !entry.isUntaken) await tell(entry, hash, null)
    }
  }

  /** Names another transaction in the row, unless it changed meanwhile. */
  async function tell(entry: TrackedJob, from: Hex | null, to: Hex | null): Promise<void> {
    try {
      const isNamed = await options.journal.nameTransaction(entry.job, from, to, now())
      if (!isNamed || entry.job.transaction !== from) return
      entry.isUntaken = to === null
      const state = to === null ? 'queued' : 'submitted'
      tracked.update({ ...entry.job, state, transaction: to })
    } catch (err) {
      log.warn({ err, settlementId: entry.job.id }, 'transaction left as it was named')
    }
  }

  async function settleSlot(slot: Slot, attempt: Attempt, receipt: Receipt): Promise<void> {
    // Those it gave back travel elsewhere, and may be settled by it all the same.
    const entries = new Set([...leave(slot), ...tracked.findAll(attempt.jobIds)])
    const result = readSlotResult([...entries], attempt.jobIds, receipt)
    const { settled, unsettled } = result
    for (const { entry } of settled) {
      entry.isSettled = true
      dispatcher.remove(entry)
    }
    const arePayments = settled.every(({ entry }) => entry.gas === undefined)
    if (arePayments && settled.length === attempt.jobIds.length) {
      gas.learn(
        receipt.gasUsed,
        settled.map(({ entry }) => entry.payTo),
      )
    }
    for (const { entry, burnt } of unsettled) entry.burntGas += burnt
    dispatcher.pump()
    const spending = await keeper.persistently(() => judgeLosses(attempt, receipt, result))
    await keeper.keep(settled, { ...attempt, epoch: slot.epoch, spending })
    options.events.spent(spending.total, spending.wasted ?? 0n)
    for (const { entry } of unsettled) {
      if (entry.liveSlots > 0) continue
      const wasIn = attempt.jobIds.includes(entry.job.id)
      void examine(entry, wasIn ? { receipt } : { atLeastBlock: receipt.blockNumber })
    }
  }

  function bearersOf(ids: readonly string[], gasLimit: bigint, fees: Fees) {
    return gate.bearersOf(tracked.findAll(ids), gasLimit, fees)
  }

  /** What shares a transaction must be plain, also when it is signed once more. */
  async function maySignAgain(ids: readonly string[]): Promise<boolean> {
    const entries = tracked.findAll(ids)
    await gate.look(entries)
    return entries.length === 1 || entries.every(({ coded }) => coded.length === 0)
  }

  /** The slot holds its jobs no longer. */
  function leave(slot: Slot): TrackedJob[] {
    const entries = tracked.findAll(slot.jobIds)
    for (const entry of entries) entry.liveSlots = Math.max(0, entry.liveSlots - 1)
    return entries
  }

  function release(slot: Slot, next: (entry: TrackedJob) => void): void {
    for (const entry of leave(slot)) if (entry.liveSlots === 0) next(entry)
    dispatcher.pump()
  }

  function tick(): void {
    blocks.pace()
    blocks.lookAtStuck()
    void purses.look()
    share.follow().catch((err) => log.warn({ err }, 'a lane could not be taken up; trying again'))
    for (const lane of lanes) {
      const onError = (err: unknown) =>
        log.warn({ err, relayer: lane.address }, 'lane could not be checked')
      lane.tick().catch(onError)
    }
    dispatcher.giveUpStranded()
    dispatcher.pump()
  }

  /** What is claimed is sent, what was signed and is in no lane's hands is looked into. */
  function begin(job: Job): void {
    const entry = track(job)
    if (entry.liveSlots > 0) return
    if (entry.job.state === 'queued') dispatcher.enqueue(entry)
    else void examine(entry, {})
  }

  /** A job that was opened again is another one: what becomes of its earlier round does not concern it. */
  function track(job: Job): TrackedJob {
    const known = tracked.find(job.id)
    return known !== undefined && known.job.round >= job.round
      ? known
      : tracked.add(job, kindOf(job))
  }

  function isTracking({ id, round }: Round): boolean {
    return (tracked.find(id)?.job.round ?? -1) >= round
  }

  function kindOf(job: Job): JobKind {
    const kind = kinds[job.kind]
    if (kind === undefined) throw new Error(`no handler for jobs of kind ${job.kind}`)
    return kind
  }

  return {
    network,
    addresses: lanes.map((lane) => lane.address),
    submit(job) {
      if (!isTracking(job) && !intake.passOn(job)) dispatcher.enqueue(track(job))
    },
    expect: dispatcher.expect,
    untilDecided: (job) => tracked.until(job, isDecided),
    untilDecidedElsewhere: elsewhere.untilDecided,
    isTracking,
    isSole: sharing.isSole,
    async withdraw(job) {
      const entry = tracked.find(job.id)
      if (entry === undefined) return sharing.withdraw(job, withdrawal(), now())
      // Opened again by somebody else, who waits for it.
      if (entry.job.round > job.round) return undefined
      // What was signed once may be on chain already: it keeps its place.
      if (entry.job.transaction === null) {
        entry.isWithdrawn = true
        if (dispatcher.remove(entry)) {
          for (const kept of await preparation.dropHopeless([entry])) dispatcher.enqueue(kept)
        }
        if (entry.isUntaken) return entry.job
      }
      return tracked.until(job, (job) => isDecided(job) || job.transaction !== null)
    },
    canSend: () =>
      lanes.some((lane) =>
        lane.epoch() === undefined
          ? !purses.isDry(lane.address)
          : lane.closedBecause() === undefined,
      ),
    lanes: () => lanes,
    queueLength: dispatcher.queueLength,
    async start() {
      await feed.start()
      blocks.start()
      await purses.look()
      await share.follow()
      await purses.look()
      await intake.takeOrphans()
      intake.start()
      blocks.pace()
      timer = setInterval(tick, TICK_MS)
    },
    stop() {
      clearInterval(timer)
      intake.stop()
      keeper.stop()
      dispatcher.stop()
      feed.stop()
    },
  }
}
