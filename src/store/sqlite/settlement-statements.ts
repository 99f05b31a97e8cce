import type { Database } from './database.js'

/** Every statement of the settlement journal, prepared once. */
export function prepareSettlementStatements(database: Database) {
  return {
    findJob: database.prepare('SELECT * FROM jobs WHERE kind = ? AND network = ? AND key = ?'),
    findJobById: database.prepare('SELECT * FROM jobs WHERE id = ?'),
    jobsOfAttempt: database.prepare(
      `SELECT jobs.* FROM attempt_jobs JOIN jobs ON jobs.id = attempt_jobs.job_id
       WHERE attempt_jobs.hash = ? ORDER BY attempt_jobs.position`,
    ),
    foundJobs: database.prepare(
      `SELECT * FROM jobs WHERE "transaction" = @transaction AND state = 'confirmed' AND gas_cost IS NULL
       UNION SELECT * FROM jobs WHERE "transaction" = @transaction AND transfer_log IS NOT NULL
       ORDER BY created_at`,
    ),
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
         "transaction" = NULL, block_number = NULL, gas_cost = NULL,
         delivered_at = CASE WHEN ? THEN delivered_at END, delivered_key = CASE WHEN ? THEN delivered_key END
       WHERE id = ? AND round = ? AND state = 'failed'`,
    ),
    decideJob: database.prepare(
      `UPDATE jobs SET state = ?, "transaction" = ?, reason = ?, message = ?, block_number = ?,
         gas_cost = ?, transfer_log = ?, updated_at = ?
       WHERE id = ? AND round = ? AND state IN ('queued', 'submitted')`,
    ),
    submitJob: database.prepare(
      // Signed for the first time, it was never told: a restored database may have marked it as told.
      `UPDATE jobs SET state = 'submitted', "transaction" = ?, updated_at = ?,
         delivered_at = CASE WHEN state = 'submitted' THEN delivered_at END,
         delivered_key = CASE WHEN state = 'submitted' THEN delivered_key END
       WHERE id = ? AND state IN ('queued', 'submitted')`,
    ),
    nameTransaction: database.prepare(
      `UPDATE jobs SET state = ?, "transaction" = ?, updated_at = ?
       WHERE id = ? AND round = ? AND state IN ('queued', 'submitted') AND "transaction" IS ?`,
    ),
    insertAttempt: database.prepare(
      `INSERT INTO attempts (hash, network, relayer, relayer_nonce, raw_transaction, gas_limit,
         max_fee_per_gas, max_priority_fee_per_gas, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (hash) DO UPDATE SET is_open = 1`,
    ),
    insertAttemptJob: database.prepare(
      'INSERT INTO attempt_jobs (hash, position, job_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
    ),
    attemptJobs: database.prepare(
      'SELECT job_id FROM attempt_jobs WHERE hash = ? ORDER BY position',
    ),
    openAttempts: database.prepare(
      `SELECT * FROM attempts WHERE network = ? AND relayer = ? AND is_open = 1
       ORDER BY relayer_nonce, created_at`,
    ),
    openAttemptOf: database.prepare(
      `SELECT 1 FROM attempts a WHERE a.network = ? AND a.is_open = 1
         AND EXISTS (SELECT 1 FROM attempt_jobs m WHERE m.hash = a.hash AND m.job_id = ?) LIMIT 1`,
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
