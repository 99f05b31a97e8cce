import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { createDiscovery } from '../src/directory/discovery/discovery.js'
import { discoveryRoutes } from '../src/directory/discovery/routes.js'
import { createListingStore } from '../src/directory/store/sql/listings.js'
import { installErrorHandling } from '../src/http/errors.js'
import { createServer } from '../src/http/server.js'
import { openDatabase } from '../src/sql/sqlite/database.js'
import { createGroupCommit } from '../src/sql/sqlite/group-commit.js'
import { createSql } from '../src/sql/sqlite/sql.js'
import { watchTurns } from './loop-turns.js'

/**
 * Serves the discovery routes alone over a seeded file, as a process of its own: `discovery-server.ts FILE`. It writes
 * its port and how long reading the catalog took on one line, and ends with its standard input.
 */
const [file] = process.argv.slice(2) as [string]
const database = openDatabase(file)
const store = createListingStore(createSql(database, createGroupCommit(database)))
const readTurns = watchTurns()
const onFault = (fault: unknown) => process.stderr.write(`${String(fault)}\n`)
const discovery = createDiscovery({ source: file, store, onFault })

const app = createServer({
  logger: pino({ level: 'silent' }),
  bodyLimitBytes: 65_536,
  settleWaitSeconds: 30,
  trustProxy: false,
})
installErrorHandling(app)
await app.register(discoveryRoutes, { answers: discovery.bodies })
app.get('/nothing', () => ({}))
app.get('/turns', () => ({
  ...readTurns(),
  rssMb: process.memoryUsage.rss() / 2 ** 20,
  cpuMs: cpuMs(),
}))
app.post<{ Querystring: { title: string } }>('/save', async ({ query }) => {
  const before = performance.now()
  await save(query.title)
  return { ms: performance.now() - before }
})

await app.listen({ port: 0, host: '127.0.0.1' })
readTurns()
const startedAt = performance.now()
discovery.start()
await until(() => discovery.figures().endpoints > 0)
const started = { readMs: performance.now() - startedAt, ...readTurns() }
const { port } = app.server.address() as AddressInfo
process.stdout.write(`${JSON.stringify({ port, ...started })}\n`)
process.stdin.resume().once('end', () => process.exit())

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20))
}

function save(title: string): Promise<void> {
  const payTo = '0x00000000000000000000000000000000000000ff' as const
  const asset = '0x3600000000000000000000000000000000000000' as const
  const network = 'eip155:5042'
  const merchant = {
    id: 'saved',
    owner: payTo,
    name: 'Saved',
    description: 'Saved again and again.',
    network,
    asset,
    payTo,
    isOfficial: false,
    isPartner: false,
    hiddenReason: null,
  }
  const endpoints = ['one', 'two', 'three'].map((path) => ({
    url: `https://saved.example.com/${path}`,
    method: 'GET' as const,
    title,
    description: 'A place by its name.',
    pricing: 'fixed' as const,
    price: 1_000n,
    asset,
    symbol: 'USDC',
    tags: ['place'],
    example: { queryParams: { name: 'Lisbon' } },
    inputSchema: null,
    output: { type: 'json' },
    extras: {},
    isHosted: false,
    accepts: [{ scheme: 'exact', network, amount: '1000', asset, payTo }],
    status: 'live' as const,
    probe: null,
    failures: 0,
    nextProbeAt: null,
  }))
  return store.saveByOperator(merchant, endpoints, Math.floor(Date.now() / 1_000))
}

/** Returns the processor time of all threads. The clock alone would count what other processes use. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
