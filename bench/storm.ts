import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { line, quantile } from './figures.js'
import { type Answered, drive } from './load.js'
import { signPayments } from './payments.js'
import { type SearchStorm, startSearchStorm } from './search-storm.js'
import { startSide } from './sides.js'

/**
 * Measures what searches do to verifies: the whole service over a made-up catalog is asked for verifies without a pause, while a
 * storm of searches that no answer is kept for rises and lies down again every second. Both halves of the figure are so
 * of the same minute. Beside it the same for a storm of `/health`, which is what any four callers cost on this machine.
 * `npm run build && npm run bench -- storm 100000`.
 */
const [size = '100000'] = process.argv.slice(2)
/** By connections, what takes about as long as all slices. */
const VERIFIES = new Map([
  [1, 12_000],
  [16, 48_000],
  [64, 48_000],
])
const SLICES = 24
const SLICE_MS = 1_000
/** Neither alone nor beside: so long after each change. */
const BETWEEN_MS = 150
const STORMS = { searches: '/discovery/resources?q=', 'calls of /health': '/health?' }

if (!existsSync('dist/main.js')) throw new Error('run `npm run build` first')
const folder = mkdtempSync(join(tmpdir(), 'arcus-bench-'))
const file = join(folder, 'arcus.db')
const seed = new URL('discovery-seed.ts', import.meta.url).pathname
execFileSync(process.execPath, ['--import', 'tsx', seed, file, size])
const side = await startSide('arcus', { env: { DATABASE_URL: `sqlite:${file}` } })
try {
  await untilRead(side.url)
  await drive(side.url, '/verify', await signPayments(1_000), 16)
  for (const connections of VERIFIES.keys())
    for (const [name, path] of Object.entries(STORMS))
      await compareVerifies(connections, name, path)
} finally {
  await side.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function compareVerifies(connections: number, name: string, path: string): Promise<void> {
  const payments = await signPayments(VERIFIES.get(connections) ?? 0)
  const storm = await startSearchStorm(side.url, path)
  const driving = drive(side.url, '/verify', payments, connections)
  const weather = await alternate(storm, driving)
  const { answers, failed } = await driving
  await storm.stop()
  const [alone, beside] = [within(answers, weather.calm), within(answers, weather.stormy)]
  const [a, b] = [quantile(alone, 0.99), quantile(beside, 0.99)]
  line(
    `verify p99 at ${connections}: ${a.toFixed(1)} ms alone (${alone.length}, p50 ${quantile(alone, 0.5).toFixed(1)}), ${b.toFixed(1)} ms beside ${weather.answered} ${name} (${beside.length}, p50 ${quantile(beside, 0.5).toFixed(1)}), x${(b / a).toFixed(2)}, ${failed} failed, ${weather.refused} refused`,
  )
}

interface Span {
  from: number
  to: number
}

/** Calm and storm in turn, until the slices or the verifies are over. */
async function alternate(storm: SearchStorm, driving: Promise<unknown>) {
  const [calm, stormy]: [Span[], Span[]] = [[], []]
  let [answered, refused] = [0, 0]
  let isOver = false
  void driving.then(() => {
    isOver = true
  })
  for (let i = 0; i < SLICES && !isOver; i++) {
    const isStormy = i % 2 === 1
    if (isStormy) storm.rise()
    const from = performance.now() + BETWEEN_MS
    await sleep(SLICE_MS)
    if (!isOver) (isStormy ? stormy : calm).push({ from, to: performance.now() })
    if (!isStormy) continue
    const figures = await storm.lie()
    answered += figures.answered
    refused += figures.refused
  }
  return { calm, stormy, answered, refused }
}

/** Latencies of what was asked and answered within one of the spans. */
function within(answers: readonly Answered[], spans: readonly Span[]): number[] {
  return answers
    .filter(({ askedAt, ms }) =>
      spans.some(({ from, to }) => askedAt >= from && askedAt + ms <= to),
    )
    .map(({ ms }) => ms)
}

async function untilRead(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/discovery/resources`)
    if (response.status === 200) return
    await sleep(500)
  }
}
