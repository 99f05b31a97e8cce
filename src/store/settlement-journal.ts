import type { Address, Hex } from 'viem'
import type { GasBearer } from './budgets.js'

/**
 * `queued` claimed, and no node has a transaction with it · `submitted` a signed transaction exists, which a node may have ·
 * the last two are final, `failed` may be reopened.
 */
export type JobState = 'queued' | 'submitted' | 'confirmed' | 'failed'

/** One thing to bring on chain exactly once. What a kind needs beyond this stays in `details`. */
export interface Job {
  id: string
  kind: string
  network: string
  /** Unique per kind and network: for `exact` asset, payer and nonce. */
  key: string
  /** What was authorized under the key: for `exact` the EIP-712 digest. */
  digest: Hex
  /** Rises each time a failed job is opened again, so that a late outcome of an earlier try misses. */
  round: number
  state: JobState
  to: Address
  calldata: Hex
  /** JSON of the kind. */
  details: string
  /** The newest block when it was claimed, in which it was not done yet: what others do later counts for it. */
  seenBlock: number
  /** Unix seconds from which it cannot land any more. */
  expiresAt: number
  /** The latest transaction signed for it, or the one that decided it; `null` while every node refuses what was signed. */
  transaction: Hex | null
  reason: string | null
  message: string | null
  blockNumber: number | null
  /** This job's exact share of the gas paid, 18-decimal units. */
  gasCost: bigint | null
  /** Unix milliseconds. */
  createdAt: number
  updatedAt: number
  /** Until when somebody holds the right to answer it with success. */
  deliveryUntil: number | null
  deliveredAt: number | null
  /** The `Idempotency-Key` of the request that was answered with success. */
  deliveredKey: string | null
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
>

export type Claim =
  | { state: 'claimed'; job: Job }
  /** Another job holds the key. */
  | { state: 'held'; job: Job }
  /** The idempotency key belongs to another payment. */
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
}

/** An outcome as it was kept. */
export interface Decision {
  id: string
  outcome: Outcome
}

/** What a mined transaction cost, 18-decimal units. */
export interface GasSpending {
  network: string
  total: bigint
  /** What of it bought no settlement. */
  wasted?: bigint
  /** What of it went into settlements that moved less than their gas. */
  subsidised?: bigint
  /** The accounts it counts against. */
  burnt: { payer: string; amount: bigint }[]
  /**
   * Counts as well against the accounts whose budgets were reserved for this attempt, each once: the strict ones, or all
   * of them when neither a strict one nor `burnt` names anybody.
   */
  reserved?: { hash: Hex; amount: bigint }
}

/** One signed transaction. A slot (relayer, relayerNonce) may have several; one of them can land. */
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

/** Whether the row has an outcome; only a failed one can change again, by being opened anew. */
export function isDecided(job: Job): boolean {
  return job.state === 'confirmed' || job.state === 'failed'
}

/** What a receipt, or an examination, came to. */
export interface Resolution {
  slot?: { network: string; relayer: Address; relayerNonce: number; epoch: number }
  outcomes: { id: string; round: number; outcome: Outcome }[]
  /** Gas to be booked with it. */
  spending?: GasSpending
  now: number
}

export interface SettlementJournal {
  findJob(kind: string, network: string, key: string): Promise<Job | undefined>
  /** Inserts a queued job and binds the `Idempotency-Key` to it, or tells what stands in the way. */
  claim(job: NewJob, idempotencyKey: string | undefined, now: number): Promise<Claim>
  /** Opens a failed job again, perhaps for another digest; `undefined` when somebody else was first. */
  reopen(failed: Job, job: NewJob, now: number): Promise<Job | undefined>
  /**
   * Keeps a job that somebody else already brought on chain, over its failed row if there is one; `undefined` when the
   * key is held. When its transfer backs another job, the row it gives has failed.
   */
  recordFound(
    job: NewJob,
    failed: Job | undefined,
    outcome: Outcome,
    now: number,
  ): Promise<Job | undefined>
  /** All that ever rode in a transaction of ours, or were found in somebody else's, in the order of the batch. */
  findByTransaction(transaction: Hex): Promise<Job[]>
  openJobs(network: string): Promise<Job[]>
  /**
   * Keeps the signed transaction and moves its jobs to `submitted`, in one commit, before it is sent. `epoch` is that of
   * the lease under which it was signed. What it may burn is reserved from the budgets of its bearers until its slot
   * closes. Rejects with `LeaseLostError`, `JobsTakenError` or `GasBudgetError`, keeping nothing.
   */
  recordAttempt(attempt: Attempt, epoch: number, bearers?: readonly GasBearer[]): Promise<void>
  /**
   * Changes the transaction that an open row names: `null` while no node has what was signed for it, which may land all the
   * same. Whether the row still named `from`, in this round.
   */
  nameTransaction(
    job: Pick<Job, 'id' | 'round'>,
    from: Hex | null,
    to: Hex | null,
    now: number,
  ): Promise<boolean>
  /** Attempts of slots that no receipt has closed yet, oldest slot first. */
  openAttempts(network: string, relayer: Address): Promise<Attempt[]>
  /** Whether a transaction with the job was signed, by whomever, whose slot no receipt has closed yet: it may land. */
  mayLand(network: string, jobId: string): Promise<boolean>
  /**
   * Closes a slot and decides jobs in one commit; resolves with what it decided. A job in another round, already
   * decided, or taken over by another process is left alone. A job whose transfer backs another one already fails
   * instead. Rejects with `LeaseLostError`, changing nothing.
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
