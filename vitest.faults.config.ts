import { defineConfig } from 'vitest/config'
import { compiledThreads } from './test/support/compiled-threads.js'

/** What is true of USDC is true of any token: kills, lying nodes and third parties once more over EURC. */
const inEuros = ['kill', 'lanes', 'rpc'].map((name) => `test/faults/${name}.test.ts`)

/** Payments by Permit2 have another call and other logs, those by `upto` a wallet of their own, and the same promises. */
const byUpto = ['kill', 'permit2', 'deliveries', 'crowd', 'rpc'].map(
  (name) => `test/faults/${name}.test.ts`,
)
const byPermit2 = ['kill', 'permit2', 'crowd', 'rpc'].map((name) => `test/faults/${name}.test.ts`)

export default defineConfig({
  test: {
    globalSetup: ['test/support/compiled-sources.ts'],
    // The files mostly wait for blocks, so four of them share two processors. Their bounds hold on a busier machine too.
    maxWorkers: 4,
    projects: [
      project('USDC', ['test/faults/**/*.test.ts'], {}, ['test/faults/permit2.test.ts']),
      project('EURC', inEuros, { FAULTS_TOKEN: 'EURC' }),
      project('upto', byUpto, { FAULTS_SCHEME: 'upto' }),
      project('permit2', byPermit2, { FAULTS_SCHEME: 'permit2' }),
    ],
  },
})

function project(
  name: string,
  include: string[],
  env: Record<string, string>,
  exclude: string[] = [],
) {
  // The packages of this repository are tested from their sources.
  return {
    resolve: { tsconfigPaths: true },
    plugins: [compiledThreads()],
    test: {
      name,
      include,
      exclude,
      env,
      expect: { poll: { timeout: 15_000 } },
      testTimeout: 180_000,
      hookTimeout: 60_000,
      // Files run one after another in the same process, so that each module is loaded once.
      isolate: false,
      pool: 'forks' as const,
    },
  }
}
