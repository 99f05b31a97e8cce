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
import { type ChildProcess, fork } from 'node:child_process'
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
import type { Request, Verdict } from './tester.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const copied = ['src', 'packages', 'test', 'migrations', 'package.json', 'tsconfig.json']
const linked = ['node_modules', 'contracts']
const COPIES = 2
/** A fault that blocks the thread of a test is noticed by this, milliseconds. */
const RUN_TIMEOUT_MS = 120_000

/** A copy of the sources, and the process that tests it. */
interface Copy {
  folder: string
  tester: ChildProcess | undefined
}

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
    for (const { folder, tester } of copies) {
      tester?.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

async function tryAll(
  chosen: readonly Fault[],
  places: ReadonlyMap<Fault, [string]>,
  copies: readonly Copy[],
): Promise<number> {
  const startedAt = Date.now()
  const waiting = [...chosen]
  const found: [Fault, Verdict][] = []
  const withoutFault = await Promise.all(
    copies.map(async (copy) => {
      const tried: string[] = []
      for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
        const [path] = places.get(fault) as [string]
        const verdict = await tryFault(copy, path, fault)
        found.push([fault, verdict])
        tried.push(...fault.tests)
        print(`${verdict.padEnd(13)} ${fault.promise}`)
      }
      if (tried.length === 0) return 'not noticed'
      return runTests(copy, { changed: undefined, tests: [...new Set(tried)] })
    }),
  )
  if (withoutFault.includes('noticed') || withoutFault.includes('does not load')) {
    print('the tests fail without any fault too, so nothing is proved; mend them first')
    return 1
  }
  const count = (verdict: Verdict) => found.filter(([, it]) => it === verdict).length
  const seconds = Math.round((Date.now() - startedAt) / 1000)
  print(`${count('noticed')} of ${chosen.length} faults noticed, in ${seconds} s`)
  const failures = found.filter(([fault, it]) => it !== 'noticed' && fault.isUnnoticed !== true)
  return failures.length === 0 ? 0 : 1
}

async function tryFault(copy: Copy, path: string, fault: Fault): Promise<Verdict> {
  const file = join(copy.folder, path)
  const text = readFileSync(file, 'utf8')
  writeFileSync(
    file,
    text.replace(patternOf(fault.find), () => fault.replace),
  )
  try {
    return await runTests(copy, { changed: path, tests: fault.tests })
  } finally {
    writeFileSync(file, text)
    copy.tester?.send({ changed: path, tests: [] } satisfies Request)
  }
}

async function runTests(copy: Copy, request: Request): Promise<Verdict> {
  copy.tester ??= startTester(copy.folder)
  const { tester } = copy
  tester.send(request)
  const timer = setTimeout(() => tester.kill('SIGKILL'), RUN_TIMEOUT_MS)
  const listening = new AbortController()
  const [answer] = await Promise.race(
    ['message', 'close'].map((event) => once(tester, event, listening)),
  )
  listening.abort()
  clearTimeout(timer)
  if (typeof answer === 'string') return answer as Verdict
  copy.tester = undefined
  return 'noticed'
}

function startTester(folder: string): ChildProcess {
  return fork(join(root, 'test', 'mutants', 'tester.ts'), {
    cwd: folder,
    stdio: 'ignore',
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, NODE_ENV: 'test' },
  })
}

function copyTree(): Copy {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-mutants-'))
  for (const name of copied.filter((it) => existsSync(join(root, it)))) {
    const isWanted = (path: string) => !/node_modules|dashboard/.test(path.slice(root.length))
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: isWanted })
  }
  for (const name of linked) symlinkSync(join(root, name), join(folder, name))
  return { folder, tester: undefined }
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
