import { formatNative } from '@arcus/protocol/x402/amounts'
import type { Address } from 'viem'
import { asQuantity } from '../../chain/abi.js'
import type { BlockHead } from '../../chain/blocks.js'
import { createBlockReceiptsReader } from '../../chain/receipts.js'
import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import type { BudgetStore } from '../journal/budgets.js'
import { isDecided, type Job } from '../journal/settlement-journal.js'
import { Dispatcher } from './dispatcher.js'
import { Examiner } from './examiner.js'
import { type GasModel, quoteFees } from './gas.js'
import { createDecisionWatch, createLaneExchange, JobExchange } from './intake.js'
import { type ExpectedGas, type JobKind, type Round, type TrackedJob, TrackedJobs } from './jobs.js'
import { Lane } from './lane/lane.js'
import { LaneRepairs } from './lane/repairs.js'
import { createSlots } from './lane/slot.js'
import type { OpenClaims } from './open-claims.js'
import { createOutcomeKeeper, type OutcomeKeeper, type RelayerEvents } from './outcomes.js'
import { createPreparation, outOfTime, withdrawal } from './preparation.js'
import { createJobQueue } from './queue.js'
import type { RelayerContext } from './relayer-context.js'
import type { Signer } from './signer.js'
import { Waste, type WasteLimits } from './waste.js'

/** Brings jobs on chain: a queue, batches, lanes, and the truth about each outcome. */
export interface Relayer {
  network: string
  addresses: readonly [Address, ...Address[]]
  /**
   * Works on a claimed job, once; `untilDecided` resolves with its outcome. Facts of `provenInBlock`, if given, showed all
   * that the chain asks of it.
   */
  submit(job: Job, provenInBlock?: number): void
  /** Announces a payment that is being verified, so that others may wait for it; the caller calls back when it was submitted or will not be. */
  expect(): () => void
  /** Resolves with the row when it is confirmed or failed; with `undefined` when another process works on it by now. */
  untilDecided(job: Round): Promise<Job | undefined>
  /** Resolves when a job of another process may have an outcome, or after so many milliseconds. */
  untilDecidedElsewhere(id: string, ms: number): Promise<void>
  /** Returns whether this process is working on the job, in this round or a later one. */
  isTracking(job: Round): boolean
  /** True when no other process can be working on any job. */
  isSole: boolean
  /**
   * Withdraws a job that was never signed. Resolves with the row when it is withdrawn, decided, or has a hash after all,
   * and with `undefined` when that could not be done here.
   */
  withdraw(job: Job): Promise<Job | undefined>
  /**
   * Returns whether some wallet can pay for a settlement now, as far as is known: of wallets that other processes hold,
   * only the balance is. With addresses it is about those wallets alone.
   */
  canSend(senders?: readonly Address[]): boolean
  lanes(): readonly Lane[]
  queueLength(): number
  openClaims: OpenClaims
  /** Returns the gas that settlements which wait or are under way are expected to take, of all and by caller and recipient. */
  expectedGas(): ExpectedGas
  /** Resumes what an earlier process left, then follows the chain. */
  start(): Promise<void>
  stop(): void
}

export interface RelayerOptions extends RelayerContext {
  kinds: Record<string, JobKind>
  signers: readonly Signer[]
  gas: GasModel
  wasteLimits: WasteLimits
  /** The books of gas. */
  books: Pick<BudgetStore, 'wastedOn'>
  events: RelayerEvents
}

const TICK_MS = 500

export function createRelayer(options: RelayerOptions): Relayer {
  const { network, feed, now, log, sharing } = options
  const parts = assemble(options)
  const { jobs, queue, waste, keeper, lanes, repairs, preparation } = parts
  const { dispatcher, blocks, balances, jobExchange, followLeases } = parts
  let timer: NodeJS.Timeout | undefined

  function tick(): void {
    blocks.pace()
    blocks.watchStuck()
    void balances.check()
    followLeases().catch((err) => log.warn({ err }, 'a lane could not be taken; trying again'))
    for (const repairsOfLane of repairs) void repairsOfLane.tick()
    dispatcher.giveUpStranded()
    void waste.refresh()
    queue.noteChange()
  }

  function canSend(senders?: readonly Address[]): boolean {
    return lanes.some((lane) => {
      if (senders?.includes(lane.address) === false) return false
      return lane.epoch() === undefined
        ? !balances.isTooLow(lane.address)
        : lane.closedBecause() === undefined
    })
  }

  /** Returns how many other jobs of its payer this process works on. */
  function othersOf({ payer }: TrackedJob): number {
    return [...jobs.all()].filter((entry) => entry.payer === payer).length - 1
  }

  return {
    network,
    addresses: lanes.map((lane) => lane.address) as [Address, ...Address[]],
    submit(job, provenInBlock) {
      if (jobs.isTracking(job) || jobExchange.passOn(job)) return
      const entry = jobs.track(job)
      entry.provenInBlock = provenInBlock
      queue.add(entry)
    },
    expect: () => dispatcher.expect(),
    untilDecided: (job) => jobs.until(job, isDecided),
    untilDecidedElsewhere: createDecisionWatch(sharing),
    isTracking: (job) => jobs.isTracking(job),
    isSole: sharing.isSole,
    async withdraw(job) {
      const entry = jobs.find(job.id)
      if (entry === undefined) return sharing.withdraw(job, withdrawal(), now())
      // Another caller opened it again and waits for it.
      if (entry.job.round > job.round) return undefined
      // A job that was signed once may be on chain already: it keeps its place.
      if (entry.job.transaction === null) {
        entry.withdrawnAs = withdrawal()
        if (queue.takeOut(entry)) {
          // It was never tried, and some wallet could send: so it only waited for its turn.
          if (entry.troubledAt === undefined && canSend(entry.senders)) {
            entry.withdrawnAs = outOfTime(now() - entry.queuedAt, entry.payer, othersOf(entry))
          }
          for (const kept of await preparation.dropHopeless([entry])) queue.putBack(kept)
        }
        if (entry.isRefusedByAll || isDecided(entry.job)) return entry.job
      }
      return jobs.until(job, (job) => isDecided(job) || job.transaction !== null)
    },
    canSend,
    lanes: () => lanes,
    queueLength: queue.length,
    openClaims: jobs.openClaims,
    expectedGas: () => jobs.expectedGas(options.gas.perPayment()),
    async start() {
      await feed.start()
      await waste.refresh()
      blocks.start()
      await balances.check()
      await followLeases()
      await balances.check()
      await jobExchange.takeOrphans()
      jobExchange.start()
      blocks.pace()
      timer = setInterval(tick, TICK_MS)
    },
    stop() {
      clearInterval(timer)
      jobExchange.stop()
      keeper.stop()
      dispatcher.stop()
      feed.stop()
    },
  }
}

/** Makes the parts of a relayer; each gets those that were made before it. */
function assemble(options: RelayerOptions) {
  const jobs = new TrackedJobs(options.kinds, options.now)
  const queue = createJobQueue()
  const isGuarded = () => options.guard() !== undefined
  const limits = options.wasteLimits
  const waste = new Waste({ ...options, limits, isGuarded, jobs, queue })
  const keeper = createOutcomeKeeper({ ...options, jobs })
  const wallets = options.signers.map((signer) => ({ signer, slots: createSlots() }))
  const slots = wallets.map((wallet) => wallet.slots)
  const examiner = new Examiner({ ...options, jobs, queue, waste, keeper, slots })
  const parts = { ...options, jobs, queue, waste, keeper, examiner }
  const repairs = wallets.map((wallet) => {
    const own = { ...parts, ...wallet }
    return new LaneRepairs(new Lane(own), own)
  })
  const lanes = repairs.map(({ lane }) => lane)
  const preparation = createPreparation(parts)
  const dispatcher = new Dispatcher({ ...parts, lanes, preparation })
  const blocks = createBlockFollower({ ...parts, lanes })
  const balances = new BalanceWatch({ ...parts, lanes })
  const jobExchange = new JobExchange({ ...parts, lanes, dispatcher })
  const followLeases = createLaneExchange({ ...parts, lanes })
  return {
    jobs,
    queue,
    waste,
    keeper,
    lanes,
    repairs,
    preparation,
    dispatcher,
    blocks,
    balances,
    jobExchange,
    followLeases,
  }
}

interface BlockFollowerOptions extends Pick<RelayerContext, 'rpc' | 'feed' | 'now'> {
  lanes: readonly Lane[]
  jobs: TrackedJobs
  keeper: OutcomeKeeper
  examiner: Pick<Examiner, 'watch' | 'land'>
  log: { warn(o: object, m: string): void }
}

/** A job that has been under way for this long may have been brought on chain by others; it is watched as often. */
const OVERTAKEN_MS = 3_000

/** Finds in the blocks of the chain what became of our transactions. */
function createBlockFollower(options: BlockFollowerOptions) {
  const { feed, lanes, jobs, keeper, examiner, now, log } = options
  const watchedAt = new WeakMap<TrackedJob, number>()
  const readBlockReceipts = createBlockReceiptsReader(options.rpc)

  /** Has the feed poll often while a block may hold a transaction of ours. */
  function pace(): void {
    feed.setBusy(lanes.some((lane) => lane.isAwaited()))
  }

  /** Lands our transactions in a block. A listed one is mined, so a receipt that no node shows yet is asked for again. */
  async function landThoseIn({ number, transactions }: BlockHead): Promise<void> {
    const ours = () => transactions.filter((hash) => lanes.some((lane) => lane.holds(hash)))
    if (ours().length === 0) return
    for (const receipt of await readBlockReceipts(number, ours())) {
      examiner.land(receipt)
    }
    if (ours().length > 0) throw new RpcUnavailableError('a block lacks receipts of transactions')
  }

  async function onBlock(block: BlockHead): Promise<void> {
    await keeper.persistently(() => landThoseIn(block))
    pace()
    // Past its end an authorization cannot land any more: if it is still unused, that is final.
    for (const entry of jobs.all()) {
      const isOver = entry.liveSlots > 0 && block.timestamp >= entry.job.expiresAt
      if (isOver) void examiner.watch(entry, block.number)
    }
  }

  return {
    pace,
    /** Watches jobs that have been under way for long: others may have brought them on chain. */
    watchStuck(): void {
      const atLeastBlock = feed.latest()?.number ?? 0
      for (const entry of jobs.all()) {
        const isStuck = now() - (watchedAt.get(entry) ?? entry.queuedAt) >= OVERTAKEN_MS
        if (entry.liveSlots === 0 || !isStuck) continue
        watchedAt.set(entry, now())
        void examiner.watch(entry, atLeastBlock)
      }
    },
    start(): void {
      feed.onBlock((block) => {
        const onError = (err: unknown) =>
          log.warn({ err, block: block.number }, 'block left to the watchdog')
        onBlock(block).catch(onError)
      })
    },
  }
}

interface BalanceWatchOptions extends RelayerContext {
  lanes: readonly Lane[]
  gas: GasModel
}

/** One call reads all wallets; a wallet that is emptied in between is found when it is to sign. */
const CHECK_BALANCES_MS = 3_000

/** Watches which relayer wallets cannot pay for one settlement, whichever process holds them. */
class BalanceWatch {
  readonly #options: BalanceWatchOptions
  #tooLow: ReadonlySet<Address> = new Set()
  #checkedAt = Number.NEGATIVE_INFINITY
  #checking: Promise<void> | undefined

  constructor(options: BalanceWatchOptions) {
    this.#options = options
  }

  /** Reads the balances, every few seconds at most, and closes idle lanes that cannot pay. Never rejects. */
  async check(): Promise<void> {
    const { lanes, now } = this.#options
    if (now() - this.#checkedAt >= CHECK_BALANCES_MS) {
      this.#checkedAt = now()
      // A balance that could not be read is read again soon; sending finds it out as well.
      this.#checking = this.#read().catch(() => {})
    }
    await this.#checking
    for (const lane of lanes) if (this.#tooLow.has(lane.address)) lane.closeIdle()
  }

  /** Returns whether the wallet cannot pay; false as well while nothing could be read. */
  isTooLow(address: Address): boolean {
    return this.#tooLow.has(address)
  }

  async #read(): Promise<void> {
    const { lanes, rpc, feed, gas, maxFeePerGas } = this.#options
    const fees = quoteFees(feed.latest()?.baseFeePerGas ?? 0n, maxFeePerGas)
    // Above the fee cap nothing is sent, whatever the wallets hold.
    if (fees === undefined) return
    const needed = gas.aloneLimit() * fees.maxFeePerGas
    const params = lanes.map(({ address }) => [address, 'latest'])
    const answers = await rpc.batch(params.map((it) => ({ method: 'eth_getBalance', params: it })))
    const found = new Set<Address>()
    for (const [i, { address }] of lanes.entries()) {
      const answer = answers[i]
      const held = answer?.ok ? asQuantity(answer.value) : undefined
      if (held === undefined ? !this.#tooLow.has(address) : held >= needed) continue
      found.add(address)
      if (held !== undefined && !this.#tooLow.has(address)) this.#warn(address, held, needed)
    }
    this.#tooLow = found
  }

  #warn(relayer: Address, held: bigint, needed: bigint): void {
    const { network, log } = this.#options
    const [has, wants] = [formatNative(held), formatNative(needed)]
    log.warn(
      { relayer },
      `relayer wallet ${relayer} holds ${has} USDC on ${network}, too little for one settlement (${wants}): send USDC to it on this network`,
    )
  }
}
