import type { Hex } from 'viem'
import { dayOf, type GasBearer } from '../budgets.js'
import {
  type AttemptRow,
  attemptValues,
  insertValues,
  type JobRow,
  newRow,
  toAttempt,
  toJob,
  transferTaken,
} from '../rows/settlement-rows.js'
import type {
  Attempt,
  Claim,
  Decision,
  Job,
  NewJob,
  Outcome,
  Resolution,
  SettlementJournal,
} from '../settlement-journal.js'
import { createGasBooking, createGasReservation } from './budgets.js'
import type { Database } from './database.js'
import type { GroupCommit } from './group-commit.js'
import { prepareSettlementStatements } from './settlement-statements.js'

export function createSettlementJournal(
  database: Database,
  commit: GroupCommit,
): SettlementJournal {
  const sql = prepareSettlementStatements(database)
  const book = createGasBooking(database)
  const reserve = createGasReservation(database)
  const byKey = (kind: string, network: string, key: string) =>
    toJob(sql.findJob.get(kind, network, key) as JobRow | undefined)
  const byId = (id: string) => toJob(sql.findJobById.get(id) as JobRow | undefined)

  return {
    findJob: async (kind, network, key) => byKey(kind, network, key),
    claim: async (job, idempotencyKey, now) => {
      const write = (): Claim => {
        const claimed = insert(job, now)
        if (claimed === undefined) {
          return { state: 'held', job: byKey(job.kind, job.network, job.key) as Job }
        }
        if (idempotencyKey !== undefined) {
          const { changes } = sql.insertKey.run(idempotencyKey, job.id, now)
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
    reopen: (failed, job, now) => commit.write(() => reopen(failed, job, now, 'untold')),
    recordFound: (job, failed, outcome, now) =>
      commit.write(() => {
        const row = failed === undefined ? insert(job, now) : reopen(failed, job, now, 'asIs')
        if (row === undefined) return undefined
        decide(row.id, row.round, outcome, now)
        return byId(row.id)
      }),
    async findByTransaction(transaction) {
      const ridden = sql.jobsOfAttempt.all(transaction) as JobRow[]
      const found = sql.foundJobs.all({ transaction }) as JobRow[]
      const known = new Set(ridden.map(({ id }) => id))
      return [...ridden, ...found.filter(({ id }) => !known.has(id))].map(
        (row) => toJob(row) as Job,
      )
    },
    openJobs: async (network) =>
      (sql.openJobs.all(network) as JobRow[]).map((row) => toJob(row) as Job),
    recordAttempt: (attempt, _epoch, bearers = []) =>
      commit.write(() => recordAttempt(attempt, bearers)),
    // A power cut brings back the hash, which is no untruth about what may land.
    nameTransaction: ({ id, round }, from, to, now) =>
      commit.writeUnsynced(() => {
        const state = to === null ? 'queued' : 'submitted'
        return sql.nameTransaction.run(state, to, now, id, round, from).changes === 1
      }),
    openAttempts: async (network, relayer) =>
      (sql.openAttempts.all(network, relayer) as AttemptRow[]).map((row) =>
        toAttempt(row, membersOf(row.hash)),
      ),
    mayLand: async (network, jobId) => sql.openAttemptOf.get(network, jobId) !== undefined,
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

  /** What is found on chain may have been told before the database was restored; what is sent anew was not. */
  function reopen(failed: Job, job: NewJob, now: number, told: 'asIs' | 'untold'): Job | undefined {
    const isKept = told === 'asIs' ? 1 : 0
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

  function resolve({ slot, outcomes, spending, now }: Resolution): Decision[] {
    if (spending !== undefined) book(spending, dayOf(now))
    if (slot !== undefined) {
      sql.freeSlot.run(slot.network, slot.relayer, slot.relayerNonce)
      sql.closeSlot.run(slot.network, slot.relayer, slot.relayerNonce)
    }
    return outcomes.flatMap(({ id, round, outcome }) => {
      const kept = decide(id, round, outcome, now)
      return kept === undefined ? [] : [{ id, outcome: kept }]
    })
  }

  /** Keeps an outcome and gives it; as a failure when its transfer backs another job already. */
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
      now,
      id,
      round,
    )
    return changes === 1
  }

  function recordAttempt(attempt: Attempt, bearers: readonly GasBearer[]): void {
    const { hash, network, relayer, relayerNonce, createdAt } = attempt
    sql.insertAttempt.run(...attemptValues(attempt))
    reserve(attempt, bearers)
    attempt.jobIds.forEach((id, position) => {
      sql.insertAttemptJob.run(hash, position, id)
      sql.submitJob.run(hash, createdAt, id)
    })
    sql.raiseLane.run(network, relayer, relayerNonce + 1)
  }
}

/** What a power cut takes of it is read from the chain again, and the success it allows waits for the disk itself. */
function isOnChain({ outcomes }: Resolution): boolean {
  return outcomes.length > 0 && outcomes.every(({ outcome }) => outcome.state === 'confirmed')
}

class KeyConflict extends Error {}
