import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { line, quantile } from './figures.js'
import { drive } from './load.js'
import { signPayments } from './payments.js'
import { seedCatalog } from './seeded-catalog.js'
import { startSide } from './sides.js'

/**
 * Settles next to long reads, each kind by itself: a month of activity of one merchant after another, the list of all
 * merchants, and searches that no answer is kept for.
 * `npm run build && npm run bench -- settle-storm 20000 "nothing activity list searches"`.
 */
const [size = '20000', kinds = 'nothing activity list searches'] = process.argv.slice(2)
const SETTLES = 6_000
const CONNECTIONS = 16
const READERS = 3
const MERCHANTS_PAID = 200
const LETTERS = 'etaoinshrdlu'

if (process.argv[2] === 'reader') await read(process.argv[3] ?? '', process.argv[4] ?? '')
else await measure()

async function measure(): Promise<void> {
  if (!existsSync('dist/main.js')) throw new Error('run `npm run build` first')
  const folder = mkdtempSync(join(tmpdir(), 'arcus-bench-'))
  const file = join(folder, 'arcus.db')
  await seedCatalog(file, { endpoints: Number(size), paidMerchants: MERCHANTS_PAID })
  for (const kind of kinds.split(' ')) {
    const side = await startSide('arcus', { env: { DATABASE_URL: `sqlite:${file}` } })
    await untilRead(side.url)
    await drive(side.url, '/settle', await signPayments(1_500), CONNECTIONS)
    const payments = await signPayments(SETTLES)
    const reader = kind === 'nothing' ? undefined : await startReader(side.url, kind)
    const cpuBefore = side.cpuMs()
    const { p50Ms, p99Ms, perSecond, failed, answers } = await drive(
      side.url,
      '/settle',
      payments,
      CONNECTIONS,
    )
    const worst = quantile(
      answers.map(({ ms }) => ms),
      0.999,
    )
    const cpu = side.cpuMs() - cpuBefore
    const answered = await reader?.stop()
    line(
      `beside ${kind}: settle p50 ${p50Ms.toFixed(1)}, p99 ${p99Ms.toFixed(1)}, p99.9 ${worst.toFixed(1)} ms, ${perSecond.toFixed(0)}/s, ${failed} failed; ${answered ?? 0} reads; CPU ${(cpu / 1000).toFixed(1)} s`,
    )
    await side.stop()
  }
  rmSync(folder, { recursive: true, force: true })
}

async function startReader(url: string, kind: string) {
  const script = new URL(import.meta.url).pathname
  const child = spawn(process.execPath, ['--import', 'tsx', script, 'reader', url, kind], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface(child.stdout)
  await once(lines, 'line')
  return {
    async stop(): Promise<number> {
      const told = once(lines, 'line')
      child.stdin.end('stop\n')
      const [text] = (await told) as [string]
      await once(child, 'exit')
      return Number(text)
    },
  }
}

/** Reads as fast as it is answered, over a few connections, until its input ends. */
async function read(url: string, kind: string): Promise<void> {
  const pool = new Pool(url, { connections: READERS })
  const first = await pool.request({ method: 'GET', path: '/api/merchants' })
  const { merchants } = (await first.body.json()) as { merchants: { id: string }[] }
  const ids = merchants
    .map(({ id }) => id)
    .sort()
    .slice(0, MERCHANTS_PAID)
  let asked = 0
  let answered = 0
  let isOver = false
  const pathOf = (number: number) => {
    if (kind === 'activity') return `/badge/${ids[number % ids.length]}.svg`
    if (kind === 'list') return '/api/merchants'
    return `/discovery/resources?q=${LETTERS[number % 12]}${LETTERS[Math.floor(number / 12) % 12]}+${number}`
  }
  const one = async () => {
    while (!isOver) {
      const { body, statusCode } = await pool.request({ method: 'GET', path: pathOf(asked++) })
      await body.dump({ limit: 1e9 })
      if (statusCode === 200) answered++
      else await sleep(5)
    }
  }
  process.stdout.write('ready\n')
  const running = Array.from({ length: READERS }, one)
  await once(process.stdin, 'data')
  isOver = true
  await Promise.all(running)
  process.stdout.write(`${answered}\n`)
  process.exit()
}

async function untilRead(url: string): Promise<void> {
  while ((await fetch(`${url}/discovery/resources`)).status !== 200) await sleep(500)
}
