import type { Address, Hex } from 'viem'
import { dayOf } from '../budgets.js'
import type {
  Attempt,
  Claim,
  Job,
  NewJob,
  Outcome,
  SettlementJournal,
} from '../settlement-journal.js'
import { createGasBooking } from './budgets.js'
import type { Database } from './database.js'
import type { GroupCommit } from './group-commit.js'

interface JobRow {
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
}

interface AttemptRow {
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

export function createSettlementJournal(
  database: Database,
  commit: GroupCommit,
): SettlementJournal {
  const sql = prepare(database)
  const book = createGasBooking(database)
  const byKey = (kind: string, network: string, key: string) =>
    toJob(sql.findJob.get(kind, network, key) as JobRow | undefined)
  const byId = (id: string) => toJob(sql.findJobById.get(id) as JobRow | undefined)

  return {
    findJob: async (kind, network, key) => byKey(kind, network, key),
    claim: (job, idempotencyKey, now) =>
      commit.write((): Claim => {
        if (idempotencyKey !== undefined && sql.findKey.get(idempotencyKey) !== undefined) {
          return { state: 'keyConflict' }
        }
        const claimed = insert(job, now)
        if (claimed === undefined) {
          return { state: 'held', job: byKey(job.kind, job.network, job.key) as Job }
        }
        if (idempotencyKey !== undefined) sql.insertKey.run(idempotencyKey, job.id, now)
        return { state: 'claimed', job: claimed }
      }),
    reopen: (failed, job, now) => commit.write(() => reopen(failed, job, now)),
    recordFound: (job, failed, outcome, now) =>
      commit.write(() => {
        const row = failed === undefined ? insert(job, now) : reopen(failed, job, now)
        if (row === undefined) return undefined
        decide(row.id, row.round, outcome, now)
        return byId(row.id)
      }),
    openJobs: async (network) =>
      (sql.openJobs.all(network) as JobRow[]).map((row) => toJob(row) as Job),
    recordAttempt: (attempt) => commit.write(() => recordAttempt(attempt)),
    openAttempts: async (network, relayer) =>
      (sql.openAttempts.all(network, relayer) as AttemptRow[]).map((row) => toAttempt(row)),
    resolve: ({ slot, outcomes, spending, now }) =>
      commit.write(() => {
        if (spending !== undefined) book(spending, dayOf(now))
        if (slot !== undefined) sql.closeSlot.run(slot.network, slot.relayer, slot.relayerNonce)
        for (const { id, round, outcome } of outcomes) decide(id, round, outcome, now)
      }),
    findNextNonce: async (network, relayer) =>
      (sql.findLane.get(network, relayer) as { next_nonce: number } | undefined)?.next_nonce,
    setNextNonce: (network, relayer, expected, next) =>
      commit.write(() => {
        const { changes } =
          expected === undefined
            ? sql.insertLane.run(network, relayer, next)
            : sql.updateLane.run(next, network, relayer, expected)
        return changes === 1
      }),
    async isWritable() {
      try {
        await commit.write(() => sql.probe.run())
        return true
      } catch {
        return false
      }
    },
  }

  function insert(job: NewJob, now: number): Job | undefined {
    const { changes } = sql.insertJob.run(...insertValues(job, now))
    return changes === 1 ? newRow(job, now) : undefined
  }

  function reopen(failed: Job, job: NewJob, now: number): Job | undefined {
    const { digest, to, calldata, details, seenBlock, expiresAt } = job
    const { changes } = sql.reopenJob.run(
      digest,
      to,
      calldata,
      details,
      seenBlock,
      expiresAt,
      now,
      failed.id,
      failed.round,
    )
    return changes === 1 ? byId(failed.id) : undefined
  }

  function decide(id: string, round: number, outcome: Outcome, now: number): void {
    sql.decideJob.run(
      outcome.state,
      outcome.transaction,
      outcome.reason,
      outcome.message,
      outcome.blockNumber,
      outcome.gasCost?.toString() ?? null,
      now,
      id,
      round,
    )
  }

  function recordAttempt(attempt: Attempt): void {
    const { hash, network, relayer, relayerNonce, createdAt } = attempt
    sql.insertAttempt.run(
      hash,
      network,
      relayer,
      relayerNonce,
      attempt.rawTransaction,
      attempt.gasLimit.toString(),
      attempt.maxFeePerGas.toString(),
      attempt.maxPriorityFeePerGas.toString(),
      createdAt,
    )
    attempt.jobIds.forEach((id, position) => {
      sql.insertAttemptJob.run(hash, position, id)
      sql.submitJob.run(hash, createdAt, id)
    })
    sql.raiseLane.run(network, relayer, relayerNonce + 1)
  }

  function toAttempt(row: AttemptRow): Attempt {
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
      jobIds: (sql.attemptJobs.all(row.hash) as { job_id: string }[]).map((link) => link.job_id),
    }
  }
}

function prepare(database: Database) {
  return {
    findJob: database.prepare('SELECT * FROM jobs WHERE kind = ? AND network = ? AND key = ?'),
    findJobById: database.prepare('SELECT * FROM jobs WHERE id = ?'),
    openJobs: database.prepare(
      `SELECT * FROM jobs WHERE network = ? AND state IN ('queued', 'submitted') ORDER BY created_at`,
    ),
    insertJob: database.prepare(
      `INSERT INTO jobs (id, kind, network, key, digest, "to", calldata, details, seen_block,
         expires_at, state, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kind, network, key) DO NOTHING`,
    ),
    reopenJob: database.prepare(
      `UPDATE jobs SET round = round + 1, state = 'queued', digest = ?, "to" = ?, calldata = ?,
         details = ?, seen_block = ?, expires_at = ?, updated_at = ?, reason = NULL, message = NULL,
         "transaction" = NULL, block_number = NULL
       WHERE id = ? AND round = ? AND state = 'failed'`,
    ),
    decideJob: database.prepare(
      `UPDATE jobs SET state = ?, "transaction" = ?, reason = ?, message = ?, block_number = ?,
         gas_cost = ?, updated_at = ?
       WHERE id = ? AND round = ? AND state IN ('queued', 'submitted')`,
    ),
    submitJob: database.prepare(
      `UPDATE jobs SET state = 'submitted', "transaction" = ?, updated_at = ?
       WHERE id = ? AND state IN ('queued', 'submitted')`,
    ),
    insertAttempt: database.prepare(
      `INSERT INTO attempts (hash, network, relayer, relayer_nonce, raw_transaction, gas_limit,
         max_fee_per_gas, max_priority_fee_per_gas, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertAttemptJob: database.prepare(
      'INSERT INTO attempt_jobs (hash, position, job_id) VALUES (?, ?, ?)',
    ),
    attemptJobs: database.prepare(
      'SELECT job_id FROM attempt_jobs WHERE hash = ? ORDER BY position',
    ),
    openAttempts: database.prepare(
      `SELECT * FROM attempts WHERE network = ? AND relayer = ? AND is_open = 1
       ORDER BY relayer_nonce, created_at`,
    ),
    closeSlot: database.prepare(
      `UPDATE attempts SET is_open = 0
       WHERE network = ? AND relayer = ? AND relayer_nonce = ? AND is_open = 1`,
    ),
    findLane: database.prepare('SELECT next_nonce FROM lanes WHERE network = ? AND relayer = ?'),
    insertLane: database.prepare(
      'INSERT INTO lanes (network, relayer, next_nonce) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    ),
    updateLane: database.prepare(
      'UPDATE lanes SET next_nonce = ? WHERE network = ? AND relayer = ? AND next_nonce = ?',
    ),
    raiseLane: database.prepare(
      `INSERT INTO lanes (network, relayer, next_nonce) VALUES (?, ?, ?)
       ON CONFLICT (network, relayer) DO UPDATE SET next_nonce = max(next_nonce, excluded.next_nonce)`,
    ),
    findKey: database.prepare('SELECT 1 FROM idempotency_keys WHERE key = ?'),
    insertKey: database.prepare(
      'INSERT INTO idempotency_keys (key, job_id, created_at) VALUES (?, ?, ?)',
    ),
    probe: database.prepare(
      `INSERT INTO lanes (network, relayer, next_nonce) VALUES ('probe', 'probe', 1)
       ON CONFLICT (network, relayer) DO UPDATE SET next_nonce = next_nonce + 1`,
    ),
  }
}

function insertValues(job: NewJob, now: number) {
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
    'queued',
    now,
    now,
  ]
}

/** What an insert leaves in the table. */
function newRow(job: NewJob, now: number): Job {
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
  }
}

function toJob(row: JobRow | undefined): Job | undefined {
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
  }
}
