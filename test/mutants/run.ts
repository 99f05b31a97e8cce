/**
 * Puts small faults into a copy of the sources, one at a time, and says whether the tests of the room notice.
 *
 *   npm run test:mutants                 every fault of `faults.ts`
 *   npm run test:mutants -- --money      those of the money path
 *   npm run test:mutants -- --check      none: only says whether each text is found
 *   npm run test:mutants -- WORD ...     those whose promise has one of these words
 *
 * Ends with 1 when a fault stays unnoticed that is not known to, or when its text is not found exactly once.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Fault, faults } from './faults.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const copied = ['src', 'packages', 'test', 'migrations', 'package.json', 'tsconfig.json']
const linked = ['node_modules', 'contracts']
const COPIES = 2
/** A fault that makes a test hang is noticed by this, milliseconds. */
const TEST_TIMEOUT_MS = 10_000
const RUN_TIMEOUT_MS = 120_000

/** Files run one after another in a thread, with nothing set up before them. */
const config = `export default {
  resolve: { tsconfigPaths: true },
  test: { include: ['test/**/*.test.ts'], isolate: false, pool: 'threads' },
}
`

type Verdict = 'noticed' | 'not noticed' | 'does not load'

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const chosen = faults.filter((fault) => isChosen(fault, args))
  const texts = readSources(root)
  const places = new Map(chosen.map((fault) => [fault, placeOf(fault, texts)]))
  const misplaced = chosen.filter((fault) => places.get(fault)?.length !== 1)
  for (const fault of misplaced) {
    print(`found ${places.get(fault)?.length} times instead of once: ${fault.promise}`)
    print(`  ${fault.find}`)
  }
  const missing = [...new Set(chosen.flatMap(({ tests }) => tests))].filter(
    (name) => !existsSync(join(root, name)),
  )
  for (const name of missing) print(`there is no ${name}`)
  if (misplaced.length > 0 || missing.length > 0) return 1
  if (args.includes('--check')) {
    print(`${chosen.length} faults, each found once`)
    return 0
  }

  const copies = Array.from({ length: COPIES }, copyTree)
  try {
    return await tryAll(chosen, places as Map<Fault, [string]>, copies)
  } finally {
    for (const copy of copies) rmSync(copy, { recursive: true, force: true })
  }
}

async function tryAll(
  chosen: readonly Fault[],
  places: ReadonlyMap<Fault, [string]>,
  copies: readonly string[],
): Promise<number> {
  const [first] = copies as [string]
  const all = [...new Set(chosen.flatMap(({ tests }) => tests))]
  if ((await runTests(first, all)) !== 'not noticed') {
    print('the tests fail without any fault; mend them first')
    return 1
  }
  const startedAt = Date.now()
  const waiting = [...chosen]
  const found: [Fault, Verdict][] = []
  await Promise.all(
    copies.map(async (copy) => {
      for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
        const [path] = places.get(fault) as [string]
        const verdict = await tryFault(copy, path, fault)
        found.push([fault, verdict])
        print(`${verdict.padEnd(13)} ${fault.promise}`)
      }
    }),
  )
  const count = (verdict: Verdict) => found.filter(([, it]) => it === verdict).length
  const seconds = Math.round((Date.now() - startedAt) / 1000)
  print(`${count('noticed')} of ${chosen.length} faults noticed, in ${seconds} s`)
  const failures = found.filter(([fault, it]) => it !== 'noticed' && fault.isUnnoticed !== true)
  return failures.length === 0 ? 0 : 1
}

async function tryFault(copy: string, path: string, fault: Fault): Promise<Verdict> {
  const file = join(copy, path)
  const text = readFileSync(file, 'utf8')
  writeFileSync(
    file,
    text.replace(patternOf(fault.find), () => fault.replace),
  )
  try {
    return await runTests(copy, fault.tests)
  } finally {
    writeFileSync(file, text)
  }
}

async function runTests(folder: string, tests: readonly string[]): Promise<Verdict> {
  const report = join(folder, 'report.json')
  rmSync(report, { force: true })
  const options = ['--bail', '1', '--testTimeout', String(TEST_TIMEOUT_MS), '--maxWorkers', '1']
  const output = ['--reporter', 'json', '--outputFile', report]
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', ...options, ...output, ...tests], {
    cwd: folder,
    stdio: 'ignore',
    env: { ...process.env, NODE_ENV: 'test' },
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), RUN_TIMEOUT_MS)
  const [code] = await once(child, 'close')
  clearTimeout(timer)
  if (code === 0) return 'not noticed'
  if (!existsSync(report)) return 'noticed'
  const { numFailedTests, numTotalTests } = JSON.parse(readFileSync(report, 'utf8'))
  return numFailedTests > 0 || numTotalTests > 0 ? 'noticed' : 'does not load'
}

function copyTree(): string {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-mutants-'))
  for (const name of copied.filter((it) => existsSync(join(root, it)))) {
    const isWanted = (path: string) => !/node_modules|dashboard/.test(path.slice(root.length))
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: isWanted })
  }
  for (const name of linked) symlinkSync(join(root, name), join(folder, name))
  writeFileSync(join(folder, 'vitest.config.js'), config)
  return folder
}

function readSources(folder: string): Map<string, string> {
  const paths = ['src', 'packages']
    .filter((room) => existsSync(join(folder, room)))
    .flatMap((room) =>
      readdirSync(join(folder, room), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(room, name),
      ),
    )
    .filter((path) => path.endsWith('.ts') && !/dashboard\/|node_modules\/|dist\//.test(path))
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]))
}

/** The files with this text, once for each time that it is found. */
function placeOf({ find }: Fault, texts: ReadonlyMap<string, string>): string[] {
  const pattern = new RegExp(patternOf(find), 'g')
  return [...texts].flatMap(([path, text]) => [...text.matchAll(pattern)].map(() => path))
}

/** The text however its lines are broken. */
function patternOf(text: string): RegExp {
  const words = text.trim().split(/\s+/)
  return new RegExp(words.map((it) => it.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('\\s+'))
}

function isChosen({ promise, isMoney }: Fault, args: readonly string[]): boolean {
  const words = args.filter((it) => !it.startsWith('--'))
  if (args.includes('--money') && !isMoney) return false
  return words.length === 0 || words.some((word) => promise.includes(word))
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
