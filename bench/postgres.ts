import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { startPostgres } from '../test/support/postgres.js'
import { auditChain } from './audit.js'
import { line, median, short } from './figures.js'
import { drive } from './load.js'
import { signPayments } from './payments.js'
import { startSide } from './sides.js'

/**
 * SQLite and PostgreSQL by turns, each beside a fresh chain where every transaction is a block, and what a payment costs
 * PostgreSQL: `npm run build && npm run bench -- postgres`. `--quick` takes one round instead of five.
 */
const ROUNDS = process.argv.includes('--quick') ? 1 : 5
const CONNECTIONS = 50
const WARM_UP = 300
const SETTLES = 2_000
const VERIFIES = 8_000
/** Payments settled one after another to count round trips: the median leaves out what runs beside them. */
const SINGLE_SETTLES = 41
/** Between two of them, so that the first is marked as delivered before the second is asked. */
const APART_MS = 60
/** PostgreSQL reports its statistics with this delay at most. */
const STATISTICS_MS = 1_500

interface Pace {
  settles: number
  verifies: number
}

/** Totals of the database since it was made. */
interface Totals {
  statements: number
  walWaits: number
  walBytes: number
  updates: number
  hotUpdates: number
  readRows: number
}

if (!existsSync('dist/main.js')) throw new Error('run `npm run build` first')
const settings = ['shared_preload_libraries=pg_stat_statements']
const postgres = await startPostgres({ isDurable: true, settings })
try {
  const paces: { sqlite: Pace; postgres: Pace }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const sqlite = await measure('SQLite')
    const url = await postgres.createDatabase({ isEmpty: true })
    paces.push({ sqlite, postgres: await measure('PostgreSQL', url) })
  }
  for (const what of ['settles', 'verifies'] as const) {
    const shares = paces.map((pair) => (100 * pair.postgres[what]) / pair.sqlite[what])
    const all = shares.map((share) => share.toFixed(0)).join(', ')
    line(`${what}/s on PostgreSQL, percent of SQLite: ${median(shares).toFixed(0)} (${all})`)
  }
  const trips = await countRoundTrips(await postgres.createDatabase({ isEmpty: true }))
  line(`round trips before the answer to a settle: ${median(trips)}`)
} finally {
  await postgres.close()
}

async function measure(name: string, url?: string): Promise<Pace> {
  const side = await startSide('arcus', url === undefined ? {} : { env: { DATABASE_URL: url } })
  try {
    await drive(side.url, '/settle', await signPayments(WARM_UP), CONNECTIONS)
    const payments = await signPayments(SETTLES)
    const before = url === undefined ? undefined : await readTotals(url)
    const settled = await drive(side.url, '/settle', payments, CONNECTIONS)
    const after = url === undefined ? undefined : await readTotals(url)
    const { untrue } = await auditChain(side.chainUrl, settled.told)
    await drive(side.url, '/verify', await signPayments(WARM_UP), CONNECTIONS)
    const verified = await drive(side.url, '/verify', await signPayments(VERIFIES), CONNECTIONS)
    const failed = settled.failed + verified.failed
    line(
      `${name}: ${short(settled.perSecond)} settles/s, p99 ${short(settled.p99Ms)} ms; ` +
        `${short(verified.perSecond)} verifies/s, p99 ${short(verified.p99Ms)} ms; ` +
        `${failed} failed, ${untrue} untrue`,
    )
    if (before !== undefined && after !== undefined) line(describe(before, after))
    return { settles: settled.perSecond, verifies: verified.perSecond }
  } finally {
    await side.stop()
  }
}

function describe(before: Totals, after: Totals): string {
  const each = (field: keyof Totals) => (after[field] - before[field]) / SETTLES
  const hot = (100 * each('hotUpdates')) / each('updates')
  return (
    `  a settle: ${short(each('statements'))} statements, ${short(each('walWaits'))} waits for the log, ` +
    `${short(each('walBytes') / 1_000)} kB of log, ${hot.toFixed(0)} % of its updates in place, ` +
    `${short(each('readRows'))} rows read in scans`
  )
}

async function readTotals(url: string): Promise<Totals> {
  await delay(STATISTICS_MS)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
    const { rows } = await client.query(
      `SELECT
         (SELECT sum(calls) FROM pg_stat_statements
           WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()))::float8 AS statements,
         (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal')::float8 AS "walWaits",
         (SELECT wal_bytes FROM pg_stat_wal)::float8 AS "walBytes",
         n_tup_upd::float8 AS updates, n_tup_hot_upd::float8 AS "hotUpdates", seq_tup_read::float8 AS "readRows"
       FROM pg_stat_user_tables WHERE relname = 'jobs'`,
    )
    return rows[0]
  } finally {
    await client.end()
  }
}

/** Returns the statements that were sent while each of some settles was answered, one settle after another. */
async function countRoundTrips(url: string): Promise<number[]> {
  const wire = await startCountingWire(Number(new URL(url).port))
  const through = new URL(url)
  through.port = String(wire.port)
  const side = await startSide('arcus', { env: { DATABASE_URL: through.href } })
  try {
    await drive(side.url, '/settle', await signPayments(WARM_UP), 1)
    const counts: number[] = []
    for (const payment of await signPayments(SINGLE_SETTLES)) {
      await delay(APART_MS)
      const before = wire.sent()
      await drive(side.url, '/settle', [payment], 1)
      counts.push(wire.sent() - before)
    }
    return counts
  } finally {
    await side.stop()
    await wire.close()
  }
}

/** Stands between Arcus and PostgreSQL and counts what Arcus sends and then waits for: its `Sync` and `Query` messages. */
async function startCountingWire(target: number) {
  let sent = 0
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    let rest = Buffer.alloc(0)
    let hasBegun = false
    client.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      // The first message has no type before its length.
      for (;;) {
        const at = hasBegun ? 1 : 0
        const length = rest.length < at + 4 ? Number.POSITIVE_INFINITY : rest.readInt32BE(at) + at
        if (rest.length < length) break
        if (hasBegun && 'SQ'.includes(String.fromCharCode(rest[0] as number))) sent++
        hasBegun = true
        rest = rest.subarray(length)
      }
    })
    client.pipe(upstream).pipe(client)
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    sent: () => sent,
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}
