import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drawGrowth } from './discovery-chart.js'
import { type BenchServer, type Measured, startBenchServer } from './discovery-client.js'
import { type Kind, questions, repeated, warmMerchants } from './discovery-questions.js'
import { line, median } from './figures.js'
import { startIdleProcess } from './idle-process.js'
import { countMatches } from './like-count.js'
import type { LoopTurns } from './loop-turns.js'

/**
 * Discovery over made-up catalogs: `npm run bench -- discovery 1000 10000`, up to a million unless said. A turn is
 * how long the event loop of the main thread did nothing else; beside stands what a process saw meanwhile that does
 * nothing, for on a shared machine the clock runs on while nobody works. CPU is that of all threads. Given all sizes it
 * draws `docs/bench-discovery.svg`.
 */
const ALL_SIZES = [1_000, 10_000, 100_000, 1_000_000]
const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : ALL_SIZES
const SAVES = 30
/** A part of a second; watching the turns takes most of it. */
const AT_REST_CPU_MS = 150
const MAX_REST_SECONDS = 60
const CHECKED = ['weather', 'quokka', 'a', 'zephyr', '%', 'be']

const measured: Measured[] = []
/** The time that the server had used before the questions that are being asked. */
let usedMs = 0
const idle = await startIdleProcess()
for (const size of sizes) await measure(size)
await idle.stop()
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
  await idle.turns()
  const server = await startBenchServer(file)
  try {
    const { readMs, ...turns } = server.started
    line(`\n## ${size} endpoints\n`)
    line(
      `read in ${(readMs / 1_000).toFixed(1)} s (aim ${size > 100_000 ? 25 : 3} s); RSS ${(await server.state()).rssMb.toFixed(0)} MB\n`,
    )
    const { worst, over5Ms } = besideIdle(turns, await idle.turns())
    line(`Meanwhile worst turn ${worst} ms, turns over 5 ms ${over5Ms}.\n`)
    await warmUp(server, size)
    await untilAtRest(server)
    usedMs = (await server.state()).cpuMs
    await idle.turns()
    line('| | target ms | p50 | p99 | worst | CPU each | worst turn | turns over 5 ms | RSS MB |')
    line('|---|---|---|---|---|---|---|---|---|')
    for (const kind of [...questions(size), repeated]) await report(server, size, kind)
    await reportSaves(server, size)
    line('\nTurns: by the clock, by the processor time they took, by the clock in an idle process.')
    await checkTotals(server, file)
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Waits until the memory of reading is given back. */
async function untilAtRest(server: BenchServer): Promise<void> {
  for (let second = 0; second < MAX_REST_SECONDS; second++) {
    const before = (await server.state()).cpuMs
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    if ((await server.state()).cpuMs - before < AT_REST_CPU_MS) return
  }
}

/** The first questions of a process compile it; what is measured is a server that has run for a while. */
async function warmUp(server: BenchServer, size: number): Promise<void> {
  for (let i = 0; i < 300; i++) {
    await server.ask(`/discovery/resources?limit=${(i % 100) + 1}`)
    if (i < 20) await server.ask(`/discovery/resources?q=${'warmth'.slice(i % 6)}${i % 10}`)
  }
  for (const path of warmMerchants(size)) await server.ask(path)
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
  const { rssMb, cpuMs, ...turns } = await server.state()
  const { worst, over5Ms } = besideIdle(turns, await idle.turns())
  const cells = [p50, p99, sorted.at(-1) ?? 0, (cpuMs - usedMs) / times.length].map((ms) =>
    ms.toFixed(1),
  )
  const cellsOfTurns = `${worst} | ${over5Ms}`
  line(
    `| ${name} | ${target ?? '–'} | ${cells.join(' | ')} | ${cellsOfTurns} | ${rssMb.toFixed(0)} |`,
  )
  usedMs = cpuMs
  measured.push({ size, name, p50Ms: p50 })
}

function besideIdle(server: LoopTurns, idle: LoopTurns): { worst: string; over5Ms: string } {
  const worst = [server.worstMs, server.worstWorkMs, idle.worstMs].map((ms) => ms.toFixed(1))
  const over5Ms = [server.over5Ms, server.over5MsOfWork, idle.over5Ms]
  return { worst: worst.join(' / '), over5Ms: over5Ms.join(' / ') }
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
