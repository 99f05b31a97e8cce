import type { Rejection } from '@arcus/protocol/x402/reasons'
import type { Address, Hex } from 'viem'
import { createWaiters } from '../../async/waiters.js'
import type { Receipt } from '../../chain/receipts.js'
import { type Attempt, isDecided, type Job, type Outcome } from '../journal/settlement-journal.js'
import { createOpenClaims, type OpenClaims } from './open-claims.js'

/** Everything the relayer must know about a kind of job; `exact` is one kind. */
export interface JobKind {
  /** Reads from the row how the job is sent and which account is charged for its gas. */
  profile(job: Job): JobProfile
  /** Unix seconds before which the chain refuses the job. */
  validAfter(job: Job): number
  /** Reads which part of this mined transaction settles the job; `undefined` when none does. */
  findSettled(job: Job, receipt: Receipt): Settled | undefined
  /** Returns what a mined transaction that settled the job moved by it, 6-decimal units. */
  movedIn(job: Job, receipt: Receipt): bigint
  /**
   * Signs that this transaction settled the job, and returns what the journal keeps of it; `undefined` where nothing is
   * attested.
   */
  attest?(job: Job, receipt: Receipt): string | undefined
  /**
   * Reads what the job would move as the chain stands, for a job that must move at least what its gas costs. Throws
   * `RpcUnavailableError`.
   */
  gain?(job: Job): Promise<bigint>
  /** Names the cause in a revert text. */
  rejectionOf(job: Job, revert: string): Rejection
  /**
   * Reads the state of the job from the chain, at this block or later. `receipt` is that of a transaction of ours with the
   * job, which did not settle it. Throws `RpcUnavailableError`.
   */
  examine(job: Job, atLeastBlock: number, receipt?: Receipt): Promise<Examination>
}

/** The way a job is sent, and the account that is charged for its gas. */
export interface JobProfile {
  /** The job needs a transaction of its own, because its payer runs code or the status of the transaction decides it. */
  isAlone: boolean
  /** It is sent in a transaction of its own all the same, without any risk in it: other contracts may not call for it. */
  isSingle?: boolean
  /** The wallets that alone can send it; absent where any can. */
  senders?: readonly Address[]
  /** The multicall of the relayers that must make its call. It shares a transaction with jobs of the same one. */
  through?: Address
  /** The gas it takes, where that is not the gas of a plain payment; units of gas. */
  expectedGas?: bigint
  /**
   * The gas that it burns at most when it fails and no code of an account runs, without the base of its transaction; that
   * of a payment by EIP-3009 if left out.
   */
  failedGas?: number
  /** The account that is charged for gas spent without a settlement. */
  payer: string
  /** The token that it takes from the payer; absent where it takes nothing. */
  asset?: Address
  payTo: string
  /** Names the network address that brought it, for shares of gas; '' within the process. */
  caller: string
  standing: Standing
  /** The nonce of the authorization, for the log; absent where a job is not about one. */
  nonce?: Hex
  /** Set for a kind whose gas says nothing about the gas of a payment; such a job is always sent alone. */
  gas?: GasBounds
  /** The accounts whose code runs in the transaction, if they have any. */
  accountsThatRun: readonly string[]
  /** The amount it moves, 6-decimal units; `undefined` where it must move what its gas costs, and only a receipt shows it. */
  value: bigint | undefined
}

/** What is known of a recipient: the operator named it; it has standing; or neither. */
export type Standing = 'own' | 'known' | 'none'

/** Units of gas: the least a transaction of this kind is given, and the most its simulation may take. */
export interface GasBounds {
  least: bigint
  most: bigint
}

/** The part of a mined transaction that settles a job. */
export interface Settled {
  /** The index in its block of the transfer that backs the job; absent where no single transfer does. */
  transferLog?: number
}

/** The state of a job on chain, read when none of its transactions can land any more or its time is over. */
export type Examination =
  /** `isOwn`: a payment in a transaction that was signed here for it. */
  | ({ state: 'confirmed'; receipt: Receipt; isOwn?: boolean } & Settled)
  /** Final: nothing that was ever signed for it can land any more. `transaction` is the one that proves it, if any. */
  | ({ state: 'failed'; transaction?: Hex } & Rejection)
  /** It is over, and no node shows whether this transaction of somebody else settled it: it may be found out later. */
  | { state: 'uncertain'; transaction: Hex; message: string }
  /** It would fail as the chain stands now, which may change, as a balance does. */
  | ({ state: 'refused' } & Rejection)
  /** It could still land: a new transaction may be sent. */
  | { state: 'open' }

/** A job this process works on: what the relayer remembers in addition to its row. */
export interface TrackedJob extends JobProfile {
  job: Job
  kind: JobKind
  /** The accountsThatRun that have code: what passed the simulation may still fail on chain, and burn gas on purpose. */
  coded: readonly string[]
  /** 18-decimal units burnt by transactions that did not settle it. */
  burntGas: bigint
  /** The gas that it burns if it fails in the transaction that was last signed for it, while its accounts have no code. */
  riskedGas?: number
  /** The number of slots that still hold a transaction with this job. */
  liveSlots: number
  /** Hashes of everything signed for it, except for those that every node refused. */
  mayBeOut: Set<Hex>
  /** It was signed, and every node refused all of it: its row names no transaction. */
  isRefusedByAll: boolean
  /** The number of new transactions sent because an earlier one did not decide it. */
  resends: number
  queuedAt: number
  /** The block whose facts showed all that the chain asks of it; `undefined` where only a simulation does. */
  provenInBlock: number | undefined
  /** When it could first not be sent although its turn had come, Unix milliseconds. */
  troubledAt?: number
  /** A receipt shows that it is settled, and that outcome is being written. */
  isSettled: boolean
  /** Nobody waits for it any more: if it has not been signed, it ends with this outcome. */
  withdrawnAs: Outcome | undefined
  /** Takes it out of the open claims of its payer, once a transaction was signed for it or it is decided. */
  leaveOpenClaims(): void
}

/** Gas that settlements are expected to take, in units of gas. */
export interface ExpectedGas {
  all: bigint
  newcomers: bigint
  /** By caller and by recipient. */
  of: ReadonlyMap<string, bigint>
}

/** One try at a job; a job that failed and was opened again is in the next round. */
export type Round = Pick<Job, 'id' | 'round'>

/** Thousands of jobs are not added up again for each request. */
const EXPECTED_MS = 20

/** The jobs this process works on, and the callers that wait for them. */
export class TrackedJobs {
  readonly openClaims: OpenClaims = createOpenClaims()
  readonly #kinds: Record<string, JobKind>
  /** Unix milliseconds. */
  readonly #now: () => number
  readonly #tracked = new Map<string, TrackedJob>()
  readonly #waiting = createWaiters<{ round: number; job: Job | undefined }>()
  #expected: ExpectedGas | undefined
  #expectedAt = 0

  constructor(kinds: Record<string, JobKind>, now: () => number) {
    this.#kinds = kinds
    this.#now = now
  }

  /**
   * Tracks a job, unless it is tracked in this round or a later one. A job that was opened again gets a new entry: the
   * outcome of its earlier round does not concern it.
   */
  track(job: Job): TrackedJob {
    const known = this.#tracked.get(job.id)
    return known !== undefined && known.job.round >= job.round ? known : this.#add(job)
  }

  isTracking({ id, round }: Round): boolean {
    return (this.#tracked.get(id)?.job.round ?? -1) >= round
  }

  /** Returns whether this very entry is worked on: not decided, not abandoned, and no receipt shows it settled. */
  isOpen(entry: TrackedJob): boolean {
    return this.#tracked.get(entry.job.id) === entry && !entry.isSettled
  }

  find(id: string): TrackedJob | undefined {
    return this.#tracked.get(id)
  }

  /** Returns those of these jobs that are not decided. */
  findAll(ids: Iterable<string>): TrackedJob[] {
    return [...ids].flatMap((id) => this.#tracked.get(id) ?? [])
  }

  all(): Iterable<TrackedJob> {
    return this.#tracked.values()
  }

  profileOf(job: Job): JobProfile {
    return this.#kindOf(job).profile(job)
  }

  /** Adds up the gas that all these jobs are expected to take, where a payment takes this much unless said. */
  expectedGas(perPayment: bigint): ExpectedGas {
    const now = this.#now()
    if (this.#expected !== undefined && now - this.#expectedAt < EXPECTED_MS) return this.#expected
    let [all, newcomers] = [0n, 0n]
    const of = new Map<string, bigint>()
    for (const { expectedGas = perPayment, caller, payTo, standing } of this.#tracked.values()) {
      all += expectedGas
      if (standing === 'none') newcomers += expectedGas
      for (const name of [caller, payTo]) of.set(name, (of.get(name) ?? 0n) + expectedGas)
    }
    this.#expectedAt = now
    this.#expected = { all, newcomers, of }
    return this.#expected
  }

  /** Notes that one more slot of an earlier process holds the job, with these transactions. */
  hold(id: string, hashes: readonly Hex[]): void {
    const entry = this.#tracked.get(id)
    if (entry === undefined) return
    entry.leaveOpenClaims()
    entry.liveSlots++
    for (const hash of hashes) entry.mayBeOut.add(hash)
  }

  /** Notes that a slot holds these jobs no longer, and returns them. */
  leave(ids: Iterable<string>): TrackedJob[] {
    const entries = this.findAll(ids)
    for (const entry of entries) entry.liveSlots = Math.max(0, entry.liveSlots - 1)
    return entries
  }

  /** Notes that a transaction with its jobs is signed and kept, and about to be sent. */
  markSigned({ hash, jobIds }: Attempt): void {
    for (const entry of this.findAll(jobIds)) {
      entry.mayBeOut.add(hash)
      entry.isRefusedByAll = false
      const { message, transaction } = entry.job
      // One of others that may have settled the job stays named.
      const named = message == null ? hash : transaction
      this.update({ ...entry.job, state: 'submitted', transaction: named })
    }
  }

  /**
   * Notes that a row changed: resolves the callers that wait, and forgets the job when it is decided. A change in an
   * earlier round neither decides a job that was opened again meanwhile nor reaches callers that wait for the later one.
   */
  update(job: Job): void {
    const entry = this.#tracked.get(job.id)
    if (entry !== undefined && entry.job.round <= job.round) {
      entry.job = job
      if (!isWaiting(job)) entry.leaveOpenClaims()
      if (isDecided(job)) this.#tracked.delete(job.id)
    }
    this.#waiting.wake(job.id, { round: job.round, job })
  }

  /** Forgets a job that another process works on, unless it is in a later round than this. */
  abandon(id: string, round = Number.POSITIVE_INFINITY): void {
    const entry = this.#tracked.get(id)
    if (entry !== undefined && entry.job.round <= round) {
      entry.leaveOpenClaims()
      this.#tracked.delete(id)
    }
    this.#waiting.wake(id, { round, job: undefined })
  }

  /** Resolves with the row once `test` holds for it in this round or a later one, or with `undefined` when it is abandoned. */
  async until({ id, round }: Round, test: (job: Job) => boolean): Promise<Job | undefined> {
    const entry = this.#tracked.get(id)
    if (entry !== undefined && entry.job.round >= round && test(entry.job)) return entry.job
    const news = await this.#waiting.until(id, {
      isMeant: ({ round: of, job }) => round <= of && (job === undefined || test(job)),
    })
    return news?.job
  }

  #kindOf(job: Job): JobKind {
    const kind = this.#kinds[job.kind]
    if (kind === undefined) throw new Error(`no handler for jobs of kind ${job.kind}`)
    return kind
  }

  #add(job: Job): TrackedJob {
    const kind = this.#kindOf(job)
    const profile = kind.profile(job)
    const entry: TrackedJob = {
      job,
      kind,
      ...profile,
      // A payment is sent alone because its payer had code when it was verified.
      coded: profile.isAlone && profile.gas === undefined ? profile.accountsThatRun : [],
      burntGas: 0n,
      liveSlots: 0,
      mayBeOut: new Set(job.transaction === null ? [] : [job.transaction]),
      isRefusedByAll: false,
      resends: 0,
      queuedAt: this.#now(),
      provenInBlock: undefined,
      isSettled: false,
      withdrawnAs: undefined,
      leaveOpenClaims: isWaiting(job) ? this.#countOpen(job, profile) : () => {},
    }
    this.#tracked.get(job.id)?.leaveOpenClaims()
    this.#tracked.set(job.id, entry)
    return entry
  }

  #countOpen({ kind, key }: Job, { asset, payer, value }: JobProfile): () => void {
    if (asset === undefined || value === undefined) return () => {}
    return this.openClaims.add({ kind, key, asset, payer, value })
  }
}

/** Returns whether a job is claimed, and no transaction was signed for it. */
function isWaiting({ state, transaction }: Job): boolean {
  return state === 'queued' && transaction === null
}
