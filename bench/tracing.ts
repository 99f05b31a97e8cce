/**
 * The cost of traces: the same load on Arcus without a collector, with one, and with one that gets every trace, in turn,
 * on a fresh chain and a fresh process each time. `npm run build && npm run bench -- tracing [ROUNDS]`.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { auditChain } from './audit.js'
import { compare, line } from './figures.js'
import { drive } from './load.js'
import { signPayments } from './payments.js'
import { startSide } from './sides.js'

type Turn = 'off' | 'on' | 'all'

const rounds = Number(process.argv[2] ?? 5)
const WARM_UP = 500
const loads = [
  { path: '/verify', connections: 64, count: 12_000 },
  { path: '/settle', connections: 50, count: 3_000 },
] as const

/** Takes everything and reads nothing, so that it costs the machine little. */
let received = 0
const collector = createServer((request, response) => {
  request.on('data', (piece: Buffer) => {
    received += piece.length
  })
  request.on('end', () => response.end('{}'))
}).listen(0, '127.0.0.1')
await once(collector, 'listening')
const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`

for (const { path, connections, count } of loads) {
  const pace: Record<Turn, number[]> = { off: [], on: [], all: [] }
  for (let round = 0; round < rounds; round++) {
    // The order alternates, so that a machine that gets slower does not favour one of them.
    const turns: Turn[] = ['off', 'on', 'all']
    for (const turn of round % 2 === 0 ? turns : turns.reverse())
      pace[turn].push(await measure(turn, path, connections, count))
  }
  compare(`${path} at ${connections} with traces`, pace.on, pace.off, '/s')
  compare(`${path} at ${connections} with every trace`, pace.all, pace.off, '/s')
}
line(`${(received / 1e6).toFixed(0)} MB of spans received`)
collector.close()

async function measure(
  turn: Turn,
  path: '/verify' | '/settle',
  connections: number,
  count: number,
): Promise<number> {
  const side = await startSide('arcus', {
    env: {
      ...(turn !== 'off' && { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }),
      ...(turn === 'all' && { OTEL_TRACES_SAMPLER_ARG: '1' }),
    },
  })
  try {
    await drive(side.url, path, await signPayments(WARM_UP), connections)
    const load = await drive(side.url, path, await signPayments(count), connections)
    const { untrue } = await auditChain(side.chainUrl, load.told)
    if (load.failed > 0 || untrue > 0) line(`${turn}: ${load.failed} failed, ${untrue} untrue`)
    return load.perSecond
  } finally {
    await side.stop()
  }
}
