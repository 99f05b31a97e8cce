import type { Address } from 'viem'
import { JobsTakenError, LeaseLostError, laneLease } from '../../../sql/leases.js'
import type { PostgresDatabase } from '../../../sql/postgres/database.js'
import { inGroups } from '../../../sql/postgres/groups.js'
import { dayOf, type GasBudget, GasBudgetError, RESERVED_MS } from '../budgets.js'
import type { Attempt, Decision, Job, NewJob, Outcome, Resolution } from '../settlement-journal.js'
import {
  attemptValues,
  insertValues,
  type JobKey,
  type JobRow,
  type JournalCommits,
  jobColumns,
  type NewClaim,
  OUTCOME_VALUES,
  outcomeValues,
  toJob,
  transferTaken,
} from '../sql-journal.js'

/** Creates the commits of the journal for one of several processes. Each job that it claims is marked with `worker`, its name. */
export function createJournalCommits(database: PostgresDatabase, worker: string): JournalCommits {
  return {
    find: inGroups((keys: readonly JobKey[]) => findAll(database, keys)),
    insert: inGroups(
      (claims: readonly NewClaim[]) => insertAll(database, worker, claims),
      ({ keys }) => keys,
    ),
    insertFound: (job, outcome, now) => insertFound(database, worker, job, outcome, now),
    recordAttempt: (attempt, epoch, budgets = []) =>
      recordAttempt(database, worker, attempt, epoch, budgets),
    resolve: (resolution) => resolve(database, worker, resolution),
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
    isUniqueViolation,
    settledIn: 'settled_in = $1',
    worker,
    probe: (text) => database.once.run(text),
  }
}

async function findAll(
  database: PostgresDatabase,
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

/**
 * Inserts queued jobs of this process with their keys. Returns which of them are new: not one whose own key is held, nor
 * one of which a key is bound.
 */
async function insertAll(
  database: PostgresDatabase,
  worker: string,
  claims: readonly NewClaim[],
): Promise<readonly boolean[]> {
  const columns = columnsOf(
    claims.map(({ job, keys: [key = null, other = null], now }) => [
      ...insertValues(job, now),
      key,
      other,
    ]),
  )
  // In one order, so that groups of two processes which claim the same do not wait for each other in a circle.
  const inserted = await database.rows<{ id: string }>(
    `WITH asked AS (
       SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
         $8::text[], $9::text[], $10::bigint[], $11::bigint[], $12::text[], $13::bigint[], $14::bigint[],
         $15::text[], $16::text[])
         AS a (id, kind, network, key, digest, "to", calldata, details, resource, seen_block, expires_at, state,
           created_at, updated_at, first_key, other_key))
     , inserted AS (
       INSERT INTO jobs (id, kind, network, key, digest, "to", calldata, details, resource, seen_block, expires_at,
         state, created_at, updated_at, worker)
       SELECT id, kind, network, key, digest, "to", calldata, details, resource, seen_block, expires_at, state,
         created_at, updated_at, $17 FROM asked
       WHERE NOT EXISTS (SELECT 1 FROM idempotency_keys k WHERE k.key = asked.first_key)
         AND NOT EXISTS (SELECT 1 FROM idempotency_keys k WHERE k.key = asked.other_key)
       ORDER BY kind, network, key
       ON CONFLICT (kind, network, key) DO NOTHING RETURNING id)
     , bound AS (
       INSERT INTO idempotency_keys (key, job_id, created_at)
       SELECT k.key, asked.id, asked.created_at FROM asked JOIN inserted ON inserted.id = asked.id,
         unnest(ARRAY[asked.first_key, asked.other_key]) AS k (key)
       WHERE k.key IS NOT NULL)
     SELECT id FROM inserted`,
    [...columns, worker],
  )
  const ids = new Set(inserted.map(({ id }) => id))
  return claims.map(({ job }) => ids.has(job.id))
}

/** Inserts a decided job, with the news that a trigger queues where a job is decided later; `undefined` when its key is held. */
async function insertFound(
  database: PostgresDatabase,
  worker: string,
  job: NewJob,
  outcome: Outcome,
  now: number,
): Promise<Job | undefined> {
  const [row] = await database.rows<JobRow>(
    `WITH found AS (
       INSERT INTO jobs (id, kind, network, key, digest, "to", calldata, details, resource, seen_block, expires_at,
         state, created_at, updated_at, worker, "transaction", reason, message, block_number, gas_cost, transfer_log,
         attestation)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)
       ON CONFLICT (kind, network, key) DO NOTHING RETURNING ${jobColumns})
     , queued AS (
       INSERT INTO event_queue (type, subject, resource, at)
       SELECT CASE state WHEN 'confirmed' THEN 'payment.settled' ELSE 'payment.failed' END, id,
         CASE state WHEN 'failed' THEN $23 END, "updatedAt"
       FROM found WHERE kind IN ('exact', 'permit2'))
     SELECT * FROM found`,
    [
      ...insertValues(job, now, outcome.state),
      worker,
      ...outcomeValues(outcome),
      job.resource ?? null,
    ],
  )
  return row && toJob(row)
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
  database: PostgresDatabase,
  worker: string,
  attempt: Attempt,
  epoch: number,
  budgets: readonly GasBudget[],
): Promise<void> {
  const { network, relayer, createdAt, jobIds } = attempt
  // The budgets follow `findLack`. Processes that ask for room in the same budget take turns in `gas_of_budgets`.
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
       FROM unnest($14::text[], $15::numeric[], $16::numeric[], $17::numeric[]) WITH ORDINALITY
           AS b (name, amount, most, least, place)
         JOIN gas_of_budgets($14, ARRAY(SELECT name FROM unnest($14::text[], $16::numeric[]) AS r (name, most)
           WHERE most IS NOT NULL), $5, $18, $19, $6, $7) AS u ON u.budget = b.name)
     , judged AS MATERIALIZED (
       SELECT *, burnt + least > most AS is_spent, burnt + reserved + least > most AS is_full FROM budget)
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
       INSERT INTO gas_risks (hash, budget, amount)
       SELECT $4, name, amount FROM kept, budget ON CONFLICT DO NOTHING)
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
      budgets.map(({ limit }) => limit?.toString() ?? null),
      budgets.map(({ amount, least = amount }) => least.toString()),
      dayOf(createdAt),
      createdAt - RESERVED_MS,
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
  database: PostgresDatabase,
  worker: string,
  resolution: Resolution,
): Promise<Decision[]> {
  for (let { outcomes } = resolution; ; ) {
    try {
      return await decide(database, worker, { ...resolution, outcomes })
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

/** Decides jobs of this process that are open and in their round; resolves with the outcomes that it kept. */
async function decide(
  database: PostgresDatabase,
  worker: string,
  { slot, outcomes, gasCharge, customers, now }: Resolution,
): Promise<Decision[]> {
  const sums = gasCharge?.sums ?? new Map<string, bigint>()
  // A statement whose answer was lost is run again, and must not book again.
  const [row] = await database.rows<{ held: number; decided: string[] }>(
    `WITH slot AS MATERIALIZED (
       SELECT CASE WHEN $1::text IS NULL THEN 0 ELSE close_slot($1, $2, $3, $4, $5, $6) END AS closed)
     , held AS MATERIALIZED (SELECT closed FROM slot WHERE closed IS NOT NULL)
     , decided AS (
       UPDATE jobs SET state = o.state, "transaction" = o."transaction", reason = o.reason, message = o.message,
         block_number = o.block_number, gas_cost = o.gas_cost, transfer_log = o.transfer_log, attestation = o.attestation,
         resource = CASE WHEN o.state = 'confirmed' THEN jobs.resource END, updated_at = $7
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
     , served AS (
       INSERT INTO customers (network, pay_to, payer, day, last_day)
       SELECT DISTINCT $22, pay_to, payer, $9, $9 FROM unnest($23::text[], $24::text[]) AS c (pay_to, payer) ORDER BY 2, 3
       ON CONFLICT (network, pay_to, payer) DO UPDATE SET last_day = excluded.last_day
       WHERE customers.last_day < excluded.last_day)
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
      customers?.network ?? null,
      customers?.pairs.map(({ payTo }) => payTo) ?? [],
      customers?.pairs.map(({ payer }) => payer) ?? [],
    ],
  )
  const { held, decided } = row as NonNullable<typeof row>
  if (slot !== undefined && held === 0) throw leaseLost(slot.relayer)
  const kept = new Set(decided)
  return outcomes.filter(({ id }) => kept.has(id)).map(({ id, outcome }) => ({ id, outcome }))
}

/** Returns the ids of outcomes whose transfer backs another job, or an earlier one of them. */
async function findTaken(database: PostgresDatabase, outcomes: Outcomes): Promise<Set<string>> {
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

/** Returns the columns of rows as arrays, the parameters of `unnest`; `width` is their number. */
function columnsOf(
  rows: readonly (readonly unknown[])[],
  width = rows[0]?.length ?? 0,
): unknown[][] {
  return Array.from({ length: width }, (_, i) => rows.map((row) => row[i]))
}
