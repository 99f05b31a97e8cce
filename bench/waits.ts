import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startCollector } from '../test/support/collector.js'
import { auditChain } from './audit.js'
import { startCountingProxy } from './counting-proxy.js'
import { line, short } from './figures.js'
import { drive } from './load.js'
import { signPayments } from './payments.js'
import { type SideOptions, startSide } from './sides.js'

/*
 * `npm run build && npm run bench -- waits [WORD …]` shows where the time of a settle and of a verify goes: stages by the traces, the
 * processor time of the main thread by room, and how often the node executes a payment.
 */

interface Load {
  name: string
  path: '/settle' | '/verify'
  connections: number
  count: number
  blockSeconds?: number
}

const loads: Load[] = [
  { name: 'settle, a block for each transaction', path: '/settle', connections: 50, count: 3_000 },
  {
    name: 'settle, blocks of 1 s',
    path: '/settle',
    connections: 256,
    count: 2_560,
    blockSeconds: 1,
  },
  {
    name: 'settle, blocks of 500 ms',
    path: '/settle',
    connections: 1,
    count: 60,
    blockSeconds: 0.5,
  },
  { name: 'verify', path: '/verify', connections: 64, count: 30_000 },
]
const STAGES = ['check', 'queue', 'batch', 'block', 'answer']
/** Rooms with less of the time than this are shown together. */
const LEAST_SHARE = 0.005

const maps = new Map<string, SourceMap | undefined>()

const words = process.argv.slice(2)
for (const load of loads) {
  if (words.length > 0 && !words.some((word) => load.name.includes(word))) continue
  line(`\n# ${load.name}, ${load.connections} connections`)
  await showTimes(load)
  await showCalls(load)
}

async function showTimes({ path, connections, count, blockSeconds }: Load) {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-profile-'))
  const collector = await startCollector()
  const side = await startSide('arcus', {
    ...(blockSeconds && { blockSeconds }),
    nodeArguments: ['--cpu-prof', '--cpu-prof-dir', folder],
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER_ARG: connections === 1 ? '1' : '0.2',
    },
  })
  const beganAt = performance.now()
  const cpuBefore = side.cpuMs()
  const load = await drive(side.url, path, await signPayments(count), connections)
  const cpuMs = side.cpuMs() - cpuBefore
  const { untrue, gasPerPayment } = await auditChain(side.chainUrl, load.told)
  const [perSecond, p50, p99] = [load.perSecond, load.p50Ms, load.p99Ms].map(short)
  line(`${perSecond}/s, p50 ${p50} ms, p99 ${p99} ms, ${load.failed} failed,`)
  line(`  ${untrue} untrue, ${short(gasPerPayment)} gas, ${short(cpuMs / count)} ms of processor`)
  const wallMs = performance.now() - beganAt
  await side.stop()
  await collector.stop()
  for (const stage of STAGES) {
    const spans = collector.spans.filter(({ name }) => name === stage)
    if (spans.length === 0) continue
    const ms = spans.map((it) => Number(BigInt(it.endTimeUnixNano) - BigInt(it.startTimeUnixNano)))
    const mean = ms.reduce((sum, it) => sum + it, 0) / ms.length / 1e6
    line(`  ${stage}: ${short(mean)} ms in the mean of ${spans.length}`)
  }
  line(`own time of the main thread, of ${short(wallMs / 1_000)} s and the start:`)
  for (const [room, share] of roomsOf(folder)) line(`  ${room}: ${short(share * 100)} %`)
  rmSync(folder, { recursive: true })
}

/** Returns the share of the time that the main thread spent in each room, the largest first. */
function roomsOf(folder: string): [string, number][] {
  const name = readdirSync(folder).find((it) => /\.\d+\.0\.\d+\.cpuprofile$/.test(it)) ?? ''
  const profile = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Profile
  const rooms = new Map(profile.nodes.map(({ id, callFrame }) => [id, roomOf(callFrame)]))
  const shares = new Map<string, number>()
  for (const id of profile.samples) {
    const room = rooms.get(id) ?? ''
    shares.set(room, (shares.get(room) ?? 0) + 1 / profile.samples.length)
  }
  const small = [...shares].filter(([, share]) => share < LEAST_SHARE)
  for (const [room] of small) shares.delete(room)
  shares.set(
    'all others',
    small.reduce((sum, [, share]) => sum + share, 0),
  )
  return [...shares].sort(([, a], [, b]) => b - a)
}

interface CallFrame {
  functionName: string
  url: string
  lineNumber: number
  columnNumber: number
}

interface Profile {
  nodes: { id: number; callFrame: CallFrame }[]
  samples: number[]
}

/** Names the folder of the source two levels deep, the package, or what the engine itself does. */
function roomOf({ functionName, url, lineNumber, columnNumber }: CallFrame): string {
  if (!url.startsWith('file:')) return url === '' ? functionName || 'native' : 'Node'
  const file = fileURLToPath(url)
  const entry = mapOf(file)?.findEntry(lineNumber, columnNumber)
  const original = entry !== undefined && 'originalSource' in entry ? entry.originalSource : ''
  const source = original ? resolve(dirname(file), original) : file
  const [, name] = source.split('node_modules/').length > 1 ? source.split(/.*node_modules\//) : []
  if (name !== undefined)
    return name
      .split('/')
      .slice(0, name.startsWith('@') ? 2 : 1)
      .join('/')
  return relative('.', dirname(source)).split('/').slice(0, 3).join('/')
}

/** Returns the source map of a file of the build; `undefined` for a package that the build left outside. */
function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) {
    const path = `${file}.map`
    const text = existsSync(path) ? readFileSync(path, 'utf8') : undefined
    maps.set(file, text === undefined ? undefined : new SourceMap(JSON.parse(text)))
  }
  return maps.get(file)
}

async function showCalls({ path, connections, count, blockSeconds }: Load) {
  const proxies: Awaited<ReturnType<typeof startCountingProxy>>[] = []
  const options: SideOptions = {
    ...(blockSeconds && { blockSeconds }),
    async between(chainUrl) {
      const proxy = await startCountingProxy(chainUrl)
      proxies.push(proxy)
      return proxy.url
    },
  }
  const side = await startSide('arcus', options)
  const [proxy] = proxies
  await drive(side.url, path, await signPayments(200), connections)
  proxy?.reset()
  await drive(side.url, path, await signPayments(count), connections)
  const counts = [...(proxy?.counts ?? [])].sort((a, b) => b[1] - a[1])
  line(`calls: ${counts.map(([method, calls]) => `${method} ${calls}`).join(', ')}`)
  line(`simulated by the node: ${short((proxy?.simulated() ?? 0) / count)} times a payment`)
  await side.stop()
  await proxy?.close()
}
