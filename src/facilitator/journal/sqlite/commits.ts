import type { SqliteDatabase } from '../../../sql/sqlite/database.js'
import type { GroupCommit } from '../../../sql/sqlite/group-commit.js'
import { dayOf, findLack, type GasBudget, type GasCharge, RESERVED_MS } from '../budgets.js'
import type { Attempt, Decision, NewJob, Outcome, Resolution } from '../settlement-journal.js'
import {
  attemptValues,
  insertValues,
  type JobKey,
  type JobRow,
  type JournalCommits,
  jobColumns,
  outcomeValues,
  toJob,
  transferTaken,
} from '../sql-journal.js'

/** Two rows have a key in common. */
const UNIQUE = ['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY']
const isUniqueViolation = (error: unknown) =>
  UNIQUE.includes((error as { code?: string }).code ?? '')

/** Creates the commits of the journal in a file that one process has. */
export function createJournalCommits(
  database: SqliteDatabase,
  commit: GroupCommit,
): JournalCommits {
  const sql = prepareStatements(database)
  const book = createGasBooking(database)
  const reserve = createGasReservation(database)

  return {
    async find({ kind, network, key }: JobKey) {
      const row = sql.findJob.get(kind, network, key) as JobRow | undefined
      return row && toJob(row)
    },
    // Nothing is sent before its attempt is recorded, which puts the claim on disk as well.
    insert: ({ job, keys, now }) =>
      commit.writeUnsynced(() => {
        const isNew = insert(job, now)
        // A key that is bound throws, so that the row is rolled back.
        if (isNew) for (const key of keys) sql.insertKey.run(key, job.id, now)
        return isNew
      }),
    insertFound: (job, outcome, now) =>
      commit.write(() => {
        if (!insert(job, now)) return undefined
        decide(job.id, 0, outcome, now)
        return toJob(sql.findJobById.get(job.id) as JobRow)
      }),
    recordAttempt: (attempt, _epoch, budgets = []) =>
      commit.write(() => recordAttempt(attempt, budgets)),
    resolve(resolution) {
      const write = () => resolve(resolution)
      return isOnChain(resolution) ? commit.writeUnsynced(write) : commit.write(write)
    },
    setNextNonce: (network, relayer, expected, next) =>
      commit.write(() => {
        const { changes } =
          expected === undefined
            ? sql.insertLane.run(network, relayer, next)
            : sql.updateLane.run(next, network, relayer, expected)
        return changes === 1
      }),
    isUniqueViolation,
    settledIn: `"transaction" = $1 AND state = 'confirmed'`,
    worker: undefined,
    probe: (text) => commit.write(() => database.prepare(text).run()),
  }

  function insert(job: NewJob, now: number): boolean {
    return sql.insertJob.run(...insertValues(job, now)).changes === 1
  }

  function resolve({ slot, outcomes, gasCharge, customers, now }: Resolution): Decision[] {
    if (gasCharge !== undefined) book(gasCharge, dayOf(now))
    for (const { payTo, payer } of customers?.pairs ?? []) {
      sql.insertCustomer.run(customers?.network, payTo, payer, dayOf(now), dayOf(now))
    }
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
      if (!isUniqueViolation(error)) throw error
      const failed = transferTaken(outcome)
      return writeOutcome(id, round, failed, now) ? failed : undefined
    }
  }

  function writeOutcome(id: string, round: number, outcome: Outcome, now: number): boolean {
    const { state } = outcome
    const values = [state, ...outcomeValues(outcome), state, now, id, round]
    return sql.decideJob.run(...values).changes === 1
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

/** Books gas inside a transaction that is already open. */
function createGasBooking(database: SqliteDatabase): (gasCharge: GasCharge, day: string) => void {
  const read = prepareRead(database)
  const write = database.prepare(
    `INSERT INTO gas_spending (network, day, payer, amount) VALUES (?, ?, ?, ?)
     ON CONFLICT (network, day, payer) DO UPDATE SET amount = excluded.amount`,
  )
  return ({ network, sums }, day) => {
    for (const [name, amount] of sums) {
      write.run(network, day, name, (read(network, day, name) + amount).toString())
    }
  }
}

/** Reserves what an attempt may burn, inside a transaction that is already open. Throws `GasBudgetError`. */
function createGasReservation(
  database: SqliteDatabase,
): (attempt: Attempt, budgets: readonly GasBudget[]) => void {
  const read = prepareRead(database)
  const underWay = database.prepare(
    `SELECT a.relayer, a.relayer_nonce, r.amount FROM gas_risks r JOIN attempts a ON a.hash = r.hash
     WHERE r.budget = ? AND a.network = ? AND a.is_open = 1 AND a.created_at > ?
       AND NOT (a.relayer = ? AND a.relayer_nonce = ?)`,
  )
  const insert = database.prepare(
    'INSERT INTO gas_risks (hash, budget, amount) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  )

  /** Adds up the dearest attempt of each slot, of which only one can land. */
  function reservedFor(name: string, attempt: Attempt): bigint {
    const { network, relayer, relayerNonce, createdAt } = attempt
    const rows = underWay.all(name, network, createdAt - RESERVED_MS, relayer, relayerNonce)
    const slots = new Map<string, bigint>()
    for (const row of rows as { relayer: string; relayer_nonce: number; amount: string }[]) {
      const [slot, amount] = [`${row.relayer}/${row.relayer_nonce}`, BigInt(row.amount)]
      if (amount > (slots.get(slot) ?? 0n)) slots.set(slot, amount)
    }
    return [...slots.values()].reduce((sum, amount) => sum + amount, 0n)
  }

  return (attempt, budgets) => {
    const day = dayOf(attempt.createdAt)
    for (const budget of budgets) {
      const { name, amount, limit } = budget
      if (limit !== undefined) {
        const burnt = read(attempt.network, day, name)
        const lack = findLack(budget, burnt, reservedFor(name, attempt))
        if (lack !== undefined) throw lack
      }
      insert.run(attempt.hash, name, amount.toString())
    }
  }
}

function prepareRead(database: SqliteDatabase) {
  const find = database.prepare(
    'SELECT amount FROM gas_spending WHERE network = ? AND day = ? AND payer = ?',
  )
  return (network: string, day: string, name: string): bigint =>
    BigInt((find.get(network, day, name) as { amount: string } | undefined)?.amount ?? 0)
}

function prepareStatements(database: SqliteDatabase) {
  return {
    findJob: database.prepare(
      `SELECT ${jobColumns} FROM jobs WHERE kind = ? AND network = ? AND key = ?`,
    ),
    findJobById: database.prepare(`SELECT ${jobColumns} FROM jobs WHERE id = ?`),
    insertJob: database.prepare(
      `INSERT INTO jobs (id, kind, network, key, digest, "to", calldata, details, resource, seen_block,
         expires_at, state, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kind, network, key) DO NOTHING`,
    ),
    decideJob: database.prepare(
      `UPDATE jobs SET state = ?, "transaction" = ?, reason = ?, message = ?, block_number = ?,
         gas_cost = ?, transfer_log = ?, attestation = ?,
         resource = CASE WHEN ? = 'failed' THEN NULL ELSE resource END, updated_at = ?
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
    insertAttempt: database.prepare(
      `INSERT INTO attempts (hash, network, relayer, relayer_nonce, raw_transaction, gas_limit,
         max_fee_per_gas, max_priority_fee_per_gas, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (hash) DO UPDATE SET is_open = 1, raw_transaction = excluded.raw_transaction`,
    ),
    insertAttemptJob: database.prepare(
      'INSERT INTO attempt_jobs (hash, position, job_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    ),
    closeSlot: database.prepare(
      `UPDATE attempts SET is_open = 0
       WHERE network = ? AND relayer = ? AND relayer_nonce = ? AND is_open = 1`,
    ),
    freeSlot: database.prepare(
      `DELETE FROM gas_risks WHERE hash IN (SELECT hash FROM attempts
         WHERE network = ? AND relayer = ? AND relayer_nonce = ? AND is_open = 1)`,
    ),
    insertCustomer: database.prepare(
      `INSERT INTO customers (network, pay_to, payer, day, last_day) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (network, pay_to, payer) DO UPDATE SET last_day = excluded.last_day
       WHERE last_day < excluded.last_day`,
    ),
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
      'INSERT INTO idempotency_keys (key, job_id, created_at) VALUES (?, ?, ?)',
    ),
  }
}
