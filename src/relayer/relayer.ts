import type { Address } from 'viem'
import type { BlockFeed } from '../chain/block-feed.js'
import type { Block } from '../chain/blocks.js'
import { createBlockReceiptsReader, type Receipt } from '../chain/receipts.js'
import type { Rpc } from '../chain/rpc.js'
import {
  type Attempt,
  isDecided,
  type Job,
  type SettlementJournal,
} from '../store/settlement-journal.js'
import type { Keccak256 } from '../x402/keccak.js'
import { createDispatcher } from './dispatcher.js'
import { createExaminer } from './examiner.js'
import type { GasModel } from './gas-model.js'
import type { JobKind } from './job-kind.js'
import { createLane, type Lane } from './lane.js'
import { createOutcomeKeeper } from './outcome-keeper.js'
import { costOf, readSlotResult } from './outcomes.js'
import { createPreparation } from './preparation.js'
import type { RelayerEvents } from './relayer-events.js'
import type { Signer } from './signer.js'
import type { Slot } from './slot.js'
import { createTrackedJobs, type TrackedJob } from './tracked-jobs.js'

export interface Relayer {
  network: string
  addresses: readonly Address[]
  /** Takes over a claimed job, once; its outcome is told by `untilDecided`. */
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
  keccak256: Keccak256
  /** Unix milliseconds. */
  now: () => number
  events: RelayerEvents
  log: { info(o: object, m: string): void; warn(o: object, m: string): void }
}

const TICK_MS = 500

/** Brings jobs on chain: a queue, batches, lanes, and the truth about each outcome. */
export function createRelayer(options: RelayerOptions): Relayer {
  const { network, rpc, feed, journal, kinds, gas, now, log } = options
  const tracked = createTrackedJobs(now)
  const readBlockReceipts = createBlockReceiptsReader(rpc)
  const keeper = createOutcomeKeeper({ ...options, tracked })
  const lanes = options.signers.map((signer) =>
    createLane({
      ...options,
      signer,
      onSigned,
      onLanded: (slot, attempt, receipt) => void settleSlot(slot, attempt, receipt),
      onLost: (slot) => release(slot, (entry) => void examine(entry, {})),
      onRefused: (slot) => release(slot, (entry) => dispatcher.enqueue(entry)),
      isUndecided: (id) => tracked.find(id) !== undefined,
    }),
  )
  const preparation = createPreparation({
    ...options,
    decide: keeper.decide,
    resendAlone: (entry) => dispatcher.resendAlone(entry),
    sendLater: (entry) => dispatcher.enqueueLater(entry),
    examine: (entry, revert) => void examine(entry, { revert }),
  })
  const dispatcher = createDispatcher({ ...options, lanes, preparation, keeper, tracked })
  const examine = createExaminer({
    keeper,
    enqueue: dispatcher.enqueue,
    resendAlone: dispatcher.resendAlone,
    log,
  })
  let timer: NodeJS.Timeout | undefined

  function onSigned({ hash, jobIds }: Attempt): void {
    for (const id of jobIds) {
      const entry = tracked.find(id)
      if (entry === undefined) continue
      tracked.update({ ...entry.job, state: 'submitted', transaction: hash })
    }
  }

  async function settleSlot(slot: Slot, attempt: Attempt, receipt: Receipt): Promise<void> {
    const { settled, unsettled } = readSlotResult(leave(slot), attempt.jobIds, receipt)
    const arePayments = settled.every(({ entry }) => entry.gas === undefined)
    if (arePayments && settled.length === attempt.jobIds.length) {
      gas.learn(
        receipt.gasUsed,
        settled.map(({ entry }) => entry.payTo),
      )
    }
    for (const { entry, burnt } of unsettled) entry.burntGas += burnt
    dispatcher.pump()
    const { relayer, relayerNonce } = attempt
    const spent = costOf(receipt)
    await keeper.keep(settled, { relayer, relayerNonce, spent })
    options.events.spent(spent)
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
    dispatcher.pump()
  }

  async function onBlock(block: Block): Promise<void> {
    const ours = block.transactions.filter((hash) => lanes.some((lane) => lane.holds(hash)))
    if (ours.length > 0) {
      const receipts = await keeper.persistently(() => readBlockReceipts(block.number, ours))
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
      const onError = (err: unknown) =>
        log.warn({ err, relayer: lane.address }, 'lane could not be checked')
      lane.tick().catch(onError)
    }
    dispatcher.giveUpStranded()
    dispatcher.pump()
  }

  /** What is signed is followed up, what is claimed is sent, what is neither is looked into. */
  async function resume(): Promise<void> {
    for (const job of await journal.openJobs(network)) tracked.add(job, kindOf(job))
    for (const lane of lanes) {
      for (const { jobIds } of await journal.openAttempts(network, lane.address)) {
        for (const id of jobIds) tracked.hold(id)
      }
      await lane.resume()
    }
    for (const entry of [...tracked.all()]) {
      if (entry.liveSlots > 0) continue
      if (entry.job.state === 'queued') dispatcher.enqueue(entry)
      else void examine(entry, {})
    }
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
      if (tracked.find(job.id) === undefined) dispatcher.enqueue(tracked.add(job, kindOf(job)))
    },
    untilDecided: (id) => tracked.until(id, isDecided),
    isTracking: (id) => tracked.find(id) !== undefined,
    async withdraw(id) {
      const entry = tracked.find(id)
      // What was signed once may be on chain already: it keeps its place.
      if (entry?.job.transaction === null) {
        entry.isWithdrawn = true
        if (dispatcher.remove(entry)) await preparation.dropHopeless([entry])
      }
      return tracked.until(id, (job) => isDecided(job) || job.transaction !== null)
    },
    lanes: () => lanes,
    queueLength: dispatcher.queueLength,
    async start() {
      await feed.start()
      feed.onBlock((block) => {
        const onError = (err: unknown) =>
          log.warn({ err, block: block.number }, 'block left to the watchdog')
        onBlock(block).catch(onError)
      })
      await resume()
      feed.setBusy(tracked.size() > 0)
      timer = setInterval(tick, TICK_MS)
    },
    stop() {
      clearInterval(timer)
      keeper.stop()
      dispatcher.stop()
      feed.stop()
    },
  }
}
