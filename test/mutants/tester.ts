/**
 * Keeps one vitest for a copy of the sources and runs tests in it as it is told: modules that did not change are neither
 * read nor compiled again. A process of its own, so that a fault that hangs is killed with it.
 */
import { join } from 'node:path'
import { createVitest } from 'vitest/node'

export interface Request {
  /** The file that changed, or was put back, since the last request. */
  changed: string | undefined
  /** None are run where there are none, and no answer is given. */
  tests: readonly string[]
}

export type Verdict = 'noticed' | 'not noticed' | 'does not load'

const root = process.cwd()
/** A fault that makes a test hang is noticed by this, milliseconds. */
const testTimeout = 10_000

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
    testTimeout,
    reporters: [{}],
  },
  { resolve: { tsconfigPaths: true }, server: { watch: null } },
)
await vitest.standalone()
process.on('message', ({ changed, tests }: Request) => {
  if (changed !== undefined) vitest.invalidateFile(join(root, changed))
  if (tests.length > 0) void run(tests).then((verdict) => process.send?.(verdict))
})

async function run(tests: readonly string[]): Promise<Verdict> {
  // Failures of an earlier run would end this one at once, as if it had noticed something.
  vitest.state.idMap.clear()
  vitest.state.filesMap.clear()
  const project = vitest.getRootProject()
  const specifications = tests.map((name) => project.createSpecification(join(root, name)))
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
  if (testModules.every((it) => it.ok()) && unhandledErrors.length === 0) return 'not noticed'
  const isLoaded = testModules.some((it) => [...it.children.allTests()].length > 0)
  return isLoaded ? 'noticed' : 'does not load'
}
