import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createChecksum } from '@arcus/protocol/x402/address'
import { createKeccak256 } from '@arcus/protocol/x402/keccak'
import { pino } from 'pino'
import type { Address } from 'viem'
import { createDiscovery } from '../src/directory/discovery/discovery.js'
import { merchantListRoutes } from '../src/directory/listings/merchant-list-routes.js'
import { createListingStore } from '../src/directory/store/sql/listings.js'
import { installErrorHandling } from '../src/http/errors.js'
import { createServer } from '../src/http/server.js'
import { openDatabase } from '../src/sql/sqlite/database.js'
import { createGroupCommit } from '../src/sql/sqlite/group-commit.js'
import { createSql } from '../src/sql/sqlite/sql.js'

/**
 * The catalog's routes alone over a seeded file, as a process of its own: `catalog-server.ts MERCHANTS ENDPOINTS`.
 * Tells its port on a line, ends with its standard input.
 */
const [merchants, endpointsEach] = process.argv.slice(2).map(Number) as [number, number]
const asset: Address = '0x3600000000000000000000000000000000000000'

const folder = mkdtempSync(join(tmpdir(), 'arcus-bench-'))
const database = openDatabase(join(folder, 'arcus.db'))
const commit = createGroupCommit(database)
const store = createListingStore(createSql(database, commit))
const checksum = createChecksum(await createKeccak256())

for (let from = 0; from < merchants; from += 500) {
  const count = Math.min(500, merchants - from)
  await Promise.all(Array.from({ length: count }, (_, i) => save(from + i)))
}

const app = createServer({
  logger: pino({ level: 'silent' }),
  bodyLimitBytes: 65_536,
  settleWaitSeconds: 30,
  trustProxy: false,
})
installErrorHandling(app)
const onFault = (fault: unknown) => process.stderr.write(`${String(fault)}\n`)
const discovery = createDiscovery({ source: database.name, store, onFault })
discovery.start()
await app.register(merchantListRoutes, {
  discovery: discovery.bodies,
  store,
  facilitator: 'https://pay.example.com',
  checksum,
  now: Date.now,
})
app.post('/save', async () => {
  await save(merchants >> 1)
  return {}
})
app.get('/turns', () => {
  const worstMs = Math.max(...turns)
  const over5Ms = turns.filter((ms) => ms > 5).length
  const answer = {
    count: turns.length,
    worstMs,
    over5Ms,
    rssMb: process.memoryUsage.rss() / 2 ** 20,
  }
  turns = []
  return answer
})

let turns: number[] = []
let turnedAt = performance.now()
let usedMs = cpuMs()
setImmediate(function turn() {
  const now = performance.now()
  const used = cpuMs()
  // On a machine shared with others the clock runs on while this process waits for a processor; what all its
  // threads used meanwhile is at least what its event loop did.
  const ms = Math.min(now - turnedAt, used - usedMs)
  // A shorter turn is the loop turning by itself.
  if (ms > 0.2) turns.push(ms)
  turnedAt = now
  usedMs = used
  setImmediate(turn)
})

await app.listen({ port: 0, host: '127.0.0.1' })
process.stdout.write(`${(app.server.address() as AddressInfo).port}\n`)
process.stdin.resume().once('end', () => {
  rmSync(folder, { recursive: true })
  process.exit()
})

function save(number: number): Promise<void> {
  const id = `merchant-${String(number).padStart(6, '0')}`
  const payTo: Address = `0x${(number + 1).toString(16).padStart(40, '0')}`
  const merchant = {
    id,
    owner: payTo,
    name: `Merchant ${number} of weather and maps`,
    description: 'Forecasts, tiles and places for agents, answered within a second.',
    network: 'eip155:5042',
    asset,
    payTo,
    isOfficial: false,
    isPartner: false,
    hiddenReason: null,
  }
  const endpoints = Array.from({ length: endpointsEach }, (_, i) => ({
    url: `https://api-${number}.example.com/v1/place-${i}`,
    method: 'GET' as const,
    title: `Forecast ${i} for a place`,
    description: 'The weather of the next days at a place, by its name or its coordinates.',
    pricing: 'fixed' as const,
    price: BigInt(1_000 * (i + 1)),
    asset,
    symbol: 'USDC',
    tags: ['weather', 'forecast'],
    example: { queryParams: { place: 'Lisbon', days: 3 } },
    inputSchema: {
      type: 'object',
      properties: { place: { type: 'string' }, days: { type: 'integer', maximum: 14 } },
      required: ['place'],
    },
    output: { type: 'json' },
    extras: {},
    isHosted: false,
    accepts: [
      { scheme: 'exact', network: 'eip155:5042', amount: String(1_000 * (i + 1)), asset, payTo },
    ],
    status: 'live' as const,
    probe: null,
    failures: 0,
    nextProbeAt: null,
  }))
  return store.saveByOperator(merchant, endpoints, Math.floor(Date.now() / 1000))
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
