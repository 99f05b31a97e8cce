import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drawGrowth } from './discovery-chart.js'
import { type BenchServer, type Measured, startBenchServer } from './discovery-client.js'
import { type Kind, questions, repeated } from './discovery-questions.js'
import { line, median } from './figures.js'
import { countMatches } from './like-count.js'

/**
 * Discovery over made-up catalogs: `npm run bench:discovery -- 1000 10000`, up to a million unless said. A turn is
 * how long the event loop did nothing else; CPU is that of all threads, which tells more than the clock on a busy machine. Given all sizes it draws `docs/bench-discovery.svg`.
 */
const ALL_SIZES = [1_000, 10_000, 100_000, 1_000_000]
const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : ALL_SIZES
const SAVES = 30
const CHECKED = ['weather', 'quokka', 'a', 'zephyr', '%', 'be']

const measured: Measured[] = []
/** What the server had used before the questions that are being asked. */
let usedMs = 0
for (const size of sizes) await measure(size)
if (sizes.length >= ALL_SIZES.length) {
  const file = new URL('../docs/bench-discovery.svg', import.meta.url)
  mkdirSync(new URL('.', file), { recursive: true })
  writeFileSync(file, drawGrowth(measured))
}

async function measure(size: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-bench-'))
  const file = join(folder, 'arcus.db')
  const seed = new URL('discovery-seed.ts', import.meta.url).pathname
  execFileSync(process.execPath, ['--import', 'tsx', seed, file, String(size)])
  const server = await startBenchServer(file)
  try {
    const { buildMs, worstMs, over5Ms } = server.started
    line(`\n## ${size} endpoints\n`)
    line(
      `read in ${(buildMs / 1_000).toFixed(1)} s, worst turn ${worstMs.toFixed(1)} ms, ${over5Ms} over 5 ms; RSS ${(await server.state()).rssMb.toFixed(0)} MB\n`,
    )
    await warmUp(server)
    line('| | target ms | p50 | p99 | worst | CPU each | worst turn | turns over 5 ms | RSS MB |')
    line('|---|---|---|---|---|---|---|---|---|')
    for (const kind of [...questions(size), repeated]) await report(server, size, kind)
    await reportSaves(server, size)
    await checkTotals(server, file)
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The first questions of a process compile it. */
async function warmUp(server: BenchServer): Promise<void> {
  for (let i = 0; i < 300; i++) {
    await server.ask(`/discovery/resources?limit=${(i % 100) + 1}`)
    if (i < 20) await server.ask(`/discovery/resources?q=${'warmth'.slice(i % 6)}${i % 10}`)
  }
  usedMs = (await server.state()).cpuMs
}

async function report(server: BenchServer, size: number, { name, target, paths }: Kind) {
  const times: number[] = []
  for (const path of paths) times.push((await server.ask(path)).ms)
  await row(server, size, { name, target, times })
}

/** The time of the save itself; whether the next answer has it is looked at each time. */
async function reportSaves(server: BenchServer, size: number): Promise<void> {
  const times: number[] = []
  for (let i = 0; i < SAVES; i++) {
    const { body } = await server.ask(`/save?title=Saved+again${i}x`, 'POST')
    times.push(Number(body.ms))
    const next = await server.ask(`/discovery/resources?q=again${i}x`)
    if ((next.body.pagination as { total: number }).total !== 3)
      throw new Error('a save was missed')
  }
  await row(server, size, { name: 'save, then found', target: 5, times })
}

async function row(
  server: BenchServer,
  size: number,
  { name, target, times }: { name: string; target: number | undefined; times: number[] },
): Promise<void> {
  const sorted = [...times].sort((a, b) => a - b)
  const p99 = sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0
  const p50 = median(times)
  const { worstMs, over5Ms, rssMb, cpuMs } = await server.state()
  const cells = [p50, p99, sorted.at(-1) ?? 0, (cpuMs - usedMs) / times.length, worstMs].map((ms) =>
    ms.toFixed(1),
  )
  line(`| ${name} | ${target ?? '–'} | ${cells.join(' | ')} | ${over5Ms} | ${rssMb.toFixed(0)} |`)
  usedMs = cpuMs
  measured.push({ size, name, p50Ms: p50 })
}

async function checkTotals(server: BenchServer, file: string): Promise<void> {
  for (const word of CHECKED) {
    const { body } = await server.ask(`/discovery/resources?q=${encodeURIComponent(word)}`)
    const { total } = body.pagination as { total: number }
    const expected = countMatches(file, word)
    if (total !== expected) throw new Error(`${word}: ${total} found, ${expected} are there`)
  }
  line(`\ntotals of ${CHECKED.join(', ')} are those of a look at every row`)
}
