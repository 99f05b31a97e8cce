import type { Address, Hex } from 'viem'
import { JobsTakenError, LeaseLostError, laneLease } from '../../../sql/leases.js'
import type { Database } from '../../../sql/postgres/database.js'
import { inGroups } from '../../../sql/postgres/groups.js'
import { clockMs } from '../../../sql/postgres/sql.js'
import {
  dayOf,
  type GasBudget,
  GasBudgetError,
  type GasCharge,
  gasSums,
  RESERVED_MS,
  type ReservedBudget,
} from '../budgets.js'
import type {
  Attempt,
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

/**
 * Keeps the journal for one of several processes. `worker` is the name of this one; the jobs it claims are its own. Every
 * write is one statement: a process that stops in between leaves no lock behind that others would wait for.
 */
export function createSettlementJournal(database: Database, worker: string): SettlementJournal {
  const find = inGroups((keys: readonly JobKey[]) => findAll(database, keys))
  const insert = inGroups(
    (claims: readonly NewClaim[]) => insertAll(database, worker, claims),
    ({ idempotencyKey, identifierKey }) =>
      [idempotencyKey, identifierKey].filter((key) => key !== undefined),
  )

  return {
    findJob: (kind, network, key) => find({ kind, network, key }),
    async findJobById(id) {
      const text = `SELECT ${jobColumns} FROM jobs WHERE id = $1`
      const [row] = await database.rows<JobRow>(text, [id])
      return row && toJob(row)
    },
    async claim(job, idempotencyKey, now, identifierKey) {
      try {
        if (await insert({ job, idempotencyKey, identifierKey, now })) {
          return { state: 'claimed', job: newRow(job, now) }
        }
      } catch (error) {
        // Another payment has bound one of the keys at this moment.
        const hasKey = idempotencyKey !== undefined || identifierKey !== undefined
        if (!hasKey || !isUniqueViolation(error)) throw error
      }
      const holder = await find(job)
      if (holder === undefined) return { state: 'keyConflict' }
      // It is this claim's own row when only the answer to the first insert was lost.
      return { state: holder.id === job.id ? 'claimed' : 'held', job: holder }
    },
    reopen: (failed, job, now) => reopen(database, worker, failed, job, now),
    async recordFound(job, failed, outcome, now) {
      const record = (outcome: Outcome) =>
        failed === undefined
          ? insertFound(database, worker, job, outcome, now)
          : reopen(database, worker, failed, job, now, outcome)
      try {
        return await record(outcome)
      } catch (error) {
        if (!isUniqueViolation(error)) throw error
        return record(transferTaken(outcome))
      }
    },
    async findByTransaction(transaction) {
      const rows = await database.rows<JobRow>(
        `SELECT ${jobColumns} FROM attempt_jobs m JOIN jobs ON jobs.id = m.job_id WHERE m.hash = $1 ORDER BY m.position`,
        [transaction],
      )
      const found = await database.rows<JobRow>(
        `SELECT ${jobColumns} FROM jobs WHERE settled_in = $1 ORDER BY transfer_log, created_at`,
        [transaction],
      )
      const known = new Set(rows.map(({ id }) => id))
      return [...rows, ...found.filter(({ id }) => !known.has(id))].map(toJob)
    },
    async signedAt(transaction) {
      const text = 'SELECT created_at FROM attempts WHERE hash = $1'
      const [row] = await database.rows<{ created_at: number }>(text, [transaction])
      return row?.created_at
    },
    recordAttempt: (attempt, epoch, budgets = []) =>
      recordAttempt(database, worker, attempt, epoch, budgets),
    async nameTransaction({ id, round }, from, to, now, message = null) {
      // Also true where the row names it already: the statement may run twice.
      const changes = await database.run(
        `UPDATE jobs SET state = $1, "transaction" = $2, updated_at = $3, message = $7
         WHERE id = $4 AND round = $5 AND is_open
           AND ("transaction" IS NOT DISTINCT FROM $6 OR "transaction" IS NOT DISTINCT FROM $2)`,
        [to === null ? 'queued' : 'submitted', to, now, id, round, from, message],
      )
      return changes === 1
    },
    async openAttempts(network, relayer) {
      const rows = await database.rows<AttemptRow>(
        `SELECT ${attemptColumns},
           ARRAY(SELECT job_id FROM attempt_jobs j WHERE j.hash = a.hash ORDER BY position) AS "jobIds"
         FROM attempts a WHERE network = $1 AND relayer = $2 AND is_open = 1
         ORDER BY relayer_nonce, created_at`,
        [network, relayer],
      )
      return rows.map(toAttempt)
    },
    async mayLand(network, jobId) {
      const rows = await database.rows(
        `SELECT 1 FROM attempt_jobs m JOIN attempts a ON a.hash = m.hash
         WHERE m.job_id = $1 AND a.network = $2 AND a.is_open = 1 LIMIT 1`,
        [jobId, network],
      )
      return rows.length > 0
    },
    async findSigned(network, jobId) {
      const [row] = await database.rows<{ hash: Hex }>(
        `SELECT a.hash FROM attempt_jobs m JOIN attempts a ON a.hash = m.hash
         WHERE m.job_id = $1 AND a.network = $2 AND a.is_open = 1
         ORDER BY a.created_at DESC LIMIT 1`,
        [jobId, network],
      )
      return row?.hash
    },
    resolve: (resolution) => resolve(database, worker, resolution),
    async findNextNonce(network, relayer) {
      const [row] = await database.rows<{ next_nonce: number }>(
        'SELECT next_nonce FROM lanes WHERE network = $1 AND relayer = $2',
        [network, relayer],
      )
      return row?.next_nonce
    },
    async setNextNonce(network, relayer, expected, next, epoch) {
      const [row] = await database.rows<{ held: number; changed: number }>(
        `WITH held AS MATERIALIZED (${lockedLease})
         , inserted AS (
           INSERT INTO lanes (network, relayer, next_nonce) SELECT $4, $5, $6::bigint FROM held
           WHERE $7::bigint IS NULL ON CONFLICT DO NOTHING RETURNING 1)
         , updated AS (
           UPDATE lanes SET next_nonce = $6 FROM held
           WHERE network = $4 AND relayer = $5 AND next_nonce = $7 RETURNING 1)
         SELECT (SELECT count(*) FROM held) AS held,
           (SELECT count(*) FROM inserted) + (SELECT count(*) FROM updated) AS changed`,
        [laneLease(network, relayer), worker, epoch, network, relayer, next, expected ?? null],
      )
      if (row?.held === 0) throw leaseLost(relayer)
      return row?.changed === 1
    },
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

type JobKey = Pick<Job, 'kind' | 'network' | 'key'>

async function findAll(
  database: Database,
  keys: readonly JobKey[],
): Promise<readonly (Job | undefined)[]> {
  const rows = await database.rows<JobRow & { place: number }>(
    `SELECT a.place, j.*
     FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS a (kind, network, key, place)
       CROSS JOIN LATERAL (SELECT ${jobColumns} FROM jobs
         WHERE jobs.kind = a.kind AND jobs.network = a.network AND jobs.key = a.key LIMIT 1) AS j`,
    columnsOf(keys.map(({ kind, network, key }) => [kind, network, key])),
  )
  const found = new Map(rows.map(({ place, ...row }) => [place - 1, toJob(row)]))
  return keys.map((_, i) => found.get(i))
}

interface NewClaim {
  job: NewJob
  idempotencyKey: string | undefined
  identifierKey: string | undefined
  now: number
}

/**
 * Inserts queued jobs of this process with their keys. Returns which of them are new: not one whose own key is held, nor
 * one of which a key is bound.
 */
async function insertAll(
  database: Database,
  worker: string,
  claims: readonly NewClaim[],
): Promise<readonly boolean[]> {
  const columns = columnsOf(
    claims.map(({ job, idempotencyKey, identifierKey, now }) => [
      ...insertValues(job, now),
      idempotencyKey ?? null,
      identifierKey ?? null,
    ]),
  )
  // In one order, so that groups of two processes which claim the same do not wait for each other in a circle.
  const inserted = await database.rows<{ id: string }>(
    `WITH asked AS (
       SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
         $8::text[], $9::bigint[], $10::bigint[], $11::text[], $12::bigint[], $13::bigint[], $14::text[],
         $15::text[])
         AS a (id, kind, network, key, digest, "to", calldata, details, seen_block, expires_at, state, created_at,
           updated_at, idempotency_key, identifier_key))
     , inserted AS (
       INSERT INTO jobs (id, kind, network, key, digest, "to", calldata, details, seen_block, expires_at, state,
         created_at, updated_at, worker)
       SELECT id, kind, network, key, digest, "to", calldata, details, seen_block, expires_at, state, created_at,
         updated_at, $16 FROM asked
       WHERE NOT EXISTS (SELECT 1 FROM idempotency_keys k WHERE k.key = asked.idempotency_key)
         AND NOT EXISTS (SELECT 1 FROM idempotency_keys k WHERE k.key = asked.identifier_key)
       ORDER BY kind, network, key
       ON CONFLICT (kind, network, key) DO NOTHING RETURNING id)
     , bound AS (
       INSERT INTO idempotency_keys (key, job_id, created_at)
       SELECT k.key, asked.id, asked.created_at FROM asked JOIN inserted ON inserted.id = asked.id,
         unnest(ARRAY[asked.idempotency_key, asked.identifier_key]) AS k (key)
       WHERE k.key IS NOT NULL)
     SELECT id FROM inserted`,
    [...columns, worker],
  )
  const ids = new Set(inserted.map(({ id }) => id))
  return claims.map(({ job }) => ids.has(job.id))
}

/** Inserts a decided job; `undefined` when its key is held. */
async function insertFound(
  database: Database,
  worker: string,
  job: NewJob,
  outcome: Outcome,
  now: number,
): Promise<Job | undefined> {
  const [row] = await database.rows<JobRow>(
    `INSERT INTO jobs (id, kind, network, key, digest, "to", calldata, details, seen_block, expires_at, state,
       created_at, updated_at, worker, "transaction", reason, message, block_number, gas_cost, transfer_log,
       attestation)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
     ON CONFLICT (kind, network, key) DO NOTHING RETURNING ${jobColumns}`,
    [...insertValues(job, now, outcome.state), worker, ...outcomeValues(outcome)],
  )
  return row && toJob(row)
}

/** Opens a failed job anew, or decides it with the outcome that was found. */
async function reopen(
  database: Database,
  worker: string,
  failed: Job,
  job: NewJob,
  now: number,
  found?: Outcome,
): Promise<Job | undefined> {
  const { digest, to, calldata, details, seenBlock, expiresAt } = job
  // A job found on chain may have been delivered before the database was restored; one that is sent anew was not.
  const [row] = await database.rows<JobRow>(
    `UPDATE jobs SET round = round + 1, state = $11, digest = $1, "to" = $2, calldata = $3, details = $4,
       seen_block = $5, expires_at = $6, updated_at = $7, worker = $8, "transaction" = $12, reason = $13,
       message = $14, block_number = $15, gas_cost = $16, transfer_log = $17, attestation = $18,
       delivered_at = CASE WHEN $11 = 'queued' THEN NULL ELSE delivered_at END,
       delivered_key = CASE WHEN $11 = 'queued' THEN NULL ELSE delivered_key END
     WHERE id = $9 AND round = $10 AND state = 'failed' RETURNING ${jobColumns}`,
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
      found?.state ?? 'queued',
      ...outcomeValues(found),
    ],
  )
  return row && toJob(row)
}

/** The number of columns that an outcome has apart from its state. */
const OUTCOME_VALUES = 7

/** Returns the columns of an outcome after its state, in the order of the statements. */
function outcomeValues(outcome?: Outcome) {
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

/**
 * Selects the lease ($1) of this process ($2) in this epoch ($3), and locks it until the statement is committed: it can be
 * renewed meanwhile, and not taken over. What is written under a lease is written one by one.
 */
const lockedLease = `SELECT 1 FROM (SELECT pg_advisory_xact_lock(hashtextextended($1, 0))) AS turn, leases
  WHERE name = $1 AND owner = $2 AND epoch = $3 AND lease_until > clock_timestamp() FOR KEY SHARE OF leases`

const leaseLost = (relayer: Address) =>
  new LeaseLostError(`the lease on ${relayer} is not held any more`)

/** Keeps a signed transaction, if the lane's lease is held, all its jobs are this process's own, and the budgets have room for it. */
async function recordAttempt(
  database: Database,
  worker: string,
  attempt: Attempt,
  epoch: number,
  budgets: readonly GasBudget[],
): Promise<void> {
  const { network, relayer, createdAt, jobIds } = attempt
  // The budgets follow `requireBudget`. Processes that reserve for the same budget take turns in `gas_of_bearers`.
  const [row] = await database.rows<{
    held: number
    own: string[]
    refused: number | null
    burnt: string | null
    is_spent: boolean | null
  }>(
    `WITH held AS MATERIALIZED (${lockedLease})
     , own AS MATERIALIZED (
       SELECT id FROM jobs WHERE id = ANY($13::text[]) AND worker = $2 AND EXISTS (SELECT 1 FROM held)
       ORDER BY id FOR UPDATE)
     , budget AS MATERIALIZED (
       SELECT b.*, u.burnt, u.reserved
       FROM unnest($14::text[], $15::numeric[], $16::numeric[], $17::bigint[], $20::numeric[]) WITH ORDINALITY
           AS b (name, amount, most, is_strict, last, place)
         JOIN gas_of_bearers($14, ARRAY(SELECT name FROM unnest($14::text[], $15::numeric[]) AS r (name, amount)
           WHERE amount > 0), $5, $18, $19, $6, $7) AS u ON u.bearer = b.name)
     , judged AS MATERIALIZED (
       SELECT *, CASE WHEN is_strict = 1 THEN burnt + amount > most ELSE burnt >= most END AS is_spent,
         amount > 0 AND CASE WHEN is_strict = 1 THEN burnt + reserved + amount > most
           ELSE burnt + reserved + amount - last >= most END AS is_full
       FROM budget)
     , refused AS MATERIALIZED (SELECT * FROM judged WHERE is_spent OR is_full ORDER BY place LIMIT 1)
     , kept AS MATERIALIZED (
       SELECT 1 WHERE EXISTS (SELECT 1 FROM held) AND (SELECT count(*) FROM own) = cardinality($13::text[])
         AND NOT EXISTS (SELECT 1 FROM refused))
     , attempt AS (
       INSERT INTO attempts (hash, network, relayer, relayer_nonce, raw_transaction, gas_limit, max_fee_per_gas,
         max_priority_fee_per_gas, created_at)
       SELECT $4, $5, $6, $7::bigint, $8, $9, $10, $11, $12::bigint FROM kept
       ON CONFLICT (hash) DO UPDATE SET is_open = 1, raw_transaction = excluded.raw_transaction)
     , risk AS (
       INSERT INTO gas_risks (hash, bearer, amount, is_strict)
       SELECT $4, name, amount, is_strict FROM kept, budget WHERE amount > 0 ON CONFLICT DO NOTHING)
     , member AS (
       INSERT INTO attempt_jobs (hash, position, job_id)
       SELECT $4, place - 1, id FROM kept, unnest($13::text[]) WITH ORDINALITY AS j (id, place) ON CONFLICT DO NOTHING)
     , submitted AS (
       UPDATE jobs SET state = 'submitted', updated_at = $12,
         "transaction" = CASE WHEN message IS NULL THEN $4 ELSE "transaction" END,
         delivered_at = CASE WHEN state = 'submitted' THEN delivered_at END,
         delivered_key = CASE WHEN state = 'submitted' THEN delivered_key END
       FROM kept WHERE id = ANY($13::text[]) AND is_open)
     , lane AS (
       INSERT INTO lanes (network, relayer, next_nonce) SELECT $5, $6, $7::bigint + 1 FROM kept
       ON CONFLICT (network, relayer) DO UPDATE SET next_nonce = greatest(lanes.next_nonce, excluded.next_nonce))
     SELECT (SELECT count(*) FROM held) AS held, ARRAY(SELECT id FROM own) AS own, place AS refused, burnt, is_spent
     FROM (SELECT) AS one LEFT JOIN refused ON true`,
    [
      laneLease(network, relayer),
      worker,
      epoch,
      ...attemptValues(attempt),
      jobIds,
      budgets.map(({ name }) => name),
      budgets.map(({ amount }) => amount.toString()),
      budgets.map(({ limit }) => limit.toString()),
      budgets.map(({ isStrict }) => Number(isStrict)),
      dayOf(createdAt),
      createdAt - RESERVED_MS,
      budgets.map(({ amount, last = amount }) => last.toString()),
    ],
  )
  const { held, own, refused, burnt, is_spent: isSpent } = row as NonNullable<typeof row>
  if (held === 0) throw leaseLost(relayer)
  if (own.length < jobIds.length) throw new JobsTakenError(jobIds.filter((id) => !own.includes(id)))
  const budget = refused === null ? undefined : budgets[refused - 1]
  if (budget !== undefined) throw new GasBudgetError(budget, BigInt(burnt ?? 0), isSpent === true)
}

type Outcomes = Resolution['outcomes']

const isUniqueViolation = (error: unknown) => (error as { code?: string }).code === '23505'

/** Closes the slot and decides jobs. Where a transfer backs another job already, the jobs that name it fail instead. */
async function resolve(
  database: Database,
  worker: string,
  resolution: Resolution,
): Promise<Decision[]> {
  const sums = await sumsOf(database, resolution.gasCharge)
  for (let { outcomes } = resolution; ; ) {
    try {
      return await decide(database, worker, { ...resolution, outcomes }, sums)
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      const taken = await findTaken(database, outcomes)
      if (taken.size === 0) throw error
      outcomes = outcomes.map((it) =>
        taken.has(it.id) ? { ...it, outcome: transferTaken(it.outcome) } : it,
      )
    }
  }
}

/** Returns what a charge adds to the sums of the day. The budgets of an attempt do not change until its slot closes. */
async function sumsOf(
  database: Database,
  gasCharge: GasCharge | undefined,
): Promise<ReadonlyMap<string, bigint>> {
  if (gasCharge === undefined) return new Map()
  const { reserved } = gasCharge
  const text = 'SELECT bearer, is_strict FROM gas_risks WHERE hash = $1'
  const budgets =
    reserved === undefined ? [] : await database.rows<ReservedBudget>(text, [reserved.hash])
  return gasSums(gasCharge, budgets)
}

/** Decides jobs of this process that are open and in their round; resolves with the outcomes that it kept. */
async function decide(
  database: Database,
  worker: string,
  { slot, outcomes, gasCharge, now }: Resolution,
  sums: ReadonlyMap<string, bigint>,
): Promise<Decision[]> {
  // A statement whose answer was lost is run again, and must not book again.
  const [row] = await database.rows<{ held: number; decided: string[] }>(
    `WITH slot AS MATERIALIZED (
       SELECT CASE WHEN $1::text IS NULL THEN 0 ELSE close_slot($1, $2, $3, $4, $5, $6) END AS closed)
     , held AS MATERIALIZED (SELECT closed FROM slot WHERE closed IS NOT NULL)
     , decided AS (
       UPDATE jobs SET state = o.state, "transaction" = o."transaction", reason = o.reason, message = o.message,
         block_number = o.block_number, gas_cost = o.gas_cost, transfer_log = o.transfer_log, attestation = o.attestation,
         updated_at = $7
       FROM held, unnest($12::text[], $13::bigint[], $14::text[], $15::text[], $16::text[], $17::text[], $18::bigint[],
           $19::text[], $20::bigint[], $21::text[])
         AS o (id, round, state, "transaction", reason, message, block_number, gas_cost, transfer_log, attestation)
       WHERE jobs.id = o.id AND jobs.round = o.round AND jobs.is_open AND jobs.worker = $2 RETURNING jobs.id)
     , booked AS (
       INSERT INTO gas_spending (network, day, payer, amount)
       SELECT $8, $9, payer, amount FROM unnest($10::text[], $11::numeric[]) AS s (payer, amount)
       WHERE EXISTS (SELECT 1 FROM held WHERE closed > 0) OR EXISTS (SELECT 1 FROM decided)
         OR ($1::text IS NULL AND cardinality($12::text[]) = 0)
       ORDER BY payer
       ON CONFLICT (network, day, payer) DO UPDATE SET amount = gas_spending.amount + excluded.amount)
     SELECT (SELECT count(*) FROM held) AS held, ARRAY(SELECT id FROM decided) AS decided`,
    [
      slot === undefined ? null : laneLease(slot.network, slot.relayer),
      worker,
      slot?.epoch ?? null,
      slot?.network ?? null,
      slot?.relayer ?? null,
      slot?.relayerNonce ?? null,
      now,
      gasCharge?.network ?? null,
      dayOf(now),
      [...sums.keys()],
      Array.from(sums.values(), String),
      outcomes.map(({ id }) => id),
      outcomes.map(({ round }) => round),
      outcomes.map(({ outcome }) => outcome.state),
      ...columnsOf(
        outcomes.map(({ outcome }) => outcomeValues(outcome)),
        OUTCOME_VALUES,
      ),
    ],
  )
  const { held, decided } = row as NonNullable<typeof row>
  if (slot !== undefined && held === 0) throw leaseLost(slot.relayer)
  const kept = new Set(decided)
  return outcomes.filter(({ id }) => kept.has(id)).map(({ id, outcome }) => ({ id, outcome }))
}

/** Returns the ids of outcomes whose transfer backs another job, or an earlier one of them. */
async function findTaken(database: Database, outcomes: Outcomes): Promise<Set<string>> {
  const backed = outcomes.filter(({ outcome }) => outcome.transferLog !== undefined)
  if (backed.length === 0) return new Set()
  const rows = await database.rows<{ id: string }>(
    `SELECT o.id FROM unnest($1::text[], $2::text[], $3::bigint[]) AS o (id, "transaction", transfer_log)
       JOIN jobs own ON own.id = o.id
       JOIN jobs j ON j.settled_in = o."transaction" AND j.transfer_log = o.transfer_log
         AND j.network = own.network AND j.id <> o.id`,
    columnsOf(backed.map(({ id, outcome }) => [id, outcome.transaction, outcome.transferLog])),
  )
  const taken = new Set(rows.map(({ id }) => id))
  const seen = new Set<string>()
  for (const { id, outcome } of backed) {
    const transfer = `${outcome.transaction}/${outcome.transferLog}`
    if (seen.has(transfer)) taken.add(id)
    seen.add(transfer)
  }
  return taken
}

/** A process may have claimed a job a moment ago and not know it yet. */
const UNKNOWN_AFTER_MS = 5_000
/** A lane whose lease ended longer ago belongs to nobody: its key is not in the settings of any process any more. */
const ABANDONED = `interval '15 seconds'`

export function createJobSharing(database: Database, worker: string): JobSharing {
  const jobs = async (text: string, values: readonly unknown[]) =>
    (await database.rows<JobRow>(text, values)).map(toJob)

  return {
    isSole: false,
    async offer(jobIds) {
      await database.run(
        `UPDATE jobs SET worker = NULL WHERE id = ANY($1) AND worker = $2 AND is_open`,
        [jobIds, worker],
      )
    },
    async takeOffered(network, limit, mayTake = () => true) {
      const offered = await jobs(
        // Payers take turns. What stands before the nonce in a key names the payer.
        `SELECT ${jobColumns} FROM jobs WHERE id IN (
           SELECT id FROM jobs WHERE network = $1 AND worker IS NULL AND is_open
           ORDER BY row_number() OVER (
             PARTITION BY regexp_replace(key, '/[^/]*$', '') ORDER BY created_at), created_at
           LIMIT $2)`,
        [network, limit],
      )
      const ids = offered.filter(mayTake).map(({ id }) => id)
      if (ids.length === 0) return []
      // Another process may have been quicker with some of them.
      return jobs(
        `UPDATE jobs SET worker = $1 WHERE id IN (
           SELECT id FROM jobs WHERE id = ANY($2) AND worker IS NULL AND is_open
           FOR UPDATE SKIP LOCKED)
         RETURNING ${jobColumns}`,
        [worker, ids],
      )
    },
    takeOfLane: (network, relayer) =>
      jobs(
        `UPDATE jobs SET worker = $1 WHERE is_open AND id IN (
           SELECT m.job_id FROM attempts a JOIN attempt_jobs m ON m.hash = a.hash
           WHERE a.network = $2 AND a.relayer = $3 AND a.is_open = 1)
         RETURNING ${jobColumns}`,
        [worker, network, relayer],
      ),
    takeOrphans: (network, known, limit) =>
      jobs(
        `UPDATE jobs SET worker = $1 WHERE id IN (
           SELECT j.id FROM jobs j
           WHERE j.network = $2 AND j.is_open AND j.worker IS NOT NULL
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
         RETURNING ${jobColumns}`,
        [worker, network, known, limit],
      ),
    async withdraw(job, { state, reason, message }, now) {
      const [row] = await jobs(
        `UPDATE jobs SET state = $1, reason = $2, message = $3, gas_cost = '0', updated_at = $4, worker = $5
         WHERE id = $6 AND round = $7 AND state = 'queued' AND "transaction" IS NULL
           AND NOT EXISTS (SELECT 1 FROM attempt_jobs m JOIN attempts a ON a.hash = m.hash
             WHERE m.job_id = jobs.id AND a.is_open = 1)
         RETURNING ${jobColumns}`,
        [state, reason, message, now, worker, job.id, job.round],
      )
      return row
    },
    async decidedAmong(jobIds) {
      const rows = await database.rows<{ id: string }>(
        `SELECT id FROM jobs WHERE id = ANY($1) AND NOT is_open`,
        [jobIds],
      )
      return rows.map(({ id }) => id)
    },
  }
}

/** Returns the columns of rows as arrays, the parameters of `unnest`; `width` is their number. */
function columnsOf(
  rows: readonly (readonly unknown[])[],
  width = rows[0]?.length ?? 0,
): unknown[][] {
  return Array.from({ length: width }, (_, i) => rows.map((row) => row[i]))
}
