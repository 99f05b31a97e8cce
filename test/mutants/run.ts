/**
 * Puts small faults into a copy of the sources, one at a time, and says whether the tests of their room notice.
 *
 *   npm run test:mutants                 every fault of the functions in `rooms.ts`
 *   npm run test:mutants -- --sample     a part of those of the money path, always the same one
 *   npm run test:mutants -- --list       none: prints them
 *   npm run test:mutants -- WORD ...     those whose name has one of these words
 *
 * Ends with 1 when a fault of the sample stays unnoticed that `known.ts` does not explain, when one of that list is
 * noticed or gone, or when fewer are noticed than `FLOOR` says. The others are printed: they show where tests are thin.
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
import { known } from './known.js'
import { type Mutant, mutantsOf } from './mutate.js'
import { rooms } from './rooms.js'
import type { Request, Verdict } from './tester.js'
import { written } from './written.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const copied = ['src', 'packages', 'test', 'migrations', 'package.json', 'tsconfig.json']
const linked = ['node_modules', 'contracts']
const COPIES = 2
/** A fault that blocks the thread of a test is noticed by this, milliseconds. */
const RUN_TIMEOUT_MS = 120_000

/** Of a thousand faults of the money path, so many are in the sample. */
const SAMPLED = 80

/** The share of all faults that is noticed at least. Part of the rest changes nothing that anybody could see. */
const FLOOR = 0.7

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
  const gone = known.filter(([name]) => !all.some((fault) => fault.name === name))
  for (const [name] of gone) print(`known, and not among the faults: ${name}`)
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
  const waiting = [...chosen]
  const found: [Fault, Verdict][] = []
  const withoutFault = await Promise.all(
    copies.map(async (copy) => {
      const tried: string[] = []
      for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
        const verdict = await tryFault(copy, fault)
        found.push([fault, verdict])
        tried.push(...fault.tests)
        print(`${verdict.padEnd(13)} ${fault.name}`)
      }
      if (tried.length === 0) return 'not noticed'
      return runTests(copy, { changed: undefined, tests: [...new Set(tried)] })
    }),
  )
  if (withoutFault.includes('noticed') || withoutFault.includes('does not load')) {
    print('the tests fail without any fault too, so nothing is proved; repair them first')
    return 1
  }
  const isKnown = ({ name }: Fault) => known.some(([it]) => it === name)
  const unnoticed = found.filter(([fault, it]) => it !== 'noticed' && !isKnown(fault))
  const explained = found.filter(([fault]) => isKnown(fault))
  const noticed = explained.filter(([, it]) => it === 'noticed')
  for (const [{ name }] of unnoticed) print(`not noticed: ${name}`)
  for (const [{ name }] of noticed) print(`known, and noticed now: ${name}`)
  const seconds = Math.round((Date.now() - startedAt) / 1000)
  const ended = `${explained.length} of the others known, in ${seconds} s`
  print(
    `${chosen.length - unnoticed.length - explained.length} of ${chosen.length} noticed, ${ended}`,
  )
  const isHole = unnoticed.some(({ 0: fault }) => isSampled(fault))
  const share = 1 - (unnoticed.length + explained.length) / found.length
  return isHole || noticed.length > 0 || share < FLOOR ? 1 : 0
}

async function tryFault(copy: Copy, fault: Fault): Promise<Verdict> {
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

function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
