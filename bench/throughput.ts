import { auditChain } from './audit.js'
import { compare, type Figure, line, median, short } from './figures.js'
import { drive, type Load } from './load.js'
import { signPayments } from './payments.js'
import { type SideName, startSide } from './sides.js'

const VERIFY_CONNECTIONS = [1, 16, 64, 256]
const SETTLE_CONNECTIONS = [1, 16, 50, 64, 256]
/** Each side gets what it can do in some seconds. */
const verifies = { arcus: 24_000, reference: 1_200, stock: 1_200 }
const mostSettles = { arcus: 5_120, reference: 1_280, stock: 1_280 }
/** A side is asked so much before it is measured, as a share of that: a process compiles its code while it serves. */
const WARM_UP = 0.5
const LEAST_WARM_UP = 300
/** Where the reference as it comes, without a nonce manager, is measured as well: it loses most of them. */
const STOCK_CONNECTIONS = 50

/** Verifies a second, alternating, on a fresh chain and a fresh process each time. */
export async function measureVerify(rounds: number): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const connections of VERIFY_CONNECTIONS) {
    const { arcus, reference } = await alternate(rounds, ['arcus', 'reference'], (name) =>
      measure(name, '/verify', connections, Math.max(verifies[name], 20 * connections)),
    )
    const pick = (field: 'perSecond' | 'p50Ms' | 'p99Ms') =>
      [arcus.map((it) => it[field]), reference.map((it) => it[field])] as const
    const at = `at ${connections}`
    figures.push(compare(`verify/s ${at}`, ...pick('perSecond'), '/s'))
    figures.push(compare(`verify p50 ${at}`, ...pick('p50Ms'), 'ms'))
    figures.push(compare(`verify p99 ${at}`, ...pick('p99Ms'), 'ms'))
  }
  return figures
}

/** Settles a second where each transaction makes a block, with what the chain says about every success. */
export async function measureSettle(rounds: number): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const connections of SETTLE_CONNECTIONS) {
    const { arcus, reference, stock } = await alternate(
      rounds,
      connections === STOCK_CONNECTIONS ? ['arcus', 'reference', 'stock'] : ['arcus', 'reference'],
      (name) => measure(name, '/settle', connections, settlesOf(name, connections)),
    )
    const pick = (field: 'perSecond' | 'p50Ms' | 'p99Ms' | 'gasPerPayment') =>
      [arcus.map((it) => it[field]), reference.map((it) => it[field])] as const
    const at = `at ${connections}`
    figures.push(compare(`settle/s ${at}`, ...pick('perSecond'), '/s'))
    figures.push(compare(`settle p50 ${at}`, ...pick('p50Ms'), 'ms'))
    figures.push(compare(`settle p99 ${at}`, ...pick('p99Ms'), 'ms'))
    figures.push(compare(`gas a payment ${at}`, ...pick('gasPerPayment'), 'gas'))
    line(failures('arcus', arcus))
    line(failures('reference', reference))
    if (stock !== undefined) line(failures('stock', stock))
  }
  return figures
}

function settlesOf(name: SideName, connections: number): number {
  return Math.min(mostSettles[name], Math.max(60, 20 * connections))
}

interface Measured extends Load {
  untrue: number
  gasPerPayment: number
}

async function measure(
  name: SideName,
  path: '/verify' | '/settle',
  connections: number,
  count: number,
): Promise<Measured> {
  const side = await startSide(name)
  try {
    const warmUp = Math.max(LEAST_WARM_UP, Math.round(count * WARM_UP))
    await drive(side.url, path, await signPayments(warmUp), Math.min(64, connections))
    const load = await drive(side.url, path, await signPayments(count), connections)
    const audit = await auditChain(side.chainUrl, load.told)
    return { ...load, ...audit }
  } finally {
    await side.stop()
  }
}

interface Runs {
  arcus: Measured[]
  reference: Measured[]
  stock?: Measured[]
}

async function alternate(
  rounds: number,
  names: readonly SideName[],
  run: (name: SideName) => Promise<Measured>,
): Promise<Runs> {
  const runs: Runs = { arcus: [], reference: [] }
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      const mine = runs[name] ?? []
      runs[name] = [...mine, await run(name)]
    }
  }
  return runs
}

function failures(name: string, runs: Measured[]): string {
  const sum = (pick: (run: Measured) => number) => runs.map(pick).reduce((a, b) => a + b, 0)
  const asked = sum(({ told, failed }) => told.size + failed)
  const rate = short(median(runs.map(({ perSecond }) => perSecond)))
  return `  ${name}: ${rate}/s, ${sum(({ failed }) => failed)} of ${asked} failed, ${sum(({ untrue }) => untrue)} successes untrue`
}
