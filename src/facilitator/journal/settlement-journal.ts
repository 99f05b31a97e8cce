import type { Address, Hex } from 'viem'
import type { GasBudget, GasCharge } from './budgets.js'
import type { Customer } from './customers.js'

/**
 * The state of a job. `queued`: it is claimed, and no node has a transaction with it. `submitted`: a signed transaction
 * exists, which a node may have. `confirmed` and `failed` are outcomes; a failed job may be reopened.
 */
type JobState = 'queued' | 'submitted' | 'confirmed' | 'failed'

/** A call to bring on chain exactly once. What a kind needs beyond this is in `details`. */
export interface Job {
  id: string
  kind: string
  network: string
  /** Unique per kind and network. For `exact` it is made of asset, payer and nonce. */
  key: string
  /** Digest of what was authorized under the key. For `exact` it is the EIP-712 digest. */
  digest: Hex
  /** Rises each time a failed job is reopened, so that a late outcome of an earlier round has no effect. */
  round: number
  state: JobState
  to: Address
  calldata: Hex
  /** JSON that only the kind understands. */
  details: string
  /** What was paid for, as JSON that only the kind understands; `null` where nothing is named, and in a job that failed. */
  resource: string | null
  /** The newest block at the claim, in which it was not done yet. A transaction of somebody else after it counts. */
  seenBlock: number
  /** Unix seconds from which on it cannot land any more. */
  expiresAt: number
  /** The latest transaction signed for it, or the one that decided it; `null` while every node refuses the signed ones. */
  transaction: Hex | null
  reason: string | null
  /** The sentence of a failure, or the reason why the outcome of an open job is not known. */
  message: string | null
  blockNumber: number | null
  /** The block after its end in which the chain showed a failed job as unused: it can never land any more. */
  unusedBlock: number | null
  /** The block after its end in which the chain showed a failed job as used, in a transaction that does not count here. */
  usedBlock: number | null
  /** This job's exact share of the gas paid, 18-decimal units. */
  gasCost: bigint | null
  /** Unix milliseconds. */
  createdAt: number
  updatedAt: number
  /** End of the lease on the right to answer with success, Unix milliseconds. */
  deliveryUntil: number | null
  deliveredAt: number | null
  /** The `Idempotency-Key` of the request that was answered with success. */
  deliveredKey: string | null
  /** The stored part of the attestation that was signed at its confirmation, as JSON; `null` if there is none. */
  attestation: string | null
}

export type NewJob = Pick<
  Job,
  | 'id'
  | 'kind'
  | 'network'
  | 'key'
  | 'digest'
  | 'to'
  | 'calldata'
  | 'details'
  | 'seenBlock'
  | 'expiresAt'
> &
  Partial<Pick<Job, 'resource'>>

export type ClaimResult =
  | { state: 'claimed'; job: Job }
  /** Another job holds the key. */
  | { state: 'held'; job: Job }
  /** The idempotency key or the payment identifier belongs to another payment. */
  | { state: 'keyConflict' }

export interface Outcome {
  state: 'confirmed' | 'failed'
  transaction: Hex | null
  reason: string | null
  message: string | null
  blockNumber: number | null
  gasCost: bigint | null
  /** The index in its block of the transfer that backs a confirmed job: one transfer backs one job. */
  transferLog?: number
  /** The stored part of the attestation of a confirmed job, as JSON. */
  attestation?: string
}

/** An outcome as it was kept. */
export interface Decision {
  id: string
  outcome: Outcome
}

/** A signed transaction. A slot (relayer, relayerNonce) may have several, of which one can land. */
export interface Attempt {
  hash: Hex
  network: string
  relayer: Address
  relayerNonce: number
  rawTransaction: Hex
  gasLimit: bigint
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
  createdAt: number
  /** In the order of the batch; empty for a transaction that only fills its slot. */
  jobIds: string[]
}

/** Returns whether the job has an outcome. After that, only a failed job can change, by being reopened. */
export function isDecided(job: Job): boolean {
  return job.state === 'confirmed' || job.state === 'failed'
}

/** The outcomes that follow from a receipt or from an examination of the chain. */
export interface Resolution {
  slot?: { network: string; relayer: Address; relayerNonce: number; epoch: number }
  outcomes: { id: string; round: number; outcome: Outcome }[]
  /** Gas to book in the same commit. */
  gasCharge?: GasCharge
  /** Payers who paid a recipient more than the gas of it. */
  customers?: { network: string; pairs: readonly Customer[] }
  now: number
}

/**
 * The journal of jobs and of the transactions signed for them. When a promise resolves, its commit survives the end of the
 * process. A power cut on SQLite can still take back what is only committed: a claim, the name of a transaction, and
 * outcomes that are all `confirmed`. Each of these comes back from the chain or from the caller's next request. All other
 * writes are on disk when they resolve, above all `recordAttempt`, and with them everything that was committed before. A
 * read may see a row a moment before it is on disk.
 */
export interface SettlementJournal {
  findJob(kind: string, network: string, key: string): Promise<Job | undefined>
  /** Finds those of the keys that have a job. */
  findJobs(kind: string, network: string, keys: readonly string[]): Promise<Job[]>
  findJobById(id: string): Promise<Job | undefined>
  /**
   * Inserts a queued job and binds the `Idempotency-Key` and the key of its payment identifier to it, or returns the reason
   * why it did not.
   */
  claim(
    job: NewJob,
    idempotencyKey: string | undefined,
    now: number,
    identifierKey?: string,
  ): Promise<ClaimResult>
  /** Reopens a failed job, perhaps for another digest; `undefined` when another request was first. */
  reopen(failed: Job, job: NewJob, now: number): Promise<Job | undefined>
  /**
   * Keeps a job that somebody else already brought on chain, in place of its failed row if there is one; `undefined` when
   * the key is held. When its transfer backs another job, the returned job has failed.
   */
  recordFound(
    job: NewJob,
    failed: Job | undefined,
    outcome: Outcome,
    now: number,
  ): Promise<Job | undefined>
  /** All jobs of a transaction of ours in the order of the batch, or all that were found in a transaction of somebody else. */
  findByTransaction(transaction: Hex): Promise<Job[]>
  /** Returns when a transaction of ours was signed, right before it was sent, Unix milliseconds. */
  signedAt(transaction: Hex): Promise<number | undefined>
  /**
   * Keeps the signed transaction and moves its jobs to `submitted`, in one commit, before it is sent. `epoch` is that of
   * the lease under which it was signed. The gas it may burn is reserved from these budgets until its slot
   * closes. Rejects with `LeaseLostError`, `JobsTakenError` or `GasBudgetError`, and then keeps nothing.
   */
  recordAttempt(attempt: Attempt, epoch: number, budgets?: readonly GasBudget[]): Promise<void>
  /**
   * Changes the transaction that an open job names. It is `null` while no node has a transaction signed for the job, one of
   * which may land all the same. `message` says why nobody knows yet what the transaction did. Resolves with whether the job
   * still named `from`, in this round.
   */
  nameTransaction(
    job: Pick<Job, 'id' | 'round'>,
    from: Hex | null,
    to: Hex | null,
    now: number,
    message?: string | null,
  ): Promise<boolean>
  /** Attempts of slots that no receipt has closed yet, oldest slot first. */
  openAttempts(network: string, relayer: Address): Promise<Attempt[]>
  /** Resolves with whether any process signed a transaction with the job whose slot no receipt has closed yet: it may land. */
  mayLand(network: string, jobId: string): Promise<boolean>
  /** Returns the newest of these transactions, whatever nodes said about it. */
  findSigned(network: string, jobId: string): Promise<Hex | undefined>
  /**
   * Closes a slot and decides jobs in one commit; resolves with the outcomes that it kept. It leaves alone a job in another
   * round, one that is decided, and one that another process took over. A job whose transfer already backs another job
   * fails. Rejects with `LeaseLostError`, and then changes nothing.
   */
  resolve(resolution: Resolution): Promise<Decision[]>
  /** The next relayer nonce to sign, if this relayer ever signed here. */
  findNextNonce(network: string, relayer: Address): Promise<number | undefined>
  /** Compare-and-set of that counter; `expected` undefined means none yet. Rejects with `LeaseLostError`. */
  setNextNonce(
    network: string,
    relayer: Address,
    expected: number | undefined,
    next: number,
    epoch: number,
  ): Promise<boolean>
  isWritable(): Promise<boolean>
}

/**
 * Shares the jobs of one database among processes: each open job is worked on by one of them, or offered to all. A process
 * that is the only one has all jobs.
 */
export interface JobSharing {
  /** Whether this process is the only one there can be. */
  isSole: boolean
  /** Lets another process take those of these jobs that are not decided. */
  offer(jobIds: readonly string[]): Promise<void>
  /** Takes those of the first offered jobs that this process may take; payers take turns, each with the oldest of theirs. */
  takeOffered(network: string, limit: number, mayTake?: (job: Job) => boolean): Promise<Job[]>
  /** Takes the open jobs in a lane's open attempts from any process; called once the lane's lease is held. */
  takeOfLane(network: string, relayer: Address): Promise<Job[]>
  /**
   * Takes open jobs that no process works on: jobs of processes that died, and jobs of this process that it does not know.
   * A job in an open attempt of a lane that another process works for, or is about to, stays with that lane.
   */
  takeOrphans(network: string, known: readonly string[], limit: number): Promise<Job[]>
  /** Fails a job of any process that was never signed; `undefined` when it was signed or is decided. */
  withdraw(job: Job, outcome: Outcome, now: number): Promise<Job | undefined>
  /** Returns those of these jobs that have an outcome. */
  decidedAmong(jobIds: readonly string[]): Promise<string[]>
}
