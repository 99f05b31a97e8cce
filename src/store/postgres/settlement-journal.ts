import type { Address } from 'viem'
import { dayOf, type GasBearer } from '../budgets.js'
import { JobsTakenError, LeaseLostError, laneLease } from '../leases.js'
import type {
  Attempt,
  Claim,
  Decision,
  Job,
  JobSharing,
  NewJob,
  Outcome,
  SettlementJournal,
} from '../settlement-journal.js'
import {
  type AttemptRow,
  attemptValues,
  insertValues,
  type JobRow,
  newRow,
  toAttempt,
  toJob,
  transferTaken,
} from '../sql/settlement-rows.js'
import { bookGas, reserveGas } from './budgets.js'
import type { Database, Queries } from './database.js'
import { clockMs } from './deliveries.js'

/** Keeps the journal for one of several processes. `worker` is the name of this one; the jobs it claims are its own. */
export function createSettlementJournal(database: Database, worker: string): SettlementJournal {
  return {
    findJob: (kind, network, key) => findByKey(database, kind, network, key),
    claim: (job, idempotencyKey, now) => claim(database, worker, job, idempotencyKey, now),
    reopen: (failed, job, now) => reopen(database, worker, failed, job, now, 'none'),
    recordFound: (job, failed, outcome, now) =>
      keepingTransfersApart(async (decide) =>
        database.inTransaction(async (sql) => {
          const row =
            failed === undefined
              ? (await insert(sql, worker, job, now)) && newRow(job, now)
              : await reopen(sql, worker, failed, job, now, 'asIs')
          if (!row) return undefined
          await decide(sql, worker, [{ id: row.id, round: row.round, outcome }], now)
          return findById(sql, row.id)
        }),
      ),
    async findByTransaction(transaction) {
      const rows = await database.rows<JobRow>(
        `SELECT jobs.* FROM attempt_jobs m JOIN jobs ON jobs.id = m.job_id WHERE m.hash = $1 ORDER BY m.position`,
        [transaction],
      )
      const found = await database.rows<JobRow>(
        `SELECT * FROM jobs WHERE "transaction" = $1 AND state = 'confirmed' AND gas_cost IS NULL
         UNION SELECT * FROM jobs WHERE "transaction" = $1 AND transfer_log IS NOT NULL
         ORDER BY created_at`,
        [transaction],
      )
      const known = new Set(rows.map(({ id }) => id))
      return [...rows, ...found.filter(({ id }) => !known.has(id))].map((row) => toJob(row) as Job)
    },
    async openJobs(network) {
      const rows = await database.rows<JobRow>(
        `SELECT * FROM jobs WHERE network = $1 AND state IN ('queued', 'submitted') ORDER BY created_at`,
        [network],
      )
      return rows.map((row) => toJob(row) as Job)
    },
    recordAttempt: (attempt, epoch, bearers = []) =>
      database.inTransaction((sql) => recordAttempt(sql, worker, attempt, epoch, bearers)),
    async nameTransaction({ id, round }, from, to, now) {
      // Also true where the row names it already: the statement may run twice.
      const changes = await database.run(
        `UPDATE jobs SET state = $1, "transaction" = $2, updated_at = $3
         WHERE id = $4 AND round = $5 AND state IN ('queued', 'submitted')
           AND ("transaction" IS NOT DISTINCT FROM $6 OR "transaction" IS NOT DISTINCT FROM $2)`,
        [to === null ? 'queued' : 'submitted', to, now, id, round, from],
      )
      return changes === 1
    },
    async openAttempts(network, relayer) {
      const rows = await database.rows<AttemptRow & { job_ids: string[] }>(
        `SELECT a.*, ARRAY(SELECT job_id FROM attempt_jobs j WHERE j.hash = a.hash ORDER BY position) AS job_ids
         FROM attempts a WHERE network = $1 AND relayer = $2 AND is_open = 1
         ORDER BY relayer_nonce, created_at`,
        [network, relayer],
      )
      return rows.map((row) => toAttempt(row, row.job_ids))
    },
    async mayLand(network, jobId) {
      const rows = await database.rows(
        `SELECT 1 FROM attempt_jobs m JOIN attempts a ON a.hash = m.hash
         WHERE m.job_id = $1 AND a.network = $2 AND a.is_open = 1 LIMIT 1`,
        [jobId, network],
      )
      return rows.length > 0
    },
    resolve: ({ slot, outcomes, spending, now }) =>
      keepingTransfersApart((decide) =>
        database.inTransaction(async (sql) => {
          let closed: string[] = []
          if (slot !== undefined) {
            const { network, relayer, relayerNonce, epoch } = slot
            await requireLease(sql, worker, { network, relayer, epoch })
            const rows = await sql.rows<{ hash: string }>(
              `UPDATE attempts SET is_open = 0
             WHERE network = $1 AND relayer = $2 AND relayer_nonce = $3 AND is_open = 1 RETURNING hash`,
              [network, relayer, relayerNonce],
            )
            closed = rows.map(({ hash }) => hash)
          }
          const decided = await decide(sql, worker, outcomes, now)
          // A commit whose answer was lost is run again, and must not book again.
          const isNew =
            closed.length > 0 || decided.length > 0 || (slot === undefined && outcomes.length === 0)
          if (spending !== undefined && isNew) {
            await bookGas(sql, spending, dayOf(now))
          }
          if (closed.length > 0) {
            await sql.run('DELETE FROM gas_risks WHERE hash = ANY($1)', [closed])
          }
          return decided
        }),
      ),
    async findNextNonce(network, relayer) {
      const [row] = await database.rows<{ next_nonce: number }>(
        'SELECT next_nonce FROM lanes WHERE network = $1 AND relayer = $2',
        [network, relayer],
      )
      return row?.next_nonce
    },
    setNextNonce: (network, relayer, expected, next, epoch) =>
      database.inTransaction(async (sql) => {
        await requireLease(sql, worker, { network, relayer, epoch })
        return setNextNonce(sql, network, relayer, expected, next)
      }),
    async isWritable() {
      try {
        await database.once.run(
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

async function findByKey(sql: Queries, kind: string, network: string, key: string) {
  const [row] = await sql.rows<JobRow>(
    `SELECT * FROM jobs WHERE kind = $1 AND network = $2 AND key = $3`,
    [kind, network, key],
  )
  return toJob(row)
}

/** Inserts a queued job of this process with its idempotency key, or returns the reason why it did not. */
async function claim(
  database: Database,
  worker: string,
  job: NewJob,
  idempotencyKey: string | undefined,
  now: number,
): Promise<Claim> {
  const claimOn = async (sql: Queries): Promise<Claim> => {
    if (await insert(sql, worker, job, now)) return { state: 'claimed', job: newRow(job, now) }
    const holder = (await findByKey(sql, job.kind, job.network, job.key)) as Job
    // It is this claim's own row when only the answer to the first insert was lost.
    return { state: holder.id === job.id ? 'claimed' : 'held', job: holder }
  }
  if (idempotencyKey === undefined) return claimOn(database)
  try {
    return await database.inTransaction(async (sql) => {
      const claimed = await claimOn(sql)
      if (claimed.state !== 'claimed') return claimed
      await sql.run(
        'INSERT INTO idempotency_keys (key, job_id, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [idempotencyKey, job.id, now],
      )
      const [bound] = await sql.rows<{ job_id: string }>(
        'SELECT job_id FROM idempotency_keys WHERE key = $1',
        [idempotencyKey],
      )
      // Thrown, so that the row that was inserted is rolled back.
      if (bound?.job_id !== job.id) throw new KeyConflict()
      return claimed
    })
  } catch (error) {
    if (error instanceof KeyConflict) return { state: 'keyConflict' }
    throw error
  }
}

class KeyConflict extends Error {}

/** Returns whether the row is new. */
async function insert(sql: Queries, worker: string, job: NewJob, now: number): Promise<boolean> {
  const changes = await sql.run(
    `INSERT INTO jobs (id, kind, network, key, digest, "to", calldata, details, seen_block, expires_at,
       state, created_at, updated_at, worker)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
     ON CONFLICT (kind, network, key) DO NOTHING`,
    [...insertValues(job, now), worker],
  )
  return changes === 1
}

/** Keeps a signed transaction, only under the lane's lease and only with jobs of this process. Runs inside a transaction. */
async function recordAttempt(
  sql: Queries,
  worker: string,
  attempt: Attempt,
  epoch: number,
  bearers: readonly GasBearer[],
): Promise<void> {
  const { hash, network, relayer, relayerNonce, createdAt, jobIds } = attempt
  await requireLease(sql, worker, { network, relayer, epoch })
  await requireJobs(sql, worker, jobIds)
  await sql.run(
    `INSERT INTO attempts (hash, network, relayer, relayer_nonce, raw_transaction, gas_limit, max_fee_per_gas,
       max_priority_fee_per_gas, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (hash) DO UPDATE SET is_open = 1`,
    attemptValues(attempt),
  )
  await reserveGas(sql, attempt, bearers)
  if (jobIds.length > 0) {
    await sql.run(
      `WITH member AS (
         INSERT INTO attempt_jobs (hash, position, job_id)
         SELECT $1, position - 1, id FROM unnest($2::text[]) WITH ORDINALITY AS j (id, position)
         ON CONFLICT DO NOTHING)
       UPDATE jobs SET state = 'submitted', "transaction" = $1, updated_at = $3,
         delivered_at = CASE WHEN state = 'submitted' THEN delivered_at END,
         delivered_key = CASE WHEN state = 'submitted' THEN delivered_key END
       WHERE id = ANY($2) AND state IN ('queued', 'submitted')`,
      [hash, jobIds, createdAt],
    )
  }
  await sql.run(
    `INSERT INTO lanes (network, relayer, next_nonce) VALUES ($1, $2, $3)
     ON CONFLICT (network, relayer) DO UPDATE SET next_nonce = greatest(lanes.next_nonce, excluded.next_nonce)`,
    [network, relayer, relayerNonce + 1],
  )
}

/** Locks the jobs until the transaction ends. Rejects with `JobsTakenError` when another process works on some of them. */
async function requireJobs(sql: Queries, worker: string, jobIds: readonly string[]): Promise<void> {
  if (jobIds.length === 0) return
  const own = await sql.rows<{ id: string }>(
    'SELECT id FROM jobs WHERE id = ANY($1) AND worker = $2 ORDER BY id FOR UPDATE',
    [jobIds, worker],
  )
  if (own.length === jobIds.length) return
  const ids = new Set(own.map(({ id }) => id))
  throw new JobsTakenError(jobIds.filter((id) => !ids.has(id)))
}

/**
 * Locks the lease of a lane until the transaction ends: it can be renewed meanwhile, and not taken over.
 * Rejects with `LeaseLostError` when another process holds it, when its epoch is over, or when it has lapsed.
 */
async function requireLease(
  sql: Queries,
  owner: string,
  { network, relayer, epoch }: { network: string; relayer: Address; epoch: number },
): Promise<void> {
  const held = await sql.rows(
    `SELECT 1 FROM leases WHERE name = $1 AND owner = $2 AND epoch = $3 AND lease_until > clock_timestamp()
     FOR KEY SHARE`,
    [laneLease(network, relayer), owner, epoch],
  )
  if (held.length === 0) throw new LeaseLostError(`the lease on ${relayer} is not held any more`)
}

async function findById(sql: Queries, id: string): Promise<Job | undefined> {
  const [row] = await sql.rows<JobRow>('SELECT * FROM jobs WHERE id = $1', [id])
  return toJob(row)
}

async function reopen(
  sql: Queries,
  worker: string,
  failed: Job,
  job: NewJob,
  now: number,
  /** A job found on chain may have been delivered before the database was restored (`asIs`); one that is sent anew was not. */
  delivery: 'asIs' | 'none',
): Promise<Job | undefined> {
  const { digest, to, calldata, details, seenBlock, expiresAt } = job
  const [row] = await sql.rows<JobRow>(
    `UPDATE jobs SET round = round + 1, state = 'queued', digest = $1, "to" = $2, calldata = $3, details = $4,
       seen_block = $5, expires_at = $6, updated_at = $7, reason = NULL, message = NULL, "transaction" = NULL,
       block_number = NULL, gas_cost = NULL, worker = $8,
       delivered_at = CASE WHEN $11 THEN delivered_at END, delivered_key = CASE WHEN $11 THEN delivered_key END
     WHERE id = $9 AND round = $10 AND state = 'failed' RETURNING *`,
    [
      digest,
      to,
      calldata,
      details,
      seenBlock,
      expiresAt,
      now,
      worker,
      failed.id,
      failed.round,
      delivery === 'asIs',
    ],
  )
  return toJob(row)
}

type Outcomes = readonly { id: string; round: number; outcome: Outcome }[]
type Decide = typeof decide

const UNIQUE_VIOLATION = '23505'

/** Runs a transaction. When a transfer in it backs another job already, runs it again and fails the jobs that name it. */
async function keepingTransfersApart<Result>(
  work: (decide: Decide) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(decide)
  } catch (error) {
    if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error
    return work(decideApart)
  }
}

/** Decides one by one, each under a savepoint, so that a transfer that backs another job fails only the job that names it. */
async function decideApart(
  sql: Queries,
  worker: string,
  outcomes: Outcomes,
  now: number,
): Promise<Decision[]> {
  const decided: Decision[] = []
  for (const member of outcomes) {
    await sql.run('SAVEPOINT member')
    try {
      decided.push(...(await decide(sql, worker, [member], now)))
    } catch (error) {
      if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error
      await sql.run('ROLLBACK TO SAVEPOINT member')
      const failed = { ...member, outcome: transferTaken(member.outcome) }
      decided.push(...(await decide(sql, worker, [failed], now)))
    }
  }
  return decided
}

/** Decides jobs of this process that are open and in this round; resolves with the outcomes that it kept. */
async function decide(
  sql: Queries,
  worker: string,
  outcomes: Outcomes,
  now: number,
): Promise<Decision[]> {
  if (outcomes.length === 0) return []
  const column = <Value>(read: (outcome: Outcome) => Value) =>
    outcomes.map(({ outcome }) => read(outcome))
  const rows = await sql.rows<{ id: string }>(
    `UPDATE jobs SET state = o.state, "transaction" = o."transaction", reason = o.reason, message = o.message,
       block_number = o.block_number, gas_cost = o.gas_cost, transfer_log = o.transfer_log, updated_at = $1
     FROM unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[],
         $11::bigint[])
       AS o (id, round, state, "transaction", reason, message, block_number, gas_cost, transfer_log)
     WHERE jobs.id = o.id AND jobs.round = o.round AND jobs.state IN ('queued', 'submitted')
       AND jobs.worker = $10
     RETURNING jobs.id`,
    [
      now,
      outcomes.map(({ id }) => id),
      outcomes.map(({ round }) => round),
      column(({ state }) => state),
      column(({ transaction }) => transaction),
      column(({ reason }) => reason),
      column(({ message }) => message),
      column(({ blockNumber }) => blockNumber),
      column(({ gasCost }) => gasCost?.toString() ?? null),
      worker,
      column(({ transferLog }) => transferLog ?? null),
    ],
  )
  const kept = new Set(rows.map(({ id }) => id))
  return outcomes.filter(({ id }) => kept.has(id)).map(({ id, outcome }) => ({ id, outcome }))
}

async function setNextNonce(
  sql: Queries,
  network: string,
  relayer: Address,
  expected: number | undefined,
  next: number,
): Promise<boolean> {
  if (expected === undefined) {
    const inserted = await sql.run(
      'INSERT INTO lanes (network, relayer, next_nonce) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      [network, relayer, next],
    )
    return inserted === 1
  }
  const updated = await sql.run(
    'UPDATE lanes SET next_nonce = $1 WHERE network = $2 AND relayer = $3 AND next_nonce = $4',
    [next, network, relayer, expected],
  )
  return updated === 1
}

/** A process may have claimed a job a moment ago and not know it yet. */
const UNKNOWN_AFTER_MS = 5_000
/** A lane whose lease ended longer ago belongs to nobody: its key is not in the settings of any process any more. */
const ABANDONED = `interval '15 seconds'`

const isOpen = `state IN ('queued', 'submitted')`

export function createJobSharing(database: Database, worker: string): JobSharing {
  const jobs = async (text: string, values: readonly unknown[]) =>
    (await database.rows<JobRow>(text, values)).map((row) => toJob(row) as Job)

  return {
    isSole: false,
    async offer(jobIds) {
      await database.run(
        `UPDATE jobs SET worker = NULL WHERE id = ANY($1) AND worker = $2 AND ${isOpen}`,
        [jobIds, worker],
      )
    },
    takeOffered: (network, limit) =>
      jobs(
        `UPDATE jobs SET worker = $1 WHERE id IN (
           SELECT id FROM jobs WHERE network = $2 AND worker IS NULL AND ${isOpen}
           ORDER BY created_at LIMIT $3 FOR UPDATE SKIP LOCKED)
         RETURNING *`,
        [worker, network, limit],
      ),
    takeOfLane: (network, relayer) =>
      jobs(
        `UPDATE jobs SET worker = $1 WHERE ${isOpen} AND id IN (
           SELECT m.job_id FROM attempts a JOIN attempt_jobs m ON m.hash = a.hash
           WHERE a.network = $2 AND a.relayer = $3 AND a.is_open = 1)
         RETURNING *`,
        [worker, network, relayer],
      ),
    takeOrphans: (network, known, limit) =>
      jobs(
        `UPDATE jobs SET worker = $1 WHERE id IN (
           SELECT j.id FROM jobs j
           WHERE j.network = $2 AND j.${isOpen} AND j.worker IS NOT NULL
             AND CASE WHEN j.worker = $1
               THEN j.updated_at < ${clockMs} - ${UNKNOWN_AFTER_MS} AND j.id <> ALL($3)
               ELSE NOT EXISTS (SELECT 1 FROM replicas r
                 WHERE r.id = j.worker AND r.alive_until > clock_timestamp()) END
             AND NOT EXISTS (
               SELECT 1 FROM attempt_jobs m JOIN attempts a ON a.hash = m.hash AND a.is_open = 1
                 JOIN leases l ON l.name = 'lane/' || a.network || '/' || a.relayer
               WHERE m.job_id = j.id AND l.owner IS DISTINCT FROM $1
                 AND l.lease_until > clock_timestamp() - ${ABANDONED})
           ORDER BY j.created_at LIMIT $4 FOR UPDATE SKIP LOCKED)
         RETURNING *`,
        [worker, network, known, limit],
      ),
    async withdraw(job, { state, reason, message }, now) {
      const [row] = await jobs(
        `UPDATE jobs SET state = $1, reason = $2, message = $3, gas_cost = '0', updated_at = $4, worker = $5
         WHERE id = $6 AND round = $7 AND state = 'queued' AND "transaction" IS NULL
           AND NOT EXISTS (SELECT 1 FROM attempt_jobs m JOIN attempts a ON a.hash = m.hash
             WHERE m.job_id = jobs.id AND a.is_open = 1)
         RETURNING *`,
        [state, reason, message, now, worker, job.id, job.round],
      )
      return row
    },
    async decidedAmong(jobIds) {
      const rows = await database.rows<{ id: string }>(
        `SELECT id FROM jobs WHERE id = ANY($1) AND NOT ${isOpen}`,
        [jobIds],
      )
      return rows.map(({ id }) => id)
    },
  }
}
