import type { ReasonKey } from '@arcus/protocol/x402/reasons'
import type { Attempt, Job, NewJob, Outcome } from '../settlement-journal.js'

/** The columns of a job, named as its members. */
export const jobColumns = `id, kind, network, key, digest, round, state, "to", calldata, details,
  seen_block AS "seenBlock", expires_at AS "expiresAt", "transaction", reason, message,
  block_number AS "blockNumber", gas_cost AS "gasCost", created_at AS "createdAt", updated_at AS "updatedAt",
  delivery_until AS "deliveryUntil", delivered_at AS "deliveredAt", delivered_key AS "deliveredKey", attestation`

export type JobRow = Omit<Job, 'gasCost'> & { gasCost: string | null }

export function toJob(row: JobRow): Job {
  return { ...row, gasCost: row.gasCost === null ? null : BigInt(row.gasCost) }
}

/** The columns of an attempt, named as its members. Its jobs are in a table of their own. */
export const attemptColumns = `hash, network, relayer, relayer_nonce AS "relayerNonce",
  raw_transaction AS "rawTransaction", gas_limit AS "gasLimit", max_fee_per_gas AS "maxFeePerGas",
  max_priority_fee_per_gas AS "maxPriorityFeePerGas", created_at AS "createdAt"`

type Fee = 'gasLimit' | 'maxFeePerGas' | 'maxPriorityFeePerGas'
export type AttemptRow = Omit<Attempt, Fee> & Record<Fee, string>

export function toAttempt(row: AttemptRow): Attempt {
  return {
    ...row,
    gasLimit: BigInt(row.gasLimit),
    maxFeePerGas: BigInt(row.maxFeePerGas),
    maxPriorityFeePerGas: BigInt(row.maxPriorityFeePerGas),
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
