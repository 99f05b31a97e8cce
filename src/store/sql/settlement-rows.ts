import type { Address, Hex } from 'viem'
import type { ReasonKey } from '../../x402/reasons.js'
import type { Attempt, Job, NewJob, Outcome } from '../settlement-journal.js'

export interface JobRow {
  id: string
  kind: string
  network: string
  key: string
  digest: Hex
  round: number
  state: Job['state']
  to: Address
  calldata: Hex
  details: string
  seen_block: number
  expires_at: number
  transaction: Hex | null
  reason: string | null
  message: string | null
  block_number: number | null
  gas_cost: string | null
  created_at: number
  updated_at: number
  delivery_until: number | null
  delivered_at: number | null
  delivered_key: string | null
  attestation: string | null
}

export interface AttemptRow {
  hash: Hex
  network: string
  relayer: Address
  relayer_nonce: number
  raw_transaction: Hex
  gas_limit: string
  max_fee_per_gas: string
  max_priority_fee_per_gas: string
  created_at: number
}

/** Returns the attempt of a row and of the ids of its jobs. */
export function toAttempt(row: AttemptRow, jobIds: string[]): Attempt {
  return {
    hash: row.hash,
    network: row.network,
    relayer: row.relayer,
    relayerNonce: row.relayer_nonce,
    rawTransaction: row.raw_transaction,
    gasLimit: BigInt(row.gas_limit),
    maxFeePerGas: BigInt(row.max_fee_per_gas),
    maxPriorityFeePerGas: BigInt(row.max_priority_fee_per_gas),
    createdAt: row.created_at,
    jobIds,
  }
}

/** Returns the values in the order of the insert statement. */
export function insertValues(job: NewJob, now: number, state: Job['state'] = 'queued') {
  return [
    job.id,
    job.kind,
    job.network,
    job.key,
    job.digest,
    job.to,
    job.calldata,
    job.details,
    job.seenBlock,
    job.expiresAt,
    state,
    now,
    now,
  ]
}

/** Returns the values in the order of the insert statement. */
export function attemptValues(attempt: Attempt) {
  return [
    attempt.hash,
    attempt.network,
    attempt.relayer,
    attempt.relayerNonce,
    attempt.rawTransaction,
    attempt.gasLimit.toString(),
    attempt.maxFeePerGas.toString(),
    attempt.maxPriorityFeePerGas.toString(),
    attempt.createdAt,
  ]
}

/** Returns the job that an insert leaves in the table. */
export function newRow(job: NewJob, now: number): Job {
  return {
    ...job,
    round: 0,
    state: 'queued',
    transaction: null,
    reason: null,
    message: null,
    blockNumber: null,
    gasCost: null,
    createdAt: now,
    updatedAt: now,
    deliveryUntil: null,
    deliveredAt: null,
    deliveredKey: null,
    attestation: null,
  }
}

export function toJob(row: JobRow | undefined): Job | undefined {
  if (row === undefined) return undefined
  return {
    id: row.id,
    kind: row.kind,
    network: row.network,
    key: row.key,
    digest: row.digest,
    round: row.round,
    state: row.state,
    to: row.to,
    calldata: row.calldata,
    details: row.details,
    seenBlock: row.seen_block,
    expiresAt: row.expires_at,
    transaction: row.transaction,
    reason: row.reason,
    message: row.message,
    blockNumber: row.block_number,
    gasCost: row.gas_cost === null ? null : BigInt(row.gas_cost),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    deliveryUntil: row.delivery_until,
    deliveredAt: row.delivered_at,
    deliveredKey: row.delivered_key,
    attestation: row.attestation,
  }
}

/** Returns the outcome of a job whose transfer already backs another job. */
export function transferTaken(outcome: Outcome): Outcome {
  const { transferLog: _, attestation: __, ...rest } = outcome
  return {
    ...rest,
    state: 'failed',
    reason: 'transferEventMismatch' satisfies ReasonKey,
    message: `The transfer in ${outcome.transaction} pays for another authorization.`,
  }
}
