import type { Hex } from 'viem'
import type { Database } from '../../../sql/sqlite/database.js'
import type { GroupCommit } from '../../../sql/sqlite/group-commit.js'
import { dayOf, type GasBudget } from '../budgets.js'
import type {
  Attempt,
  Claim,
  Decision,
  Job,
  JobSharing,
  NewJob,
  Outcome,
  Resolution,
  SettlementJournal,
} from '../settlement-journal.js'
import {
  type AttemptRow,
  attemptColumns,
  attemptValues,
  insertValues,
  type JobRow,
  jobColumns,
  newRow,
  toAttempt,
  toJob,
  transferTaken,
} from '../sql/settlement-rows.js'
import { createGasBooking, createGasReservation } from './gas.js'

export function createSettlementJournal(
  database: Database,
  commit: GroupCommit,
): SettlementJournal {
  const sql = prepareSettlementStatements(database)
  const book = createGasBooking(database)
  const reserve = createGasReservation(database)
  const byKey = (kind: string, network: string, key: string) => {
    const row = sql.findJob.get(kind, network, key) as JobRow | undefined
    return row && toJob(row)
  }
  const byId = (id: string) => toJob(sql.findJobById.get(id) as JobRow)

  return {
    findJob: async (kind, network, key) => byKey(kind, network, key),
    async findJobById(id) {
      const row = sql.findJobById.get(id) as JobRow | undefined
      return row && toJob(row)
    },
    claim: async (job, idempotencyKey, now, identifierKey) => {
      const write = (): Claim => {
        const claimed = insert(job, now)
        if (claimed === undefined) {
          return { state: 'held', job: byKey(job.kind, job.network, job.key) as Job }
        }
        for (const key of [idempotencyKey, identifierKey]) {
          if (key === undefined) continue
          const { changes } = sql.insertKey.run(key, job.id, now)
          if (changes === 0) throw new KeyConflict()
        }
        return { state: 'claimed', job: claimed }
      }
      try {
        // Nothing is sent before its attempt is recorded, which puts the claim on disk as well.
        return await commit.writeUnsynced(write)
      } catch (error) {
        // Thrown, so that the row it had inserted is rolled back.
        if (error instanceof KeyConflict) return { state: 'keyConflict' }
        throw error
      }
    },
    reopen: (failed, job, now) => commit.write(() => reopen(failed, job, now, 'none')),
    recordFound: (job, failed, outcome, now) =>
      commit.write(() => {
        const row = failed === undefined ? insert(job, now) : reopen(failed, job, now, 'asIs')
        if (row === undefined) return undefined
        decide(row.id, row.round, outcome, now)
        return byId(row.id)
      }),
    async findByTransaction(transaction) {
      const signed = sql.jobsOfAttempt.all(transaction) as JobRow[]
      const found = sql.settledIn.all(transaction) as JobRow[]
      const known = new Set(signed.map(({ id }) => id))
      return [...signed, ...found.filter(({ id }) => !known.has(id))].map(toJob)
    },
    signedAt: async (transaction) => sql.signedAt.get(transaction) as number | undefined,
    recordAttempt: (attempt, _epoch, budgets = []) =>
      commit.write(() => recordAttempt(attempt, budgets)),
    // A power cut brings back the former hash, which still names a transaction that may land.
    nameTransaction: ({ id, round }, from, to, now, message = null) =>
      commit.writeUnsynced(() => {
        const state = to === null ? 'queued' : 'submitted'
        return sql.nameTransaction.run(state, to, message, now, id, round, from).changes === 1
      }),
    openAttempts: async (network, relayer) =>
      (sql.openAttempts.all(network, relayer) as Omit<AttemptRow, 'jobIds'>[]).map((row) =>
        toAttempt({ ...row, jobIds: membersOf(row.hash) }),
      ),
    mayLand: async (network, jobId) => sql.openAttemptOf.get(network, jobId) !== undefined,
    findSigned: async (network, jobId) =>
      (sql.openAttemptOf.get(network, jobId) as { hash: Hex } | undefined)?.hash,
    resolve(resolution) {
      const write = () => resolve(resolution)
      return isOnChain(resolution) ? commit.writeUnsynced(write) : commit.write(write)
    },
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

  function membersOf(hash: Hex): string[] {
    return (sql.attemptJobs.all(hash) as { job_id: string }[]).map((link) => link.job_id)
  }

  function insert(job: NewJob, now: number): Job | undefined {
    const { changes } = sql.insertJob.run(...insertValues(job, now))
    return changes === 1 ? newRow(job, now) : undefined
  }

  /** A job found on chain may have been delivered before the database was restored (`asIs`); one that is sent anew was not. */
  function reopen(
    failed: Job,
    job: NewJob,
    now: number,
    delivery: 'asIs' | 'none',
  ): Job | undefined {
    const isKept = delivery === 'asIs' ? 1 : 0
    const { digest, to, calldata, details, seenBlock, expiresAt } = job
    const { changes } = sql.reopenJob.run(
      digest,
      to,
      calldata,
      details,
      seenBlock,
      expiresAt,
      now,
      isKept,
      isKept,
      failed.id,
      failed.round,
    )
    return changes === 1 ? byId(failed.id) : undefined
  }

  function resolve({ slot, outcomes, gasCharge, now }: Resolution): Decision[] {
    if (gasCharge !== undefined) book(gasCharge, dayOf(now))
    if (slot !== undefined) {
      sql.freeSlot.run(slot.network, slot.relayer, slot.relayerNonce)
      sql.closeSlot.run(slot.network, slot.relayer, slot.relayerNonce)
    }
    return outcomes.flatMap(({ id, round, outcome }) => {
      const kept = decide(id, round, outcome, now)
      return kept === undefined ? [] : [{ id, outcome: kept }]
    })
  }

  /** Keeps an outcome and returns it; it becomes a failure when its transfer backs another job already. */
  function decide(id: string, round: number, outcome: Outcome, now: number): Outcome | undefined {
    try {
      return writeOutcome(id, round, outcome, now) ? outcome : undefined
    } catch (error) {
      if ((error as { code?: string }).code !== 'SQLITE_CONSTRAINT_UNIQUE') throw error
      const failed = transferTaken(outcome)
      return writeOutcome(id, round, failed, now) ? failed : undefined
    }
  }

  function writeOutcome(id: string, round: number, outcome: Outcome, now: number): boolean {
    const { changes } = sql.decideJob.run(
      outcome.state,
      outcome.transaction,
      outcome.reason,
      outcome.message,
      outcome.blockNumber,
      outcome.gasCost?.toString() ?? null,
      outcome.transferLog ?? null,
      outcome.attestation ?? null,
      now,
      id,
      round,
    )
    return changes === 1
  }

  function recordAttempt(attempt: Attempt, budgets: readonly GasBudget[]): void {
    const { hash, network, relayer, relayerNonce, createdAt } = attempt
    sql.insertAttempt.run(...attemptValues(attempt))
    reserve(attempt, budgets)
    attempt.jobIds.forEach((id, position) => {
      sql.insertAttemptJob.run(hash, position, id)
      sql.submitJob.run(hash, createdAt, id)
    })
    sql.raiseLane.run(network, relayer, relayerNonce + 1)
  }
}

/** Returns whether all outcomes are on chain: then they can be read again after a power cut, and a delivery waits for the disk. */
function isOnChain({ outcomes }: Resolution): boolean {
  return outcomes.length > 0 && outcomes.every(({ outcome }) => outcome.state === 'confirmed')
}

class KeyConflict extends Error {}

/** Shares jobs where one process has the file: it takes all open jobs at its start, and no others ever come. */
export function createJobSharing(database: Database): JobSharing {
  const open = database.prepare(
    `SELECT ${jobColumns} FROM jobs WHERE network = ? AND state IN ('queued', 'submitted') ORDER BY created_at`,
  )
  const ofLane = database.prepare(
    `SELECT ${jobColumns} FROM jobs WHERE state IN ('queued', 'submitted') AND id IN (
       SELECT m.job_id FROM attempts a JOIN attempt_jobs m ON m.hash = a.hash
       WHERE a.network = ? AND a.relayer = ? AND a.is_open = 1) ORDER BY created_at`,
  )
  const isDecided = database
    .prepare(`SELECT 1 FROM jobs WHERE id = ? AND state IN ('confirmed', 'failed')`)
    .pluck()
  const jobs = (rows: unknown[]) => (rows as JobRow[]).map(toJob)
  const taken = new Set<string>()

  return {
    isSole: true,
    offer: async () => {},
    takeOffered: async () => [],
    takeOfLane: async (network, relayer) => jobs(ofLane.all(network, relayer)),
    async takeOrphans(network, known) {
      if (taken.has(network)) return []
      taken.add(network)
      const own = new Set(known)
      return jobs(open.all(network)).filter(({ id }) => !own.has(id))
    },
    withdraw: async () => undefined,
    decidedAmong: async (jobIds) => jobIds.filter((id) => isDecided.get(id) !== undefined),
  }
}

/** Prepares every statement of the journal once. */
function prepareSettlementStatements(database: Database) {
  return {
    findJob: database.prepare(
      `SELECT ${jobColumns} FROM jobs WHERE kind = ? AND network = ? AND key = ?`,
    ),
    findJobById: database.prepare(`SELECT ${jobColumns} FROM jobs WHERE id = ?`),
    jobsOfAttempt: database.prepare(
      `SELECT ${jobColumns} FROM attempt_jobs JOIN jobs ON jobs.id = attempt_jobs.job_id
       WHERE attempt_jobs.hash = ? ORDER BY attempt_jobs.position`,
    ),
    settledIn: database.prepare(
      `SELECT ${jobColumns} FROM jobs WHERE "transaction" = ? AND state = 'confirmed'
       ORDER BY transfer_log, created_at`,
    ),
    signedAt: database.prepare('SELECT created_at FROM attempts WHERE hash = ?').pluck(),
    insertJob: database.prepare(
      `INSERT INTO jobs (id, kind, network, key, digest, "to", calldata, details, seen_block,
         expires_at, state, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kind, network, key) DO NOTHING`,
    ),
    reopenJob: database.prepare(
      `UPDATE jobs SET round = round + 1, state = 'queued', digest = ?, "to" = ?, calldata = ?,
         details = ?, seen_block = ?, expires_at = ?, updated_at = ?, reason = NULL, message = NULL,
         "transaction" = NULL, block_number = NULL, gas_cost = NULL,
         delivered_at = CASE WHEN ? THEN delivered_at END, delivered_key = CASE WHEN ? THEN delivered_key END
       WHERE id = ? AND round = ? AND state = 'failed'`,
    ),
    decideJob: database.prepare(
      `UPDATE jobs SET state = ?, "transaction" = ?, reason = ?, message = ?, block_number = ?,
         gas_cost = ?, transfer_log = ?, attestation = ?, updated_at = ?
       WHERE id = ? AND round = ? AND state IN ('queued', 'submitted')`,
    ),
    submitJob: database.prepare(
      // A job that is signed for the first time was never delivered, though a restored database may have marked it so. One
      // with a message names a transaction of others, which may have settled it.
      `UPDATE jobs SET state = 'submitted',
         "transaction" = CASE WHEN message IS NULL THEN ? ELSE "transaction" END, updated_at = ?,
         delivered_at = CASE WHEN state = 'submitted' THEN delivered_at END,
         delivered_key = CASE WHEN state = 'submitted' THEN delivered_key END
       WHERE id = ? AND state IN ('queued', 'submitted')`,
    ),
    nameTransaction: database.prepare(
      `UPDATE jobs SET state = ?, "transaction" = ?, message = ?, updated_at = ?
       WHERE id = ? AND round = ? AND state IN ('queued', 'submitted') AND "transaction" IS ?`,
    ),
    insertAttempt: database.prepare(
      `INSERT INTO attempts (hash, network, relayer, relayer_nonce, raw_transaction, gas_limit,
         max_fee_per_gas, max_priority_fee_per_gas, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (hash) DO UPDATE SET is_open = 1, raw_transaction = excluded.raw_transaction`,
    ),
    insertAttemptJob: database.prepare(
      'INSERT INTO attempt_jobs (hash, position, job_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    ),
    attemptJobs: database.prepare(
      'SELECT job_id FROM attempt_jobs WHERE hash = ? ORDER BY position',
    ),
    openAttempts: database.prepare(
      `SELECT ${attemptColumns} FROM attempts WHERE network = ? AND relayer = ? AND is_open = 1
       ORDER BY relayer_nonce, created_at`,
    ),
    openAttemptOf: database.prepare(
      `SELECT a.hash FROM attempts a WHERE a.network = ? AND a.is_open = 1
         AND EXISTS (SELECT 1 FROM attempt_jobs m WHERE m.hash = a.hash AND m.job_id = ?)
       ORDER BY a.created_at DESC LIMIT 1`,
    ),
    closeSlot: database.prepare(
      `UPDATE attempts SET is_open = 0
       WHERE network = ? AND relayer = ? AND relayer_nonce = ? AND is_open = 1`,
    ),
    freeSlot: database.prepare(
      `DELETE FROM gas_risks WHERE hash IN (SELECT hash FROM attempts
         WHERE network = ? AND relayer = ? AND relayer_nonce = ? AND is_open = 1)`,
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
    insertKey: database.prepare(
      'INSERT INTO idempotency_keys (key, job_id, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    ),
    probe: database.prepare(
      `INSERT INTO lanes (network, relayer, next_nonce) VALUES ('probe', 'probe', 1)
       ON CONFLICT (network, relayer) DO UPDATE SET next_nonce = next_nonce + 1`,
    ),
  }
}
