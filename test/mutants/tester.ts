/**
 * Keeps one vitest for a copy of the sources and runs tests in it as it is told: modules that did not change are neither
 * read nor compiled again. A process of its own, so that a fault that hangs is killed with it.
 */
import { join } from 'node:path'
import {
  BaseSequencer,
  createVitest,
  type TestCase,
  type TestModule,
  type TestSpecification,
} from 'vitest/node'

export interface Request {
  /** The file that changed, or was put back, since the last request. */
  changed: string | undefined
  /** None are run where there are none, and no answer is given. */
  tests: readonly string[]
}

/** A time-out alone is no verdict: a machine that is busy ends a test as well. */
export type Verdict = 'noticed' | 'not noticed' | 'timed out' | 'does not load'

export interface Answer {
  verdict: Verdict
  /** The test that failed, with its file. */
  by: string
}

const root = process.cwd()
/** A test that takes longer is ended: it is too slow for a room, milliseconds. */
const testTimeout = 10_000

/** Runs files in the order in which they are asked for. */
class AsAsked extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files
  }
}

const vitest = await createVitest(
  'test',
  {
    root,
    config: false,
    watch: false,
    include: ['test/**/*.test.ts'],
    // Files run one after another in a thread, with nothing set up before them.
    isolate: false,
    pool: 'threads',
    maxWorkers: 1,
    bail: 1,
    sequence: { sequencer: AsAsked },
    testTimeout,
    // What they start takes long where others are busy.
    hookTimeout: 60_000,
    reporters: [{}],
  },
  { resolve: { tsconfigPaths: true }, server: { watch: null } },
)
await vitest.standalone()
// This process leads the group of all that the tests started.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'))
process.on('message', ({ changed, tests }: Request) => {
  if (changed !== undefined) vitest.invalidateFile(join(root, changed))
  if (tests.length > 0) void run(tests).then((answer) => process.send?.(answer))
})

async function run(tests: readonly string[]): Promise<Answer> {
  // Failures of an earlier run would end this one at once, as if it had noticed something.
  vitest.state.idMap.clear()
  vitest.state.filesMap.clear()
  const project = vitest.getRootProject()
  const specifications = tests.map((name) => project.createSpecification(join(root, name)))
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
  const cases = testModules.flatMap((it) => [...it.children.allTests()])
  const failed = cases.filter((it) => it.result().state === 'failed')
  const isOver = ({ message }: { message: string }) => /timed out in \d+ms/.test(message)
  const isFine = testModules.every((it) => it.ok()) && unhandledErrors.length === 0
  const [first = testModules.find((it) => !it.ok())] = failed
  return {
    verdict: isFine ? 'not noticed' : failedBy(),
    by: first === undefined ? '' : nameOf(first),
  }

  function failedBy(): Verdict {
    if (cases.length === 0) return 'does not load'
    const ofHooks = testModules.flatMap((it) => [it, ...it.children.allSuites()])
    const errors = [
      ...failed.flatMap((it) => it.result().errors ?? []),
      ...ofHooks.flatMap((it) => it.errors()),
    ]
    const isLate = errors.length > 0 && unhandledErrors.length === 0 && errors.every(isOver)
    return isLate ? 'timed out' : 'noticed'
  }
}

function nameOf(failed: TestCase | TestModule): string {
  return failed.type === 'test'
    ? `${failed.module.relativeModuleId} > ${failed.fullName}`
    : failed.relativeModuleId
}
