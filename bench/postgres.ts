import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { startPostgres } from '../test/support/postgres.js'
import { auditChain } from './audit.js'
import {
  countingSettings,
  type DatabaseTotals,
  readTotals,
  startCountingWire,
} from './database-work.js'
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

interface Pace {
  settles: number
  verifies: number
}

if (!existsSync('dist/main.js')) throw new Error('run `npm run build` first')
const postgres = await startPostgres({ isDurable: true, settings: countingSettings })
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

function describe(before: DatabaseTotals, after: DatabaseTotals): string {
  const each = (field: keyof DatabaseTotals) => (after[field] - before[field]) / SETTLES
  const hot = (100 * each('hotUpdates')) / each('updates')
  return (
    `  a settle: ${short(each('statements'))} statements, ${short(each('walWaits'))} waits for the log, ` +
    `${short(each('walBytes') / 1_000)} kB of log, ${hot.toFixed(0)} % of its updates in place, ` +
    `${short(each('readRows'))} rows read in scans`
  )
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
