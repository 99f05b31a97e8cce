import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { devnetBuyback, devnetHost, devnetRelayers } from '../src/devnet/accounts.js'
import {
  type Attack,
  type AttackFigures,
  cutter,
  makeRequests,
  prepareAttack,
  sendDear,
} from './attack.js'
import { prepareDearWorld } from './dear-world.js'
import { type AttackWorld, dear } from './dearest.js'
import { line, quantile } from './figures.js'
import { type HonestCaller, type HonestFigures, startHonestCaller } from './honest-caller.js'
import { seedCatalog } from './seeded-catalog.js'
import { type Side, startSide } from './sides.js'

/**
 * Measures what every route can do to payments: the dearest request of the route that a stranger may send, 90 a second from
 * one address, while an honest caller settles at another address. `npm run build && npm run bench -- beside [NAME …]` takes the
 * routes whose method and path have one of the names in them. `--seconds 5` shortens each attack, `--rate 30` slows it down,
 * `--listings 100000` lists so many endpoints, `--activity` adds a month of payments of two hundred merchants, and `--storm`
 * adds a second stranger who searches as often during each attack. `--cost` only measures the processor time of one request
 * of each route.
 */
const { values: options, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '10' },
    rate: { type: 'string', default: '90' },
    listings: { type: 'string', default: '10000' },
    activity: { type: 'boolean', default: false },
    storm: { type: 'boolean', default: false },
    cost: { type: 'boolean', default: false },
  },
})
const [seconds, attacksPerSecond] = [Number(options.seconds), Number(options.rate)]

/** The goals of a row: settle p95 against alone, and the p99 of `/health` in milliseconds. */
const MAX_RATIO = 1.5
const MAX_HEALTH_MS = 50
/** Timers of the honest caller that are later than this say that the machine had too much else to do. */
const MAX_LATE_MS = 25
/** Arc makes a block every half second. */
const BLOCK_SECONDS = 0.5
/** Settles alone are of this many attacks before and after which nothing else ran, so that their p95 is not that of a handful. */
const CALM_SLICES = 4
/** The attack is in full swing this long after it began. */
const BEGUN_MS = 1_000
/** The service has worked off what an attack left behind once so many calls in a row are answered this quickly. */
const CALM_CALLS = 10
const CALM_MS = 30
const MOST_CALM_SECONDS = 60
/** With `--activity`. */
const PAID_MERCHANTS = 200
const COST_CALLS = 12
const SEARCH = 'GET /discovery/search'

interface Row {
  route: string
  attack: AttackFigures
  alone: HonestFigures
  beside: HonestFigures
  /** Processor time of the service during the attack, as a share of one processor. */
  cpuShare: number
  /** Resident memory of the service after it, megabytes. */
  rssMb: number
  /** Seconds until the service was calm again; `undefined` if it was not within a minute, so that another one is started. */
  afterSeconds: number | undefined
}

if (!existsSync('dist/main.js')) throw new Error('run `npm run build` first')
const wanted = Object.keys(dear).filter(
  (route) => names.length === 0 || names.some((name) => route.includes(name)),
)
if (wanted.length === 0) throw new Error(`no route has ${names.join(' or ')} in it`)
if (options.cost) await measureCosts()
else await measureAll()

/** A service with its chain and its catalog, all of it new. */
interface Place {
  side: Side
  world: AttackWorld
  close(): Promise<void>
}

async function openPlace(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-bench-'))
  const file = join(folder, 'arcus.db')
  await seedCatalog(file, {
    endpoints: Number(options.listings),
    paidMerchants: options.activity ? PAID_MERCHANTS : 0,
  })
  const side = await startSide('arcus', {
    blockSeconds: BLOCK_SECONDS,
    env: {
      DATABASE_URL: `sqlite:${file}`,
      RELAYER_PRIVATE_KEYS: devnetRelayers.map(({ privateKey }) => privateKey).join(','),
      HOSTED_PRIVATE_KEY: devnetHost.privateKey,
      BUYBACK_ADDRESS: devnetBuyback.address,
      RATE_LIMIT_MAX: '6000',
      TRUST_PROXY: '127.0.0.1',
      // The listed endpoints are on this machine.
      PROBE_ALLOW_PRIVATE_HOSTS: 'true',
    },
  })
  const closeSide = async () => {
    await side.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await untilCatalogIsRead(side.url)
    const { world, stop } = await prepareDearWorld(side, file)
    await untilCalm(side.url)
    return {
      side,
      world,
      async close() {
        stop()
        await closeSide()
      },
    }
  } catch (error) {
    await closeSide()
    throw error
  }
}

async function measureAll(): Promise<void> {
  const honest = startHonestCaller()
  const calm: HonestFigures[] = []
  const rows: Row[] = []
  let place = await openPlace()
  try {
    const { url } = place.side
    await honest.watch(url, 5)
    for (let i = 0; i < CALM_SLICES - 1; i++) calm.push(await honest.watch(url, seconds / 2))
    for (const [number, route] of wanted.entries()) {
      const row = await measure(place, { route, number, honest, calm })
      rows.push(row)
      line(describe(row))
      if (row.afterSeconds !== undefined) continue
      await place.close()
      place = await openPlace()
    }
  } finally {
    // Rows are worth showing also where a later one failed.
    line(`\n${tableOf(rows)}`)
    await honest.stop()
    await place.close()
  }
}

interface Measured {
  route: string
  number: number
  honest: HonestCaller
  /** Figures without an attack, the latest last; a slice is added. */
  calm: HonestFigures[]
}

async function measure(
  { side, world }: Place,
  { route, number, honest, calm }: Measured,
): Promise<Row> {
  const { url } = side
  const plan = { url, world, seconds, rate: attacksPerSecond }
  // Each attacker has an address of their own, so that none spends the allowance of the next.
  const attacks = [await prepareAttack({ ...plan, route, from: `198.18.${number}.7` })]
  if (options.storm) {
    attacks.push(await prepareAttack({ ...plan, route: SEARCH, from: `198.19.${number}.7` }))
  }
  try {
    calm.push(await honest.watch(url, seconds / 2))
    const alone = joined(calm.slice(-CALM_SLICES))
    const cpuBefore = side.cpuMs()
    const running = Promise.all(attacks.map((attack: Attack) => attack.run()))
    await sleep(BEGUN_MS)
    const watching = honest.watch(url, seconds - BEGUN_MS / 1_000)
    const [attack] = (await running) as [AttackFigures]
    const cpuShare = (orNaN(side.cpuMs) - cpuBefore) / (seconds * 1_000)
    const [beside, afterSeconds] = await Promise.all([watching, untilCalm(url)])
    return { route, attack, alone, beside, cpuShare, rssMb: orNaN(side.rssMb), afterSeconds }
  } finally {
    await Promise.all(attacks.map((attack) => attack.stop()))
  }
}

/** Reads a figure of a process, which an attack may have ended. */
function orNaN(read: () => number): number {
  try {
    return read()
  } catch {
    return Number.NaN
  }
}

function joined(slices: readonly HonestFigures[]): HonestFigures {
  return {
    settleMs: slices.flatMap(({ settleMs }) => settleMs),
    failed: slices.reduce((sum, { failed }) => sum + failed, 0),
    healthMs: slices.flatMap(({ healthMs }) => healthMs),
    lateMs: slices.flatMap(({ lateMs }) => lateMs),
  }
}

function figuresOf({ attack, alone, beside }: Row) {
  const refused = (attack.statuses[429] ?? 0) + (attack.statuses[503] ?? 0)
  const all = Object.values(attack.statuses).reduce((sum, count) => sum + count, 0)
  const [before, after] = [quantile(alone.settleMs, 0.95), quantile(beside.settleMs, 0.95)]
  return {
    answered: all - refused,
    refused,
    alone: { p50: quantile(alone.settleMs, 0.5), p95: before },
    beside: { p50: quantile(beside.settleMs, 0.5), p95: after },
    ratio: after / before,
    healthMs: quantile(beside.healthMs, 0.99),
    isBusy: quantile(beside.lateMs, 0.99) > MAX_LATE_MS,
    isMet: after / before <= MAX_RATIO && quantile(beside.healthMs, 0.99) <= MAX_HEALTH_MS,
  }
}

function describe(row: Row): string {
  const { attack, beside, cpuShare, rssMb, afterSeconds } = row
  const it = figuresOf(row)
  const statuses = Object.entries(attack.statuses).map(([status, count]) => `${count} × ${status}`)
  return (
    `${row.route}: settle p95 ${it.beside.p95.toFixed(0)} ms, x${it.ratio.toFixed(2)}, /health p99 ${it.healthMs.toFixed(0)} ms,` +
    ` ${beside.failed} of ${beside.settleMs.length} settles failed; attack ${[...statuses, `${attack.unanswered} unanswered`].join(', ')},` +
    ` ${(attack.bytes / 2 ** 20).toFixed(0)} MB; service ${(cpuShare * 100).toFixed(0)} % of a processor, ${rssMb.toFixed(0)} MB,` +
    ` calm after ${afterSeconds?.toFixed(1) ?? 'more than 60'} s; timers p99 ${quantile(beside.lateMs, 0.99).toFixed(0)} ms late`
  )
}

/** Writes the rows as `bench/README.md` has them. */
function tableOf(rows: readonly Row[]): string {
  const head = [
    '| route | attack: answered, refused, neither | alone p50, p95 | beside p50, p95 | ratio | `/health` p99 | |',
    '|---|---|---|---|---|---|---|',
  ]
  const ms = ({ p50, p95 }: { p50: number; p95: number }) => `${p50.toFixed(0)}, ${p95.toFixed(0)}`
  const lines = rows.map((row) => {
    const it = figuresOf(row)
    const attack = `${it.answered}, ${it.refused}, ${row.attack.unanswered}`
    const cells = [`\`${row.route}\``, attack, ms(it.alone), ms(it.beside)]
    const remarks = [...(it.isMet ? [] : ['missed']), ...(it.isBusy ? ['busy machine'] : [])]
    cells.push(it.ratio.toFixed(2), it.healthMs.toFixed(0), remarks.join(', '))
    return `| ${cells.join(' | ')} |`
  })
  const met = rows.filter((row) => figuresOf(row).isMet).length
  return [...head, ...lines, '', `${met} of ${rows.length} rows meet both aims.`].join('\n')
}

/** Measures one request after another of each route, with nothing else under way. */
async function measureCosts(): Promise<void> {
  const { side, world, close } = await openPlace()
  const pool = new Pool(side.url)
  for (const [number, route] of wanted.entries()) {
    const requests = await makeRequests({ world, route }, COST_CALLS)
    const from = `198.18.${number}.7`
    const cut = cutter()
    let bytes = 0
    const onBytes = (more: number) => {
      bytes += more
    }
    const cpuBefore = side.cpuMs()
    const startedAt = performance.now()
    const statuses: number[] = []
    for (const request of requests) {
      statuses.push(await sendDear(pool, request, { from, signal: cut.signal, onBytes }))
    }
    const ms = (performance.now() - startedAt) / requests.length
    const cpuMs = (side.cpuMs() - cpuBefore) / requests.length
    cut.abort()
    line(
      `${route}: ${cpuMs.toFixed(1)} ms of processor time, ${ms.toFixed(1)} ms, ${[...new Set(statuses)].join(', ')},` +
        ` sent ${requests[0]?.body?.length ?? 0} bytes, received ${Math.round(bytes / requests.length)}`,
    )
    await untilCalm(side.url)
  }
  await pool.destroy()
  await close()
}

async function untilCatalogIsRead(url: string): Promise<void> {
  while ((await fetch(`${url}/discovery/resources`)).status !== 200) await sleep(500)
}

/** Resolves with the seconds that it took; `undefined` if the service is still busy after a minute. */
async function untilCalm(url: string): Promise<number | undefined> {
  const startedAt = performance.now()
  const signal = AbortSignal.timeout(MOST_CALM_SECONDS * 1_000)
  for (let quick = 0; quick < CALM_CALLS; ) {
    const askedAt = performance.now()
    const status = await fetch(`${url}/health`, { signal }).then(
      (answer) => answer.status,
      () => undefined,
    )
    if (signal.aborted) return undefined
    quick = status === 200 && performance.now() - askedAt < CALM_MS ? quick + 1 : 0
    await sleep(50)
  }
  return (performance.now() - startedAt) / 1_000
}
