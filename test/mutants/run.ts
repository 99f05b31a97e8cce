/**
 * Puts small faults into a copy of the sources, one at a time, and says whether the nearest tests notice. It draws from every
 * function of the code that decides about money.
 *
 *   npm run test:mutants                  a hundred faults, others each time
 *   npm run test:mutants -- --seed WORD   the hundred of an earlier run, which printed this word
 *   npm run test:mutants -- --count 40    so many instead of a hundred
 *   npm run test:mutants -- --gate        the sample of `.ci/run`: always the same, and all that are written by hand
 *   npm run test:mutants -- --all         every fault there is, which takes hours
 *   npm run test:mutants -- WORD ...      those whose name has one of these words
 *   npm run test:mutants -- --list ...    none: prints them
 *
 * Ends with 1 when one of `equal.ts` is noticed or gone, or when fewer are noticed than `FLOOR` says. The others are printed:
 * they show where tests are thin. A test that ran out of its time has noticed a fault if it does so twice with it, and not
 * without it.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { equal } from './equal.js'
import { type Mutant, mutantsOf } from './mutate.js'
import type { Answer, Request } from './tester.js'
import { createTestFinder } from './tests-of.js'
import { written } from './written.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const copied = ['src', 'packages', 'test', 'migrations', 'package.json', 'tsconfig.json']
const linked = ['node_modules', 'contracts', 'examples', 'docs']
const COPIES = 2
/** A tester whose thread a fault blocks is killed after this, milliseconds. */
const RUN_TIMEOUT_MS = 120_000

/** A fault may write for ever, and temporary files may be in memory: no file of a tester gets larger, blocks of 512 bytes. */
const MAX_FILE_BLOCKS = 1_000_000

/** What holds, moves, counts or promises money. */
const MONEY =
  /^(?:src\/(?:facilitator|chain|sql)|src\/directory\/(?:activity|listings|paid-checks|seen-in-payments|session)|packages\/(?:client|merchant)\/src)\//

/** The faults of a draw. */
const DRAWN = 100

/** The faults that the gate draws, besides those written by hand. */
const DRAWN_BY_GATE = 30

/** The gate begins no other fault after this, milliseconds: a slow machine tries fewer. */
const GATE_MS = 8 * 60_000

/** The share that is noticed at least of the faults that were tried and did not time out. Nine of ten are the aim. */
const FLOOR = 0.6

interface Fault extends Mutant {
  tests: readonly string[]
  name: string
}

/** A copy of the sources, and the process that tests it. */
interface Copy {
  folder: string
  tester: ChildProcess | undefined
}

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const files = execFileSync('git', ['ls-files', 'src', 'packages', 'test'], { cwd: root })
    .toString()
    .split('\n')
    .filter((it) => it.endsWith('.ts') && existsSync(join(root, it)))
  const made = readFaults(files)
  const byHand = readWritten()
  const all = [...made, ...byHand]
  const gone = equal.filter(([name]) => !all.some((fault) => fault.name === name))
  for (const [name] of gone) print(`equal, and not among the faults: ${name}`)
  const missing = byHand.flatMap(({ tests }) => tests).filter((it) => !existsSync(join(root, it)))
  for (const name of new Set(missing)) print(`there is no ${name}`)
  if (gone.length > 0 || missing.length > 0) return 1
  const chosen = choose(args, made, byHand)
  if (args.includes('--list')) {
    for (const { name } of chosen) print(name)
    print(`${chosen.length} faults`)
    return 0
  }

  const copies = Array.from({ length: COPIES }, copyTree)
  try {
    const until = args.includes('--gate') ? Date.now() + GATE_MS : Number.POSITIVE_INFINITY
    return await tryAll(chosen, copies, until)
  } finally {
    for (const copy of copies) {
      end(copy)
      rmSync(copy.folder, { recursive: true, force: true, maxRetries: 5 })
    }
  }
}

function readFaults(files: readonly string[]): Fault[] {
  const testsOf = createTestFinder(root, files)
  return files
    .filter((file) => MONEY.test(file))
    .flatMap((file) => {
      const tests = testsOf(file)
      return mutantsOf(file, textOf(file)).map((mutant) => {
        const name = `${file} ${mutant.place}: ${mutant.change}`
        return { ...mutant, tests, name }
      })
    })
}

function readWritten(): Fault[] {
  return written.map(({ file, promise, find, replace, tests }) => {
    const [before, after, ...more] = textOf(file).split(find)
    if (before === undefined || after === undefined || more.length > 0) {
      throw new Error(`not found once in ${file}: ${find}`)
    }
    const end = before.length + find.length
    const place = { file, place: 'by hand', change: promise, start: before.length, end }
    return { ...place, text: replace, tests, name: `${file} by hand: ${promise}` }
  })
}

function choose(args: readonly string[], made: readonly Fault[], byHand: readonly Fault[]) {
  if (args.includes('--gate')) return [...byHand, ...draw(made, 'gate', DRAWN_BY_GATE)]
  if (args.includes('--all')) return [...byHand, ...made]
  const isValue = (i: number) => ['--seed', '--count'].includes(args[i - 1] ?? '')
  const words = args.filter((it, i) => !it.startsWith('--') && !isValue(i))
  if (words.length > 0) {
    return [...byHand, ...made].filter(({ name }) => words.some((word) => name.includes(word)))
  }
  const seed = argumentOf(args, '--seed') ?? randomBytes(4).toString('hex')
  const count = Number(argumentOf(args, '--count') ?? DRAWN)
  print(`${count} of ${made.length} faults, drawn with --seed ${seed}`)
  return draw(made, seed, count)
}

function argumentOf(args: readonly string[], name: string): string | undefined {
  const at = args.indexOf(name)
  return at < 0 ? undefined : args[at + 1]
}

/** Its name gives each fault its number, so that a change of one file hardly changes what is drawn of the others. */
function draw(faults: readonly Fault[], seed: string, count: number): Fault[] {
  const numberOf = ({ name }: Fault) => createHash('sha256').update(`${seed} ${name}`).digest('hex')
  return faults
    .map((fault) => [numberOf(fault), fault] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, count)
    .map(([, fault]) => fault)
}

async function tryAll(
  chosen: readonly Fault[],
  copies: readonly Copy[],
  until: number,
): Promise<number> {
  const startedAt = Date.now()
  const waiting = [...chosen]
  const found: [Fault, Answer][] = []
  await Promise.all(
    copies.map(async (copy) => {
      while (Date.now() < until) {
        const fault = waiting.shift()
        if (fault === undefined) return
        const answer = await tryFault(copy, fault)
        found.push([fault, answer])
        print(`${answer.verdict.padEnd(13)} ${fault.name}${answer.by && ` | ${answer.by}`}`)
      }
    }),
  )
  // A test that fails without a fault has noticed none. A fault may also have left something behind in its tester.
  const noticing = found.filter(([, { verdict }]) => verdict === 'noticed')
  const unfit = await findUnfit(copies, [...new Set(noticing.map(([, { by }]) => fileOf(by)))])
  for (const [, answer] of noticing) {
    if (unfit.has(fileOf(answer.by))) answer.verdict = 'not noticed'
  }
  const isEqual = ({ 0: { name } }: (typeof found)[number]) => equal.some(([it]) => it === name)
  const isNoticed = ({ 1: { verdict } }: (typeof found)[number]) => verdict === 'noticed'
  const different = found.filter((it) => !isEqual(it))
  const unnoticed = different.filter((it) => !isNoticed(it))
  const explained = found.filter((it) => isEqual(it) && isNoticed(it))
  for (const [{ name }, { verdict }] of unnoticed) print(`${verdict}: ${name}`)
  for (const [{ name }] of explained) print(`equal, and noticed: ${name}`)
  const late = unnoticed.filter(([, { verdict }]) => verdict === 'timed out').length
  const [all, seconds] = [different.length - late, Math.round((Date.now() - startedAt) / 1000)]
  const noticed = different.length - unnoticed.length
  const [same, untried] = [found.length - different.length, waiting.length]
  print(`${noticed} of ${all} noticed, ${same} change nothing, in ${seconds} s`)
  print(`${late} timed out, and ${untried} were not tried for lack of time`)
  return explained.length === 0 && noticed >= FLOOR * all ? 0 : 1
}

/** Returns the file of a test. */
function fileOf(by: string): string {
  return by.split(' > ')[0] ?? by
}

/** Returns the tests that fail without any fault, or take too long to tell a fault from a busy machine. */
async function findUnfit(copies: readonly Copy[], tests: readonly string[]): Promise<Set<string>> {
  const waiting = [...tests]
  const unfit = new Set<string>()
  await Promise.all(
    copies.map(async (copy) => {
      for (let test = waiting.shift(); test !== undefined; test = waiting.shift()) {
        const { verdict, by } = await runTests(copy, { changed: undefined, tests: [test] })
        if (verdict === 'not noticed') continue
        unfit.add(test)
        print(
          `left out, ${verdict === 'timed out' ? 'too slow' : 'fails by itself'}: ${by || test}`,
        )
      }
    }),
  )
  return unfit
}

async function tryFault(copy: Copy, fault: Fault): Promise<Answer> {
  const path = join(copy.folder, fault.file)
  const code = readFileSync(path, 'utf8')
  const faulty = code.slice(0, fault.start) + fault.text + code.slice(fault.end)
  /** Runs tests with the fault, or without it. */
  const run = (tests: readonly string[], isFaulty = true) => {
    writeFileSync(path, isFaulty ? faulty : code)
    return runTests(copy, { changed: fault.file, tests })
  }
  try {
    return await tryTests(fault.tests, run)
  } finally {
    writeFileSync(path, code)
    copy.tester?.send({ changed: fault.file, tests: [] } satisfies Request)
  }
}

/** Runs the tests of a fault until one notices it. */
async function tryTests(
  tests: readonly string[],
  run: (tests: readonly string[], isFaulty?: boolean) => Promise<Answer>,
): Promise<Answer> {
  let answer: Answer = { verdict: 'not noticed', by: '' }
  for (let rest = tests; rest.length > 0; ) {
    answer = await run(rest)
    const late = fileOf(answer.by)
    if (answer.verdict !== 'timed out' || !rest.includes(late)) return answer
    // A busy machine is late as well. What hangs is late with the fault once more, and not without it.
    answer = await run([late])
    if (answer.verdict === 'timed out' && (await run([late], false)).verdict === 'not noticed') {
      return { ...answer, verdict: 'noticed' }
    }
    if (answer.verdict !== 'not noticed' && answer.verdict !== 'timed out') return answer
    rest = rest.slice(rest.indexOf(late) + 1)
  }
  return answer
}

async function runTests(copy: Copy, request: Request): Promise<Answer> {
  copy.tester ??= startTester(copy.folder)
  const { tester } = copy
  tester.send(request)
  const timer = setTimeout(() => end(copy), RUN_TIMEOUT_MS)
  const listening = new AbortController()
  const [answer] = await Promise.race(
    ['message', 'close'].map((event) => once(tester, event, listening)),
  )
  listening.abort()
  clearTimeout(timer)
  if (typeof answer === 'object' && answer !== null) return answer as Answer
  end(copy)
  copy.tester = undefined
  return { verdict: 'timed out', by: 'its thread was blocked' }
}

/** Starts a tester, with a folder of its own for temporary files. */
function startTester(folder: string): ChildProcess {
  const temporary = join(folder, 'tmp')
  mkdirSync(temporary)
  const tester = join(root, 'test', 'mutants', 'tester.ts')
  const command = `ulimit -f ${MAX_FILE_BLOCKS} && exec "$0" --import tsx "$1"`
  return spawn('sh', ['-c', command, process.execPath, tester], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    detached: true,
    env: { ...process.env, NODE_ENV: 'test', TMPDIR: temporary },
  })
}

/** Ends the tester with every chain and service that its tests started, which may run for ever, and with their files. */
function end({ folder, tester }: Copy): void {
  if (tester?.pid === undefined) return
  try {
    process.kill(-tester.pid, 'SIGKILL')
  } catch {
    // All of them are gone.
  }
  rmSync(join(folder, 'tmp'), { recursive: true, force: true, maxRetries: 5 })
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

function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
