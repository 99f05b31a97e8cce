import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'undici'
import { line, median } from './figures.js'
import { drive } from './load.js'
import { signPayments } from './payments.js'
import { startSide } from './sides.js'

/**
 * What searches do to verifies: the whole service over a made-up catalog, verifies alone and beside a storm of searches
 * that no answer is kept for, in turn. `npm run build && tsx bench/discovery-storm.ts 100000`.
 */
const [size = '100000'] = process.argv.slice(2)
const VERIFY_CONNECTIONS = [1, 16, 64]
const VERIFIES = 2_000
const ROUNDS = 3
const SEARCHERS = 4

if (!existsSync('dist/main.js')) throw new Error('run `npm run build` first')
const folder = mkdtempSync(join(tmpdir(), 'arcus-bench-'))
const file = join(folder, 'arcus.db')
const seed = new URL('discovery-seed.ts', import.meta.url).pathname
execFileSync(process.execPath, ['--import', 'tsx', seed, file, size])
const side = await startSide('arcus', { env: { DATABASE_URL: `sqlite:${file}` } })
try {
  await untilRead(side.url)
  await drive(side.url, '/verify', await signPayments(1_000), 16)
  for (const connections of VERIFY_CONNECTIONS) await compareVerifies(connections)
} finally {
  await side.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function compareVerifies(connections: number): Promise<void> {
  const alone: number[] = []
  const beside: number[] = []
  let searched = 0
  for (let round = 0; round < ROUNDS; round++) {
    alone.push((await drive(side.url, '/verify', await signPayments(VERIFIES), connections)).p99Ms)
    const payments = await signPayments(VERIFIES)
    const storm = startStorm(side.url)
    beside.push((await drive(side.url, '/verify', payments, connections)).p99Ms)
    searched += await storm.stop()
  }
  const [a, b] = [median(alone), median(beside)]
  line(
    `verify p99 at ${connections}: ${a.toFixed(1)} ms alone, ${b.toFixed(1)} ms beside ${searched} searches, x${(b / a).toFixed(2)}`,
  )
}

/** Each searcher asks for the next two letters as soon as it is answered. */
function startStorm(url: string): { stop(): Promise<number> } {
  const pool = new Pool(url, { connections: SEARCHERS })
  let isOver = false
  let count = 0
  const letters = 'etaoinshrdlu'
  const search = async () => {
    while (!isOver) {
      const word = `${letters[count % 12]}${letters[Math.floor(count / 12) % 12]}+${count++}`
      const response = await pool.request({ method: 'GET', path: `/discovery/resources?q=${word}` })
      await response.body.dump()
    }
  }
  const all = Promise.all(Array.from({ length: SEARCHERS }, search))
  return {
    async stop() {
      isOver = true
      await all
      await pool.close()
      return count
    },
  }
}

async function untilRead(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/discovery/resources`)
    if (response.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
