/**
 * Puts small faults into a copy of the sources, one at a time, and says whether the tests of their room notice.
 *
 *   npm run test:mutants                 every fault of the functions in `rooms.ts`
 *   npm run test:mutants -- --sample     a part of those of the money path, always the same one
 *   npm run test:mutants -- --list       none: prints them
 *   npm run test:mutants -- WORD ...     those whose name has one of these words
 *
 * Ends with 1 when the tests fail without a fault or one of them is too slow, when one of `equal.ts` is noticed or gone,
 * or when fewer are noticed than `FLOOR` says. The others are printed: they show where tests are thin. A test that only ran
 * out of its time has noticed nothing.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
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
import { rooms } from './rooms.js'
import type { Answer, Request } from './tester.js'
import { written } from './written.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const copied = ['src', 'packages', 'test', 'migrations', 'package.json', 'tsconfig.json']
const linked = ['node_modules', 'contracts']
const COPIES = 2
/** A tester whose thread a fault blocks is killed after this, milliseconds. */
const RUN_TIMEOUT_MS = 120_000

/** Of a thousand faults of the money path, so many are in the sample. */
const SAMPLED = 80

/** The share that is noticed at least of the faults that somebody could notice. */
const FLOOR = 0.9

interface Fault extends Mutant {
  tests: readonly string[]
  isMoney: boolean
  name: string
}

/** A copy of the sources, and the process that tests it. */
interface Copy {
  folder: string
  tester: ChildProcess | undefined
}

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const all = readFaults()
  const chosen = all.filter((fault) => isChosen(fault, args))
  const gone = equal.filter(([name]) => !all.some((fault) => fault.name === name))
  for (const [name] of gone) print(`equal, and not among the faults: ${name}`)
  const missing = all.flatMap(({ tests }) => tests).filter((it) => !existsSync(join(root, it)))
  for (const name of new Set(missing)) print(`there is no ${name}`)
  if (gone.length > 0 || missing.length > 0) return 1
  if (args.includes('--list')) {
    for (const { name } of chosen) print(name)
    print(`${chosen.length} faults`)
    return 0
  }

  const copies = Array.from({ length: COPIES }, copyTree)
  try {
    return await tryAll(chosen, copies)
  } finally {
    for (const { folder, tester } of copies) {
      tester?.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

function readFaults(): Fault[] {
  const made = rooms.flatMap(({ tests, isMoney, of }) =>
    Object.entries(of).flatMap(([file, names]) =>
      mutantsOf(file, textOf(file), names.split(' ').filter(Boolean)).map((mutant) => ({
        ...mutant,
        tests,
        isMoney,
        name: `${file} ${mutant.place}: ${mutant.change}`,
      })),
    ),
  )
  const byHand = written.map(({ file, promise, find, replace, tests }) => {
    const [before, after, ...more] = textOf(file).split(find)
    if (before === undefined || after === undefined || more.length > 0) {
      throw new Error(`not found once in ${file}: ${find}`)
    }
    const end = before.length + find.length
    const place = { file, place: 'by hand', change: promise, start: before.length, end }
    return { ...place, text: replace, tests, isMoney: true, name: `${file} by hand: ${promise}` }
  })
  return [...made, ...byHand]
}

function isChosen(fault: Fault, args: readonly string[]): boolean {
  const words = args.filter((it) => !it.startsWith('--'))
  if (words.length > 0) return words.some((word) => fault.name.includes(word))
  return !args.includes('--sample') || isSampled(fault)
}

/** A name draws its number, so that a change elsewhere changes nothing of the sample. */
function isSampled({ name, isMoney, place }: Fault): boolean {
  const draw = createHash('sha256').update(name).digest().readUInt32BE() % 1000
  return isMoney && (place === 'by hand' || draw < SAMPLED)
}

async function tryAll(chosen: readonly Fault[], copies: readonly Copy[]): Promise<number> {
  const startedAt = Date.now()
  const tests = [...new Set(chosen.flatMap((fault) => fault.tests))]
  if (!(await areFine(copies, tests))) return 1
  const waiting = [...chosen]
  const found: [Fault, Answer][] = []
  await Promise.all(
    copies.map(async (copy) => {
      for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
        const answer = await tryFault(copy, fault)
        found.push([fault, answer])
        print(`${answer.verdict.padEnd(13)} ${fault.name}${answer.by && ` | ${answer.by}`}`)
      }
    }),
  )
  // What a fault left behind in a tester would count as noticed in those after it.
  if (!(await areFine(copies, tests))) return 1
  const isEqual = ({ 0: { name } }: (typeof found)[number]) => equal.some(([it]) => it === name)
  const isNoticed = ({ 1: { verdict } }: (typeof found)[number]) => verdict === 'noticed'
  const different = found.filter((it) => !isEqual(it))
  const unnoticed = different.filter((it) => !isNoticed(it))
  const explained = found.filter((it) => isEqual(it) && isNoticed(it))
  for (const [{ name }, { verdict }] of unnoticed) print(`${verdict}: ${name}`)
  for (const [{ name }] of explained) print(`equal, and noticed: ${name}`)
  const [all, seconds] = [different.length, Math.round((Date.now() - startedAt) / 1000)]
  const same = found.length - all
  print(`${all - unnoticed.length} of ${all} noticed, ${same} change nothing, in ${seconds} s`)
  return explained.length === 0 && all - unnoticed.length >= FLOOR * all ? 0 : 1
}

/** Says which of these tests fail without any fault, or take too long to tell a fault from a busy machine. */
async function areFine(copies: readonly Copy[], tests: readonly string[]): Promise<boolean> {
  const waiting = [...tests]
  let isFine = true
  await Promise.all(
    copies.map(async (copy) => {
      for (let test = waiting.shift(); test !== undefined; test = waiting.shift()) {
        const { verdict, by } = await runTests(copy, { changed: undefined, tests: [test] })
        if (verdict === 'not noticed') continue
        isFine = false
        const why = verdict === 'timed out' ? 'too slow for a room' : `${verdict} without a fault`
        print(`${why}: ${by || test}`)
      }
    }),
  )
  return isFine
}

async function tryFault(copy: Copy, fault: Fault): Promise<Answer> {
  const path = join(copy.folder, fault.file)
  const code = readFileSync(path, 'utf8')
  writeFileSync(path, code.slice(0, fault.start) + fault.text + code.slice(fault.end))
  try {
    return await runTests(copy, { changed: fault.file, tests: fault.tests })
  } finally {
    writeFileSync(path, code)
    copy.tester?.send({ changed: fault.file, tests: [] } satisfies Request)
  }
}

async function runTests(copy: Copy, request: Request): Promise<Answer> {
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
  if (typeof answer === 'object' && answer !== null) return answer as Answer
  copy.tester = undefined
  return { verdict: 'timed out', by: 'its thread was blocked' }
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

function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
