import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { devnetPayer, devnetRelayers } from '../src/devnet/accounts.js'
import { startAnvil } from '../src/devnet/anvil.js'
import { mintUsdc, placeContracts } from '../src/devnet/fixtures.js'
import { freePort } from '../src/devnet/process.js'
import { startPostgres } from '../test/support/postgres.js'
import { auditChain } from './audit.js'
import { line, short } from './figures.js'
import { drive } from './load.js'
import { signPayments } from './payments.js'

/**
 * Settles a second of one, two and three replicas on one PostgreSQL that waits for its disk, three wallets among them,
 * each transaction a block: `npm run build && npm run bench -- replicas`. 2,000 payments each, a minute or two in all.
 */
const REPLICAS = [1, 2, 3]
const WALLETS = 3
const PAYMENTS = 2_000
const WARM_UP = 200
const CONNECTIONS = 96
/** Leases are divided anew within some seconds of a start. */
const SETTLING_MS = 8_000

if (!existsSync('dist/main.js')) throw new Error('run `npm run build` first')
line('| replicas | settles/s | p50 ms | p99 ms | failed | untrue |')
line('|---|---|---|---|---|---|')
for (const replicas of REPLICAS) await measure(replicas)

async function measure(count: number): Promise<void> {
  const postgres = await startPostgres({ isDurable: true })
  const anvil = await startAnvil({ mining: 'auto', blockGasLimit: 30_000_000n })
  const children: ChildProcess[] = []
  try {
    await placeContracts(anvil.url)
    await mintUsdc(anvil.url, devnetPayer.address, 10n ** 12n)
    const database = await postgres.createDatabase({ isEmpty: true })
    const urls: string[] = []
    for (let i = 0; i < count; i++) {
      const port = await freePort()
      children.push(startReplica(port, anvil.url, database))
      urls.push(`http://127.0.0.1:${port}`)
      await untilHealthy(urls.at(-1) as string)
    }
    await new Promise((resolve) => setTimeout(resolve, SETTLING_MS))
    await settleAll(urls, WARM_UP)
    const startedAt = performance.now()
    const loads = await settleAll(urls, PAYMENTS)
    const seconds = (performance.now() - startedAt) / 1_000
    const told = new Map(loads.flatMap((load) => [...load.told]))
    const { untrue } = await auditChain(anvil.url, told)
    const failed = loads.reduce((sum, load) => sum + load.failed, 0)
    const worst = (field: 'p50Ms' | 'p99Ms') => short(Math.max(...loads.map((it) => it[field])))
    const cells = [
      count,
      short(told.size / seconds),
      worst('p50Ms'),
      worst('p99Ms'),
      failed,
      untrue,
    ]
    line(`| ${cells.join(' | ')} |`)
  } finally {
    for (const child of children) {
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await exited
    }
    await anvil.stop()
    await postgres.close()
  }
}

/** Each replica gets its share, as of a balancer, all at once. */
async function settleAll(urls: readonly string[], count: number) {
  const payments = await signPayments(count)
  const share = Math.ceil(count / urls.length)
  return Promise.all(
    urls.map((url, i) => {
      const own = payments.slice(i * share, (i + 1) * share)
      return drive(url, '/settle', own, Math.ceil(CONNECTIONS / urls.length))
    }),
  )
}

function startReplica(port: number, rpcUrl: string, databaseUrl: string): ChildProcess {
  const keys = devnetRelayers.slice(0, WALLETS).map(({ privateKey }) => privateKey)
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
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('a replica did not start')
}
