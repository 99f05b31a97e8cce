import type { ReasonKey } from '@arcus/protocol/x402/reasons'
import type { Hex } from 'viem'
import type { Sql, Value } from '../../sql/sql.js'
import type { Attempt, Job, NewJob, Outcome, SettlementJournal } from './settlement-journal.js'

export type JobKey = Pick<Job, 'kind' | 'network' | 'key'>

export interface NewClaim {
  job: NewJob
  /** The `Idempotency-Key` and the key of the payment identifier, where there are any. */
  keys: readonly string[]
  now: number
}

/**
 * What each engine does in its own way, above all the commits of several rows. SQLite takes their steps at once. PostgreSQL
 * takes one statement: a process that stops in between leaves no lock behind that others would wait for.
 */
export interface JournalCommits
  extends Pick<SettlementJournal, 'recordAttempt' | 'resolve' | 'setNextNonce'> {
  find(key: JobKey): Promise<Job | undefined>
  /**
   * Inserts a queued job and binds its keys. Resolves with `false`, or rejects with a unique violation, when its own key is
   * held or one of the keys is bound: then nothing is kept.
   */
  insert(claim: NewClaim): Promise<boolean>
  /** Inserts a job with its outcome; `undefined` when its key is held. May reject as the transfer backs another job. */
  insertFound(job: NewJob, outcome: Outcome, now: number): Promise<Job | undefined>
  isUniqueViolation(error: unknown): boolean
  /** The condition that a job was settled in the transaction `$1`. */
  settledIn: string
  /** The name of this process in the rows; `undefined` where it is the only one. */
  worker: string | undefined
  /** Runs a statement of no consequence, once. */
  probe(text: string): Promise<unknown>
}

/** Creates the journal over the rows that both engines share. */
export function createSettlementJournal(sql: Sql, commits: JournalCommits): SettlementJournal {
  return {
    ...createJobRows(sql, commits),
    ...createAttemptRows(sql),
    recordAttempt: commits.recordAttempt,
    resolve: commits.resolve,
    setNextNonce: commits.setNextNonce,
    async isWritable() {
      try {
        await commits.probe(
          `INSERT INTO lanes (network, relayer, next_nonce) VALUES ('probe', 'probe', 1)
           ON CONFLICT (network, relayer) DO UPDATE SET next_nonce = lanes.next_nonce + 1`,
        )
        return true
      } catch {
        return false
      }
    },
  }
}

/** Creates the reads and writes of jobs, without the commits of several rows. */
function createJobRows(sql: Sql, commits: JournalCommits) {
  const { find, isUniqueViolation, worker } = commits
  const read = async (text: string, values: readonly Value[]) =>
    (await sql.all<JobRow>(text, values)).map(toJob)

  /** Opens a failed job anew, or decides it with the outcome that was found. */
  async function reopen(failed: Job, job: NewJob, now: number, found?: Outcome) {
    const { digest, to, calldata, details, seenBlock, expiresAt } = job
    const resource = found?.state === 'failed' ? null : (job.resource ?? null)
    // A job found on chain may have been delivered before the database was restored; one that is sent anew was not.
    const [row] = await sql.change<JobRow>(
      `UPDATE jobs SET round = round + 1, state = $10, digest = $1, "to" = $2, calldata = $3, details = $4,
         seen_block = $5, expires_at = $6, updated_at = $7, "transaction" = $11, reason = $12,
         message = $13, block_number = $14, gas_cost = $15, transfer_log = $16, attestation = $17,
         resource = $18, unused_block = NULL, used_block = NULL,
         delivered_at = CASE WHEN $10 = 'queued' THEN NULL ELSE delivered_at END,
         delivered_key = CASE WHEN $10 = 'queued' THEN NULL ELSE delivered_key END
         ${worker === undefined ? '' : ', worker = $19'}
       WHERE id = $8 AND round = $9 AND state = 'failed' RETURNING ${jobColumns}`,
      [
        ...[digest, to, calldata, details, seenBlock, expiresAt, now, failed.id, failed.round],
        found?.state ?? 'queued',
        ...outcomeValues(found),
        resource,
        ...(worker === undefined ? [] : [worker]),
      ],
    )
    return row && toJob(row)
  }

  return {
    findJob: (kind, network, key) => find({ kind, network, key }),
    findJobs: (kind, network, keys) =>
      read(
        `SELECT ${jobColumns} FROM jobs WHERE kind = $1 AND network = $2 AND ${sql.among('key', 3)}`,
        [kind, network, keys],
      ),
    async findJobById(id) {
      return (await read(`SELECT ${jobColumns} FROM jobs WHERE id = $1`, [id]))[0]
    },
    async claim(job, idempotencyKey, now, identifierKey) {
      const keys = [idempotencyKey, identifierKey].filter((key) => key !== undefined)
      try {
        if (await commits.insert({ job, keys, now })) {
          return { state: 'claimed', job: newRow(job, now) }
        }
      } catch (error) {
        // Another payment has bound one of the keys.
        if (keys.length === 0 || !isUniqueViolation(error)) throw error
      }
      const holder = await find(job)
      if (holder === undefined) return { state: 'keyConflict' }
      // It is this claim's own row when only the answer to the first insert was lost.
      return { state: holder.id === job.id ? 'claimed' : 'held', job: holder }
    },
    reopen: (failed, job, now) => reopen(failed, job, now),
    async recordFound(job, failed, outcome, now) {
      const record = (outcome: Outcome) =>
        failed === undefined
          ? commits.insertFound(job, outcome, now)
          : reopen(failed, job, now, outcome)
      try {
        return await record(outcome)
      } catch (error) {
        if (!isUniqueViolation(error)) throw error
        return record(transferTaken(outcome))
      }
    },
    async findByTransaction(transaction) {
      const signed = await read(
        `SELECT ${jobColumns} FROM attempt_jobs m JOIN jobs ON jobs.id = m.job_id WHERE m.hash = $1 ORDER BY m.position`,
        [transaction],
      )
      const found = await read(
        `SELECT ${jobColumns} FROM jobs WHERE ${commits.settledIn} ORDER BY transfer_log, created_at`,
        [transaction],
      )
      const known = new Set(signed.map(({ id }) => id))
      return [...signed, ...found.filter(({ id }) => !known.has(id))]
    },
    async nameTransaction({ id, round }, from, to, now, message = null) {
      // Also true where the row names it already: the statement may run twice.
      const changes = await sql.run(
        `UPDATE jobs SET state = $1, "transaction" = $2, updated_at = $3, message = $7
         WHERE id = $4 AND round = $5 AND state IN ('queued', 'submitted')
           AND ("transaction" IS NOT DISTINCT FROM $6 OR "transaction" IS NOT DISTINCT FROM $2)`,
        [to === null ? 'queued' : 'submitted', to, now, id, round, from, message],
        // A power cut brings back the former hash, which still names a transaction that may land.
        { isDurable: false },
      )
      return changes === 1
    },
  } satisfies Partial<SettlementJournal>
}

/** Creates the reads of signed transactions, and of the nonces of the relayers. */
function createAttemptRows(sql: Sql) {
  async function findSigned(network: string, jobId: string): Promise<Hex | undefined> {
    const row = await sql.get<{ hash: Hex }>(
      `SELECT a.hash FROM attempts a WHERE a.network = $1 AND a.is_open = 1
         AND EXISTS (SELECT 1 FROM attempt_jobs m WHERE m.hash = a.hash AND m.job_id = $2)
       ORDER BY a.created_at DESC LIMIT 1`,
      [network, jobId],
    )
    return row?.hash
  }

  return {
    findSigned,
    mayLand: async (network, jobId) => (await findSigned(network, jobId)) !== undefined,
    async signedAt(transaction) {
      const text = 'SELECT created_at AS "createdAt" FROM attempts WHERE hash = $1'
      return (await sql.get<{ createdAt: number }>(text, [transaction]))?.createdAt
    },
    async openAttempts(network, relayer) {
      const rows = await sql.all<Omit<AttemptRow, 'jobIds'>>(
        `SELECT ${attemptColumns} FROM attempts WHERE network = $1 AND relayer = $2 AND is_open = 1
         ORDER BY relayer_nonce, created_at`,
        [network, relayer],
      )
      const members = await sql.all<{ hash: Hex; jobId: string }>(
        `SELECT hash, job_id AS "jobId" FROM attempt_jobs WHERE ${sql.among('hash', 1)} ORDER BY position`,
        [rows.map(({ hash }) => hash)],
      )
      return rows.map((row) => {
        const own = members.filter(({ hash }) => hash === row.hash)
        return toAttempt({ ...row, jobIds: own.map(({ jobId }) => jobId) })
      })
    },
    async findNextNonce(network, relayer) {
      const text = 'SELECT next_nonce AS next FROM lanes WHERE network = $1 AND relayer = $2'
      return (await sql.get<{ next: number }>(text, [network, relayer]))?.next
    },
  } satisfies Partial<SettlementJournal>
}

/** The columns of a job, named as its members. */
export const jobColumns = `id, kind, network, key, digest, round, state, "to", calldata, details, resource,
  seen_block AS "seenBlock", expires_at AS "expiresAt", "transaction", reason, message,
  block_number AS "blockNumber", unused_block AS "unusedBlock", used_block AS "usedBlock",
  gas_cost AS "gasCost", created_at AS "createdAt", updated_at AS "updatedAt",
  delivery_until AS "deliveryUntil", delivered_at AS "deliveredAt", delivered_key AS "deliveredKey", attestation`

export type JobRow = Omit<Job, 'gasCost'> & { gasCost: string | null }

export function toJob(row: JobRow): Job {
  return { ...row, gasCost: row.gasCost === null ? null : BigInt(row.gasCost) }
}

/** The number of columns that an outcome has apart from its state. */
export const OUTCOME_VALUES = 7

/** Returns the columns of an outcome after its state, in the order of the statements. */
export function outcomeValues(outcome?: Outcome) {
  return [
    outcome?.transaction ?? null,
    outcome?.reason ?? null,
    outcome?.message ?? null,
    outcome?.blockNumber ?? null,
    outcome?.gasCost?.toString() ?? null,
    outcome?.transferLog ?? null,
    outcome?.attestation ?? null,
  ]
}

/** The columns of an attempt, named as its members. Its jobs are in a table of their own. */
const attemptColumns = `hash, network, relayer, relayer_nonce AS "relayerNonce",
  raw_transaction AS "rawTransaction", gas_limit AS "gasLimit", max_fee_per_gas AS "maxFeePerGas",
  max_priority_fee_per_gas AS "maxPriorityFeePerGas", created_at AS "createdAt"`

type Fee = 'gasLimit' | 'maxFeePerGas' | 'maxPriorityFeePerGas'
type AttemptRow = Omit<Attempt, Fee> & Record<Fee, string>

function toAttempt(row: AttemptRow): Attempt {
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
    state === 'failed' ? null : (job.resource ?? null),
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
    resource: job.resource ?? null,
    round: 0,
    state: 'queued',
    transaction: null,
    reason: null,
    message: null,
    blockNumber: null,
    unusedBlock: null,
    usedBlock: null,
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
