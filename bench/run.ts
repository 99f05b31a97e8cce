import { existsSync } from 'node:fs'
import { drive, type Load } from './load.js'
import { signPayments } from './payments.js'
import { type SideName, startSide } from './sides.js'

/**
 * Arcus beside the facilitator of the official packages, driven one after the other with fresh signed payments, each
 * on a fresh chain. Run `npm run build` first. `--quick` takes one round instead of three.
 */
const rounds = process.argv.includes('--quick') ? 1 : 3
const VERIFY_CONNECTIONS = [1, 16, 64, 256]
const SETTLE_CONNECTIONS = [1, 16, 50, 256]
/** The reference is given less to do where it is slow, so that a run ends. */
const verifies = { arcus: 8_000, reference: 600, stock: 600 }
const leastPayments = { settle: 60, perConnection: 20 }

if (!existsSync('dist/main.js')) throw new Error('run `npm run build` first')

await compare('/verify', VERIFY_CONNECTIONS, ['arcus', 'reference'])
await compare('/settle', SETTLE_CONNECTIONS, ['arcus', 'reference', 'stock'])

async function compare(path: string, connectionCounts: number[], names: SideName[]) {
  for (const connections of connectionCounts) {
    const loads = new Map<SideName, Load[]>(names.map((name) => [name, []]))
    for (let round = 0; round < rounds; round++) {
      for (const name of names) loads.get(name)?.push(await measure(name, path, connections))
    }
    for (const name of names) print(path, connections, name, loads.get(name) ?? [])
    const ours = median((loads.get('arcus') ?? []).map(({ perSecond }) => perSecond))
    const theirs = median((loads.get('reference') ?? []).map(({ perSecond }) => perSecond))
    line(`  ratio x${(ours / theirs).toFixed(1)} to the reference with a nonce manager`)
  }
}

async function measure(name: SideName, path: string, connections: number): Promise<Load> {
  const side = await startSide(name)
  try {
    const count =
      path === '/verify'
        ? verifies[name]
        : Math.max(leastPayments.settle, leastPayments.perConnection * Math.min(connections, 50))
    // The first requests of a process compile it; they are not what is compared.
    await drive(side.url, '/verify', await signPayments(300), Math.min(16, connections))
    return await drive(side.url, path, await signPayments(count), connections)
  } finally {
    await side.stop()
  }
}

function print(path: string, connections: number, name: SideName, loads: Load[]): void {
  const of = (pick: (load: Load) => number) => loads.map(pick)
  const rates = of((load) => load.perSecond)
  const spread = `${Math.min(...rates).toFixed(0)}..${Math.max(...rates).toFixed(0)}`
  const failed = of((load) => load.failed).reduce((a, b) => a + b, 0)
  line(
    `${path} c=${connections} ${name.padEnd(9)} ${median(rates).toFixed(0)}/s [${spread}]` +
      ` p50 ${median(of((load) => load.p50Ms)).toFixed(1)} ms` +
      ` p99 ${median(of((load) => load.p99Ms)).toFixed(1)} ms failed ${failed}`,
  )
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
}

function line(text: string): void {
  process.stdout.write(`${text}\n`)
}
