import type { Address, Hex } from 'viem'
import type { BlockFeed } from '../chain/block-feed.js'
import type { Block } from '../chain/blocks.js'
import { WALLET_GAS_CAP } from '../chain/contract-wallet.js'
import { createBlockReceiptsReader, type Receipt } from '../chain/receipts.js'
import type { Rpc } from '../chain/rpc.js'
import type { Attempt, Job, Outcome, SettlementJournal } from '../store/settlement-journal.js'
import type { reasons } from '../x402/reasons.js'
import { quoteFees } from './fees.js'
import type { GasModel } from './gas-model.js'
import type { JobKind } from './job-kind.js'
import { createLane, type Lane } from './lane.js'
import type { Signer } from './signer.js'
import { type Fate, simulateBatch, simulateSingle, toTransaction } from './simulation.js'
import type { Slot } from './slot.js'
import { createTrackedJobs, isDecided, type TrackedJob } from './tracked-jobs.js'

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
  log: {
    info(o: object, m: string): void
    warn(o: object, m: string): void
    error(o: object, m: string): void
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
const EXAMINE_RETRY_MS = 300

/** Brings jobs on chain: queue, batches, lanes, and the truth about each outcome. */
export function createRelayer(options: RelayerOptions): Relayer {
  const { network, rpc, feed, journal, kinds, gas, now, log } = options
  const tracked = createTrackedJobs(now)
  const readBlockReceipts = createBlockReceiptsReader(rpc)
  let queue: TrackedJob[] = []
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  const lanes = options.signers.map((signer) =>
    createLane({
      ...options,
      signer,
      onLanded: (slot, attempt, receipt) => void settleSlot(slot, attempt, receipt),
      onLost: (slot) => loseSlot(slot),
      isUndecided: (id) => tracked.find(id) !== undefined,
    }),
  )

  function enqueue(entry: TrackedJob): void {
    queue.push(entry)
    feed.setBusy(true)
    pump()
  }

  /** A free lane takes what waits at once; while all are busy the queue grows into the next batch. */
  function pump(): void {
    if (isStopped) return
    while (queue.length > 0) {
      const lane = freeLane()
      if (lane === undefined) return
      const batch = takeBatch()
      if (batch.length === 0) return
      lane.isSigning = true
      void prepare(lane, batch).finally(() => {
        lane.isSigning = false
        pump()
      })
    }
  }

  function freeLane(): Lane | undefined {
    return lanes
      .filter(
        (lane) =>
          !lane.isSigning && lane.closedBecause() === undefined && lane.inFlight() < MAX_IN_FLIGHT,
      )
      .sort((a, b) => a.inFlight() - b.inFlight())[0]
  }

  function takeBatch(): TrackedJob[] {
    const [head] = queue
    if (head === undefined) return []
    const blockGas = feed.latest()?.gasLimit ?? 30_000_000n
    const most = options.hasMulticall3 ? Math.min(options.maxBatch, gas.maxMembers(blockGas)) : 1
    if (head.isAlone || most === 1) {
      queue = queue.slice(1)
      return [head]
    }
    const batch: TrackedJob[] = []
    queue = queue.filter((entry) => {
      if (batch.length >= most || entry.isAlone) return true
      batch.push(entry)
      return false
    })
    return batch
  }

  /** Simulates, drops what cannot land, signs and sends the rest; on trouble the jobs go back to the queue. */
  async function prepare(lane: Lane, batch: TrackedJob[]): Promise<void> {
    let members = batch
    try {
      members = await dropHopeless(members)
      const weighed = await weigh(lane, members)
      members = weighed.members
      const fees = quoteFees(feed.latest()?.baseFeePerGas ?? 0n, options.maxFeePerGas)
      if (fees === undefined) return postpone(members, 'gasPriceTooHigh')
      members = await dropHopeless(members)
      if (members.length === 0) return
      const { to, data } = toTransaction(members.map(callOf))
      const ids = members.map(({ job }) => job.id)
      await lane.open({ to, data, gasLimit: weighed.gasLimit }, ids, fees)
      for (const entry of members) await markSubmitted(entry)
    } catch (error) {
      log.warn({ err: error, jobs: members.length }, 'could not prepare a transaction')
      postpone(members, 'unexpectedSettleError')
    }
  }

  async function markSubmitted(entry: TrackedJob): Promise<void> {
    entry.liveSlots++
    const row = await journal.findJob(entry.job.kind, network, entry.job.key)
    if (row !== undefined) tracked.update(row)
  }

  /** Refuses before sending what nobody waits for, and what could not land in time. */
  async function dropHopeless(members: TrackedJob[]): Promise<TrackedJob[]> {
    const chainSeconds = feed.latest()?.timestamp ?? 0
    const seconds = Math.max(chainSeconds, Math.floor(now() / 1000))
    const kept: TrackedJob[] = []
    for (const entry of members) {
      if (entry.isWithdrawn && entry.job.transaction === null) {
        await decide(
          entry,
          failure(
            'unexpectedSettleError',
            'It was not sent: the chain could not be reached in time.',
          ),
        )
      } else if (entry.job.expiresAt <= seconds) {
        await decide(
          entry,
          failure(
            'validBefore',
            `The authorization expired at ${entry.job.expiresAt}, before it could be sent; the chain's time is ${seconds}.`,
          ),
        )
      } else kept.push(entry)
    }
    return kept
  }

  async function weigh(lane: Lane, members: TrackedJob[]) {
    const [only] = members
    if (only === undefined) return { members, gasLimit: 0n }
    if (members.length === 1) {
      const cap = only.isAlone ? WALLET_GAS_CAP : SINGLE_GAS_CAP
      const fate = await simulateSingle(rpc, lane.address, callOf(only), cap)
      if (fate.ok) {
        const limit = gas.singleLimit(fate.gas)
        return { members, gasLimit: limit < cap ? limit : cap }
      }
      return { members: await dropFailed(members, [fate]), gasLimit: cap }
    }
    const gasLimit = gas.batchLimit(members)
    const fates = await simulateBatch(rpc, lane.address, members.map(callOf), gasLimit)
    return { members: await dropFailed(members, fates), gasLimit }
  }

  async function dropFailed(members: TrackedJob[], fates: Fate[]): Promise<TrackedJob[]> {
    const kept: TrackedJob[] = []
    for (const [i, entry] of members.entries()) {
      const fate = fates[i]
      if (fate === undefined || fate.ok) kept.push(entry)
      else if (fate.revert === undefined && members.length > 1) resendAlone(entry)
      else if (isEarlyOnly(entry, fate.revert)) kept.push(entry)
      else void examine(entry, 0, fate.revert)
    }
    return kept
  }

  /**
   * A chain that makes blocks only on demand simulates in the past: an authorization that is valid by the wall
   * clock is then sent all the same.
   */
  function isEarlyOnly(entry: TrackedJob, revert: string | undefined): boolean {
    const isEarly = /not yet valid/i.test(revert ?? '')
    return isEarly && entry.kind.validAfter(entry.job) < Math.floor(now() / 1000)
  }

  function resendAlone(entry: TrackedJob): void {
    entry.isAlone = true
    enqueue(entry)
  }

  /** Back to the queue after a pause; given up when it has been tried for long enough. */
  function postpone(
    members: TrackedJob[],
    reason: 'gasPriceTooHigh' | 'unexpectedSettleError',
  ): void {
    setTimeout(() => {
      for (const entry of members) {
        const isNeverSent = entry.job.transaction === null && entry.liveSlots === 0
        if (isNeverSent && now() - entry.queuedAt > PREPARE_GIVE_UP_MS) {
          const message =
            reason === 'gasPriceTooHigh'
              ? `The chain's base fee is above the cap of this facilitator; nothing was sent.`
              : 'The chain could not be reached; nothing was sent.'
          void decide(entry, failure(reason, message))
        } else queue.push(entry)
      }
      pump()
    }, PREPARE_RETRY_MS)
  }

  async function settleSlot(slot: Slot, attempt: Attempt, receipt: Receipt): Promise<void> {
    const payTos: string[] = []
    const outcomes: { entry: TrackedJob; outcome: Outcome }[] = []
    const unsettled: TrackedJob[] = []
    const share = createGasShares(receipt, attempt.jobIds.length)
    for (const id of slot.jobIds) {
      const entry = tracked.find(id)
      if (entry === undefined) continue
      entry.liveSlots = Math.max(0, entry.liveSlots - 1)
      const position = attempt.jobIds.indexOf(id)
      if (position >= 0 && receipt.isSuccess && entry.kind.isSettledBy(entry.job, receipt)) {
        payTos.push(entry.payTo)
        outcomes.push({ entry, outcome: confirmation(receipt, share(position)) })
      } else unsettled.push(entry)
    }
    if (outcomes.length === attempt.jobIds.length) gas.learn(receipt.gasUsed, payTos)
    await persist(outcomes, slot, attempt.relayer)
    for (const entry of unsettled)
      if (entry.liveSlots === 0) void examine(entry, receipt.blockNumber, undefined, receipt)
    pump()
  }

  function loseSlot(slot: Slot): void {
    for (const id of slot.jobIds) {
      const entry = tracked.find(id)
      if (entry === undefined) continue
      entry.liveSlots = Math.max(0, entry.liveSlots - 1)
      if (entry.liveSlots === 0) void examine(entry, 0)
    }
    pump()
  }

  /** Finds the truth about a job that no transaction of ours can decide any more, however long the node takes. */
  async function examine(
    entry: TrackedJob,
    atLeastBlock: number,
    revert?: string,
    receipt?: Receipt,
  ): Promise<void> {
    if (entry.isBeingExamined) return
    entry.isBeingExamined = true
    const transaction = receipt?.transactionHash ?? null
    try {
      const examination = await persistently(() => entry.kind.examine(entry.job, atLeastBlock))
      if (examination.state === 'confirmed') {
        await decide(entry, confirmation(examination.receipt, null))
      } else if (examination.state === 'failed') {
        await decide(entry, { ...failure(examination.reason, examination.message), transaction })
      } else if (revert !== undefined) {
        const { reason, message } = entry.kind.rejectionOf(entry.job, revert)
        await decide(entry, { ...failure(reason, message), transaction })
      } else if (entry.resends < MAX_RESENDS) {
        entry.resends++
        if (receipt === undefined) enqueue(entry)
        else resendAlone(entry)
      } else {
        const message = `The transaction reverted ${entry.resends + 1} times without a cause the token names.`
        await decide(entry, { ...failure('transactionFailed', message), transaction })
      }
    } finally {
      entry.isBeingExamined = false
    }
  }

  async function persistently<Result>(read: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await read()
      } catch (error) {
        if (isStopped) throw error
        log.warn({ err: error }, 'could not read the outcome yet')
        await new Promise((resolve) => setTimeout(resolve, EXAMINE_RETRY_MS))
      }
    }
  }

  function decide(entry: TrackedJob, outcome: Outcome): Promise<void> {
    return persist([{ entry, outcome }])
  }

  /** An outcome that is known is told only once it is kept; a disk that refuses is asked until it takes it. */
  async function persist(
    decided: { entry: TrackedJob; outcome: Outcome }[],
    slot?: Slot,
    relayer?: Address,
  ): Promise<void> {
    const outcomes = decided.map(({ entry: { job }, outcome }) => ({
      id: job.id,
      round: job.round,
      outcome,
    }))
    const place =
      slot === undefined || relayer === undefined
        ? {}
        : { slot: { network, relayer, relayerNonce: slot.nonce } }
    await persistently(() => journal.resolve({ ...place, outcomes, now: now() }))
    for (const { entry, outcome } of decided) {
      log.info(
        {
          settlementId: entry.job.id,
          state: outcome.state,
          reason: outcome.reason,
          transaction: outcome.transaction,
        },
        'settlement decided',
      )
      tracked.update({ ...entry.job, ...outcome, updatedAt: now() })
    }
    feed.setBusy(tracked.size() > 0)
  }

  async function onBlock(block: Block): Promise<void> {
    const ours = block.transactions.filter((hash) => lanes.some((lane) => lane.holds(hash)))
    if (ours.length > 0) {
      const receipts = await persistently(() => readBlockReceipts(block.number, ours))
      for (const receipt of receipts) {
        for (const lane of lanes) if (lane.holds(receipt.transactionHash)) lane.land(receipt)
      }
    }
    // Past its end an authorization can land no more: if it is still unused, that is final.
    for (const entry of tracked.all()) {
      if (entry.liveSlots > 0 && block.timestamp >= entry.job.expiresAt)
        void examineExpired(entry, block.number)
    }
  }

  async function examineExpired(entry: TrackedJob, atLeastBlock: number): Promise<void> {
    if (entry.isBeingExamined) return
    entry.isBeingExamined = true
    try {
      const examination = await persistently(() => entry.kind.examine(entry.job, atLeastBlock))
      if (examination.state === 'confirmed')
        await decide(entry, confirmation(examination.receipt, null))
      else if (examination.state === 'failed') {
        await decide(entry, {
          ...failure(examination.reason, examination.message),
          transaction: entry.job.transaction,
        })
      }
    } finally {
      entry.isBeingExamined = false
    }
  }

  function tick(): void {
    for (const lane of lanes) {
      lane
        .tick()
        .catch((error) =>
          log.warn({ err: error, relayer: lane.address }, 'lane could not be checked'),
        )
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
      if (entry !== undefined) entry.isWithdrawn = true
      if (entry !== undefined && queue.includes(entry)) {
        queue = queue.filter((other) => other !== entry)
        await dropHopeless([entry])
      }
      return tracked.until(id, (job) => isDecided(job) || job.transaction !== null)
    },
    lanes: () => lanes,
    queueLength: () => queue.length,
    async start() {
      for (const job of await journal.openJobs(network)) tracked.add(job, kindOf(job))
      await feed.start()
      feed.onBlock((block) => void onBlock(block))
      for (const lane of lanes) {
        for (const attempt of await journal.openAttempts(network, lane.address)) countLive(attempt)
        await lane.resume()
      }
      for (const entry of [...tracked.all()]) {
        if (entry.liveSlots > 0) continue
        if (entry.job.state === 'queued') enqueue(entry)
        else void examine(entry, 0)
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

  /** Several attempts of one slot count once. */
  function countLive(attempt: Attempt): void {
    for (const id of attempt.jobIds) {
      const entry = tracked.find(id)
      if (entry !== undefined) entry.liveSlots = 1
    }
  }

  function kindOf(job: Job): JobKind {
    const kind = kinds[job.kind]
    if (kind === undefined) throw new Error(`no handler for jobs of kind ${job.kind}`)
    return kind
  }
}

const SINGLE_GAS_CAP = 1_000_000n

function callOf({ job }: TrackedJob): { to: Address; data: Hex } {
  return { to: job.to, data: job.calldata }
}

function failure(reason: keyof typeof reasons, message: string): Outcome {
  return {
    state: 'failed',
    reason,
    message,
    transaction: null,
    blockNumber: null,
    gasCost: null,
  }
}

function confirmation(receipt: Receipt, gasCost: bigint | null): Outcome {
  return {
    state: 'confirmed',
    transaction: receipt.transactionHash,
    blockNumber: receipt.blockNumber,
    gasCost,
    reason: null,
    message: null,
  }
}

/** Splits what a transaction cost among its members so that the shares add up to the last unit. */
function createGasShares(receipt: Receipt, members: number): (position: number) => bigint {
  const cost = receipt.gasUsed * receipt.effectiveGasPrice
  const count = BigInt(Math.max(1, members))
  return (position) => cost / count + (BigInt(position) < cost % count ? 1n : 0n)
}
