import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { compare, line, short } from './figures.js'
import { drive } from './load.js'
import { signPayments } from './payments.js'
import { startSide } from './sides.js'

/**
 * The size of a payment in the journal before and after it is made small, and settles/s while others are made small beside
 * settles/s without, alternating.
 */
const PAYMENTS = 2_000
const OLD_PAYMENTS = 20_000
const ROUNDS = 3
const CONNECTIONS = 50
const DAY_MS = 86_400_000

const folder = mkdtempSync(join(tmpdir(), 'arcus-growth-'))
try {
  const base = join(folder, 'base.db')
  await settle(base, PAYMENTS)
  age(base)
  const whole = sizeOf(base)

  const small = copyOf(base, 'small')
  await shrinkAll(small)
  const per = (bytes: number) => short(bytes / PAYMENTS)
  line(`a payment: ${per(whole)} bytes, small ${per(sizeOf(small))}`)

  multiply(base, OLD_PAYMENTS)
  const plain: number[] = []
  const shrinking: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    plain.push(await settle(copyOf(base, `plain-${round}`), PAYMENTS))
    const path = copyOf(base, `shrinking-${round}`)
    shrinking.push(await settle(path, PAYMENTS, { JOURNAL_RETENTION_DAYS: '30' }))
    const left = countWhole(path) - PAYMENTS
    line(`made small meanwhile: ${OLD_PAYMENTS + PAYMENTS - left} of ${OLD_PAYMENTS + PAYMENTS}`)
  }
  compare('settles while others become small, and without', shrinking, plain, '/s')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Settles so many payments with a service over this file; resolves with how many a second. */
async function settle(
  path: string,
  count: number,
  env: Record<string, string> = {},
): Promise<number> {
  const side = await startSide('arcus', { env: { DATABASE_URL: `sqlite:${path}`, ...env } })
  try {
    const old = countWhole(path)
    while (env.JOURNAL_RETENTION_DAYS !== undefined && countWhole(path) === old) await delay(100)
    const { perSecond, failed } = await drive(
      side.url,
      '/settle',
      await signPayments(count),
      CONNECTIONS,
    )
    if (failed > 0) throw new Error(`${failed} payments failed`)
    return perSecond
  } finally {
    await side.stop()
  }
}

async function shrinkAll(path: string): Promise<void> {
  const env = { DATABASE_URL: `sqlite:${path}`, JOURNAL_RETENTION_DAYS: '30' }
  const side = await startSide('arcus', { env })
  while (countWhole(path) > 0) await delay(500)
  await delay(2_000)
  await side.stop()
}

function copyOf(base: string, name: string): string {
  mkdirSync(join(folder, name))
  const path = join(folder, name, 'arcus.db')
  copyFileSync(base, path)
  return path
}

/** Runs statements on a file that nobody uses, and leaves no log beside it. */
function change(path: string, work: (database: Sqlite.Database) => void): void {
  const database = new Sqlite(path)
  work(database)
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
}

/** Makes everything in the journal sixty days older. */
function age(path: string): void {
  change(path, (database) => {
    database.exec(
      `UPDATE jobs SET created_at = created_at - ${60 * DAY_MS}, updated_at = updated_at - ${60 * DAY_MS};
       UPDATE attempts SET created_at = created_at - ${60 * DAY_MS}`,
    )
  })
}

/** Adds as many payments like those that are there. */
function multiply(path: string, count: number): void {
  change(path, (database) => {
    const columns = (
      database.prepare(`SELECT name FROM pragma_table_info('jobs')`).pluck().all() as string[]
    ).map((name) => `"${name}"`)
    const value = (name: string) =>
      name === '"id"' || name === '"key"' || name === '"transaction"'
        ? `jobs.${name} || '-' || n.value`
        : `jobs.${name}`
    database.exec(
      `INSERT INTO jobs (${columns.join(', ')}) SELECT ${columns.map(value).join(', ')}
       FROM jobs, json_each('[${Array.from({ length: count / PAYMENTS }, (_, i) => i).join(',')}]') AS n`,
    )
  })
}

/** Bytes of the journal's tables and their indexes, without free pages. */
function sizeOf(path: string): number {
  const database = new Sqlite(path)
  database.exec('VACUUM')
  const bytes = database
    .prepare(
      `SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema
         WHERE tbl_name IN ('jobs', 'attempts', 'attempt_jobs', 'idempotency_keys'))`,
    )
    .pluck()
    .get() as number
  database.close()
  return bytes
}

function countWhole(path: string): number {
  const database = new Sqlite(path, { readonly: true, timeout: 10_000 })
  const count = database.prepare(`SELECT count(*) FROM jobs WHERE calldata <> '0x'`).pluck().get()
  database.close()
  return count as number
}
