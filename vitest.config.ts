import { defineConfig } from 'vitest/config'
import { compiledThreads } from './test/support/compiled-threads.js'

/** The fast suite; `npm test`. The twins on PostgreSQL run with `npm run test:postgres`. */
export default defineConfig({
  // The packages of this repository are tested from their sources.
  resolve: { tsconfigPaths: true },
  plugins: [compiledThreads()],
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/compiled-sources.ts'],
    exclude: [
      'test/faults/**',
      'test/browser/**',
      'test/soak/**',
      'test/mutants/**',
      'test/**/*.postgres.test.ts',
    ],
    // The official packages print this line for each answer of a facilitator.
    onConsoleLog: (text) => !text.startsWith('[x402] extension responses'),
    // A busy machine is slow to show what is waited for.
    expect: { poll: { timeout: 15_000 } },
    // Bounds for what hangs: on a busy machine everything takes three times as long.
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // A file mostly waits: for blocks, processes and streams. Three at once keep two processors busy.
    maxWorkers: 3,
    // Files run one after another in the same process, so that each module is loaded once.
    isolate: false,
    pool: 'forks',
  },
})
