import type { Address, Hex } from 'viem'

/** `queued` claimed, never signed · `submitted` a signed transaction exists · the last two are final, `failed` may be reopened. */
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
  /** The block in which the authorization was first seen unused. */
  seenBlock: number
  /** Unix seconds from which it cannot land any more. */
  expiresAt: number
  /** The latest transaction signed for it, or the one that decided it. */
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
}

/** What mined transactions cost, 18-decimal units: in all, and burnt on payments that failed. */
export interface GasSpending {
  network: string
  total: bigint
  burnt: { payer: string; amount: bigint }[]
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

/** Every write has reached the disk when its promise resolves; a read may see it a moment earlier. */
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
  /** Keeps a job that somebody else already brought on chain, over its failed row if there is one; `undefined` when the key is held. */
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
   * the lease under which it was signed. Rejects with `LeaseLostError` or `JobsTakenError`, keeping nothing.
   */
  recordAttempt(attempt: Attempt, epoch: number): Promise<void>
  /** Attempts of slots that no receipt has closed yet, oldest slot first. */
  openAttempts(network: string, relayer: Address): Promise<Attempt[]>
  /** Whether a transaction with the job was signed, by whomever, whose slot no receipt has closed yet: it may land. */
  mayLand(network: string, jobId: string): Promise<boolean>
  /**
   * Closes a slot and decides jobs in one commit; resolves with the ids it decided. A job in another round, already
   * decided, or taken over by another process is left alone. Rejects with `LeaseLostError`, changing nothing.
   */
  resolve(resolution: Resolution): Promise<string[]>
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
