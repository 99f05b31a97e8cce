import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { devnetPayer, devnetRelayers } from '../src/devnet/accounts.js'
import { startAnvil } from '../src/devnet/anvil.js'
import { mintUsdc, placeContracts } from '../src/devnet/fixtures.js'
import { freePort } from '../src/devnet/process.js'
import { startPostgres } from '../test/support/postgres.js'
import { auditChain } from './audit.js'
import { type CountingProxy, startCountingProxy } from './counting-proxy.js'
import {
  type CountingWire,
  countingSettings,
  readTotals,
  startCountingWire,
} from './database-work.js'
import { line, median, short } from './figures.js'
import { drive } from './load.js'
import { signPayments } from './payments.js'
import { processorTimeOf } from './processor-time.js'

/**
 * The work of a settle at one, two and three replicas on one PostgreSQL that waits for its disk, each transaction a block:
 * `npm run build && npm run bench -- replicas`, about eight minutes. Each replica has a wallet and callers of its own, as on
 * a machine of its own. Here they share the processors, so the pace says little, and the processor time of a settle says
 * what machines of their own could do. Round trips are counted in runs of their own, because counting takes time.
 */
const REPLICAS = [1, 2, 3]
const ROUNDS = process.argv.includes('--quick') ? 1 : 3
const PAYMENTS_OF_EACH = 1_500
const WARM_UP_OF_EACH = 200
const CALLERS_OF_EACH = 48
/** Leases are divided anew within some seconds of a start. */
const SETTLING_MS = 8_000
const SAMPLE_MS = 25

/** Three machines, and one for the database, of so many cores each. */
const MACHINES = 3
const CORES = 2
/** Arc: half a second, 30 M gas, and the gas of a settle in a batch. */
const BLOCK_ROOM_A_SECOND = (2 * 30_000_000) / 42_543

/** The work of one settle by kind, seconds and counts; a pace and a share are those of the run. */
type Work = Record<string, number>

if (!existsSync('dist/main.js')) throw new Error('run `npm run build` first')
const measured = new Map<number, Work[]>(REPLICAS.map((count) => [count, []]))
for (let round = 0; round < ROUNDS; round++) {
  for (const count of round % 2 === 0 ? REPLICAS : REPLICAS.toReversed()) {
    const times = await withFleet(count, false, timed)
    measured.get(count)?.push({ ...times, ...(await withFleet(count, true, counted)) })
  }
}
report()

/** Replicas at rest with all that they use. */
interface Fleet {
  urls: readonly string[]
  pids: readonly number[]
  anvil: { pid: number; url: string }
  database: string
  proxy: CountingProxy
  wire: CountingWire
}

/** Starts so many replicas on a chain and a server of their own; when they are to be counted, through what counts. */
async function withFleet(
  count: number,
  isCounted: boolean,
  use: (fleet: Fleet) => Promise<Work>,
): Promise<Work> {
  const postgres = await startPostgres({ isDurable: true, settings: countingSettings })
  const anvil = await startAnvil({ mining: 'auto', blockGasLimit: 30_000_000n })
  const proxy = await startCountingProxy(anvil.url)
  const wire = await startCountingWire(postgres.port)
  const children: ChildProcess[] = []
  try {
    await placeContracts(anvil.url)
    await mintUsdc(anvil.url, devnetPayer.address, 10n ** 12n)
    const database = await postgres.createDatabase({ isEmpty: true })
    const through = new URL(database)
    if (isCounted) through.port = String(wire.port)
    const rpcUrl = isCounted ? proxy.url : anvil.url
    const keys = devnetRelayers.slice(0, count).map(({ privateKey }) => privateKey)
    const urls: string[] = []
    for (let i = 0; i < count; i++) {
      const port = await freePort()
      children.push(startReplica({ port, rpcUrl, databaseUrl: through.href, keys }))
      urls.push(`http://127.0.0.1:${port}`)
      await untilHealthy(urls.at(-1) as string)
    }
    await delay(SETTLING_MS)
    await settleAll(urls, WARM_UP_OF_EACH)
    const pids = children.map(({ pid }) => pid as number)
    return await use({ urls, pids, anvil, database, proxy, wire })
  } finally {
    for (const child of children) {
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await exited
    }
    await wire.close()
    await proxy.close()
    await anvil.stop()
    await postgres.close()
  }
}

/** Takes pace and processor time. */
async function timed({ urls, pids, anvil, database }: Fleet): Promise<Work> {
  const server = await serverPids(database)
  const look = () => ({
    replicas: processorTimeOf(pids),
    postgres: processorTimeOf(server),
    node: processorTimeOf([anvil.pid]),
  })
  const before = look()
  const startedAt = performance.now()
  const loads = await settleAll(urls, PAYMENTS_OF_EACH)
  const seconds = (performance.now() - startedAt) / 1_000
  const after = look()
  const told = new Map(loads.flatMap((load) => [...load.told]))
  const { untrue } = await auditChain(anvil.url, told)
  const times = {
    main: after.replicas.main - before.replicas.main,
    all: after.replicas.all - before.replicas.all,
    postgres: after.postgres.all - before.postgres.all,
    node: after.node.all - before.node.all,
  }
  return {
    ...perSettle(times, told.size),
    pace: told.size / seconds,
    p99: Math.max(...loads.map(({ p99Ms }) => p99Ms)),
    failed: sum(loads.map((load) => load.failed)),
    untrue,
  }
}

/** Takes what is sent, written and waited for. */
async function counted({ urls, database, proxy, wire }: Fleet): Promise<Work> {
  const look = () => ({
    trips: wire.sent(),
    bytes: wire.bytes(),
    answered: wire.answeredBytes(),
    requests: proxy.requests(),
    calls: sum(proxy.counts.values()),
  })
  const [before, atFirst] = [await readTotals(database), look()]
  const { result: loads, waits } = await sampled(() => settleAll(urls, PAYMENTS_OF_EACH), database)
  const [atLast, after] = [look(), await readTotals(database)]
  const settles = sum(loads.map(({ told }) => told.size))
  return {
    ...perSettle(difference(atLast, atFirst), settles),
    ...perSettle(difference({ ...after }, { ...before }), settles),
    waits,
  }
}

function difference(after: Work, before: Work): Work {
  return Object.fromEntries(
    Object.entries(after).map(([name, total]) => [name, total - (before[name] ?? 0)]),
  )
}

function perSettle(totals: Work, settles: number): Work {
  return Object.fromEntries(Object.entries(totals).map(([name, total]) => [name, total / settles]))
}

function sum(values: Iterable<number>): number {
  return [...values].reduce((total, it) => total + it, 0)
}

/** Returns the processes of the server that know a database, and those that write for it. */
async function serverPids(url: string): Promise<number[]> {
  const text = 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()'
  return inSession(url, async (client) => (await client.query(text)).rows.map(({ pid }) => pid))
}

/** Looks now and then which sessions wait for a lock that another one has. PostgreSQL counts no locks. */
async function sampled<Result>(work: () => Promise<Result>, url: string) {
  return inSession(url, async (client) => {
    let isOver = false
    let [waiting, looks] = [0, 0]
    const sample = async () => {
      while (!isOver) {
        const { rows } = await client.query(
          `SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock'`,
        )
        waiting += rows[0].waiting
        looks++
        await delay(SAMPLE_MS)
      }
    }
    const sampling = sample()
    const result = await work().finally(() => {
      isOver = true
    })
    await sampling
    return { result, waits: waiting / looks }
  })
}

async function inSession<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function report(): void {
  const of = (count: number, name: string) =>
    median((measured.get(count) ?? []).map((work) => work[name] ?? Number.NaN))
  const rows: [string, string, number][] = [
    ['settles/s, all on this machine', 'pace', 1],
    ['p99, ms', 'p99', 1],
    ['failed', 'failed', 1],
    ['untrue', 'untrue', 1],
    ['processor of the replica, main thread, ms', 'main', 1_000],
    ['processor of the replica, all threads, ms', 'all', 1_000],
    ['processor of PostgreSQL, ms', 'postgres', 1_000],
    ['processor of the node, ms', 'node', 1_000],
    ['round trips to the node', 'requests', 1],
    ['calls in them', 'calls', 1],
    ['round trips to PostgreSQL', 'trips', 1],
    ['kB sent to it', 'bytes', 1e-3],
    ['kB of its answers', 'answered', 1e-3],
    ['commits', 'commits', 1],
    ['rows written, each locked once', 'writtenRows', 1],
    ['waits for the disk', 'walWaits', 1],
    ['kB of its log', 'walBytes', 1e-3],
    ['sessions that wait for a lock, at any moment', 'waits', 1],
  ]
  line(`\n| of one settle | ${REPLICAS.map((count) => `${count} replicas`).join(' | ')} |`)
  line(`|---|${'---|'.repeat(REPLICAS.length)}`)
  for (const [text, name, scale] of rows) {
    line(`| ${text} | ${REPLICAS.map((count) => short(of(count, name) * scale)).join(' | ')} |`)
  }
  const limits = {
    'main threads': MACHINES / of(MACHINES, 'main'),
    'processors of the replicas': (MACHINES * CORES) / of(MACHINES, 'all'),
    'processors of PostgreSQL': CORES / of(MACHINES, 'postgres'),
    blocks: BLOCK_ROOM_A_SECOND,
  }
  const texts = Object.entries(limits).map(([name, pace]) => `${name} ${short(pace)}`)
  line(`\nsettles/s of ${MACHINES} machines of ${CORES} cores, at most: ${texts.join(', ')}`)
}

/** Each replica gets its share, as of a balancer, all at once. */
async function settleAll(urls: readonly string[], ofEach: number) {
  const payments = await signPayments(ofEach * urls.length)
  return Promise.all(
    urls.map((url, i) =>
      drive(url, '/settle', payments.slice(i * ofEach, (i + 1) * ofEach), CALLERS_OF_EACH),
    ),
  )
}

interface ReplicaOptions {
  port: number
  rpcUrl: string
  databaseUrl: string
  keys: readonly string[]
}

function startReplica({ port, rpcUrl, databaseUrl, keys }: ReplicaOptions): ChildProcess {
  return spawn(process.execPath, ['dist/main.js'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env.PATH,
      HOST: '127.0.0.1',
      PORT: String(port),
      MAINNET_RPC_URLS: rpcUrl,
      RELAYER_PRIVATE_KEYS: keys.join(','),
      DATABASE_URL: databaseUrl,
      LOG_LEVEL: 'warn',
      RATE_LIMIT_MAX: '0',
    },
  })
}

async function untilHealthy(url: string): Promise<void> {
  for (let i = 0; i < 300; i++) {
    const answer = await fetch(`${url}/supported`).catch(() => undefined)
    if (answer?.ok) return
    await delay(100)
  }
  throw new Error('a replica did not start')
}
