import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { createCatalogAnswers } from '../src/discovery/catalog-answers.js'
import { createCatalogIndex } from '../src/discovery/catalog-index.js'
import { createCatalogSearch } from '../src/discovery/catalog-search.js'
import { discoveryRoutes } from '../src/discovery/routes.js'
import { createTurns } from '../src/discovery/turns.js'
import { installErrorHandling } from '../src/http/errors.js'
import { createServer } from '../src/http/server.js'
import { openDatabase } from '../src/store/sqlite/database.js'
import { createGroupCommit } from '../src/store/sqlite/group-commit.js'
import { createListingStore } from '../src/store/sqlite/listings.js'
import { watchTurns } from './loop-turns.js'

/**
 * The discovery routes alone over a seeded file, as a process of its own: `discovery-server.ts FILE`. Tells its port
 * and how long reading the catalog took on a line, ends with its standard input.
 */
const [file] = process.argv.slice(2) as [string]
const database = openDatabase(file)
const store = createListingStore(database, createGroupCommit(database))
const turns = createTurns()
const readTurns = watchTurns()
const onFault = (fault: unknown) => process.stderr.write(`${String(fault)}\n`)
const index = createCatalogIndex({ source: store, turns, onFault })
const search = createCatalogSearch(turns)

const app = createServer({
  logger: pino({ level: 'silent' }),
  bodyLimitBytes: 65_536,
  settleWaitSeconds: 30,
  trustProxy: false,
})
installErrorHandling(app)
const answers = createCatalogAnswers({ index, search, listings: store, turns })
await app.register(discoveryRoutes, { answers })
app.get('/turns', () => ({ ...readTurns(), rssMb: process.memoryUsage.rss() / 2 ** 20 }))
app.post<{ Querystring: { title: string } }>('/save', async ({ query }) => {
  const before = performance.now()
  await save(query.title)
  return { ms: performance.now() - before }
})

readTurns()
const startedAt = performance.now()
index.start()
while (!index.isReady()) await new Promise((resolve) => setTimeout(resolve, 20))
const started = { buildMs: performance.now() - startedAt, ...readTurns() }
await app.listen({ port: 0, host: '127.0.0.1' })
const { port } = app.server.address() as AddressInfo
process.stdout.write(`${JSON.stringify({ port, ...started })}\n`)
process.stdin.resume().once('end', () => process.exit())

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
