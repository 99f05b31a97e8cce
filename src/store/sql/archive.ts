import type { ArchiveShelf, ArchiveStore } from '../archive.js'
import { get, run, type Sql, type Steps } from './sql.js'

/** The value of a column that is in the archive alone. */
const GONE = '0x'

/** Finds what may leave the journal for the archive, and shortens its rows. */
export function createArchiveStore(sql: Sql): ArchiveStore {
  return { shelves: (shorten) => [payments(sql, shorten), transactions(sql)] }
}

/** A payment as it was when it was read: a row that has changed since is not shortened. */
interface ReadPayment {
  id: string
  round: number
  state: string
  updatedAt: number
  shortDetails: string
}

/** The columns that are looked at; a file keeps all that the table has. */
interface PaymentRow {
  id: string
  kind: string
  round: number
  state: string
  details: string
  created_at: number
  updated_at: number
  delivered_at: number | null
  may_land: number | boolean
}

function payments(
  sql: Sql,
  shorten: (kind: string, details: string) => string,
): ArchiveShelf<ReadPayment> {
  return {
    name: 'payments',
    async read(before, after, limit) {
      const rows = await sql.all<PaymentRow>(
        `SELECT jobs.*, id IN (SELECT m.job_id FROM attempts a JOIN attempt_jobs m ON m.hash = a.hash
           WHERE a.is_open = 1) AS may_land
         FROM jobs WHERE archived_at IS NULL AND created_at < $1 AND created_at >= $2
           AND (created_at > $2 OR id > $3)
         ORDER BY created_at, id LIMIT $4`,
        [before, after.createdAt, after.id, limit],
      )
      return rows.map(({ may_land: mayLand, ...row }) => {
        const { id, round, state, updated_at: updatedAt, created_at: createdAt } = row
        // A success that was never told may still be asked for.
        const isOver = state === 'failed' || (state === 'confirmed' && row.delivered_at !== null)
        const isOld = isOver && updatedAt < before && !mayLand
        const shortDetails = isOld ? shorten(row.kind, row.details) : ''
        const read = { id, round, state, updatedAt, shortDetails }
        return { id, createdAt, isOld, row, read }
      })
    },
    slim: (rows, now) =>
      sql.transaction(function* () {
        for (const { id, round, state, updatedAt, shortDetails } of rows) {
          yield* run(
            `UPDATE jobs SET calldata = '${GONE}', details = $1, archived_at = $2
             WHERE id = $3 AND round = $4 AND state = $5 AND updated_at = $6 AND archived_at IS NULL`,
            [shortDetails, now, id, round, state, updatedAt],
          )
        }
      }),
  }
}

interface TransactionRow {
  hash: string
  created_at: number
  is_open: number
  unarchived: number
}

/** Signed transactions follow when all their payments are in the archive. */
function transactions(sql: Sql): ArchiveShelf<string> {
  return {
    name: 'transactions',
    async read(before, after, limit) {
      const rows = await sql.all<TransactionRow>(
        `SELECT attempts.*, (SELECT count(*) FROM attempt_jobs m JOIN jobs j ON j.id = m.job_id
           WHERE m.hash = attempts.hash AND j.archived_at IS NULL) AS unarchived
         FROM attempts WHERE raw_transaction <> '${GONE}' AND created_at < $1 AND created_at >= $2
           AND (created_at > $2 OR hash > $3)
         ORDER BY created_at, hash LIMIT $4`,
        [before, after.createdAt, after.id, limit],
      )
      const members = await sql.all<{ hash: string; job_id: string }>(
        `SELECT hash, job_id FROM attempt_jobs WHERE ${sql.among('hash', 1)} ORDER BY hash, position`,
        [rows.map(({ hash }) => hash)],
      )
      const jobsOf = new Map<string, string[]>(rows.map(({ hash }) => [hash, []]))
      for (const { hash, job_id: id } of members) jobsOf.get(hash)?.push(id)
      return rows.map(({ is_open: isOpen, unarchived, ...columns }) => ({
        id: columns.hash,
        createdAt: columns.created_at,
        isOld: isOpen === 0 && unarchived === 0,
        row: { ...columns, jobs: jobsOf.get(columns.hash) },
        read: columns.hash,
      }))
    },
    slim: (hashes) =>
      sql.transaction(function* () {
        for (const hash of hashes) yield* slimTransaction(hash)
      }),
  }
}

/** Drops what a lookup by hash does not need: a confirmed payment names its transaction itself, and is found by it. */
function* slimTransaction(hash: string): Steps<void> {
  const row = yield* get<{ is_open: number }>('SELECT is_open FROM attempts WHERE hash = $1', [
    hash,
  ])
  if (row?.is_open !== 0) return
  yield* run(
    `DELETE FROM attempt_jobs WHERE hash = $1 AND job_id IN (SELECT id FROM jobs
       WHERE id = attempt_jobs.job_id AND state = 'confirmed' AND "transaction" = $1 AND transfer_log IS NOT NULL)`,
    [hash],
  )
  yield* run(
    `DELETE FROM attempts WHERE hash = $1
       AND NOT EXISTS (SELECT 1 FROM attempt_jobs WHERE attempt_jobs.hash = attempts.hash)`,
    [hash],
  )
  yield* run(`UPDATE attempts SET raw_transaction = '${GONE}' WHERE hash = $1`, [hash])
}
