import { defineConfig } from 'vitest/config'
import { compiledThreads } from './test/support/compiled-threads.js'

/** The contracts of the stores and several replicas, on a real PostgreSQL; `npm run test:postgres`. */
export default defineConfig({
  // The packages of this repository are tested from their sources.
  resolve: { tsconfigPaths: true },
  plugins: [compiledThreads()],
  test: {
    include: ['test/**/*.postgres.test.ts'],
    globalSetup: ['test/support/compiled-sources.ts'],
    // A busy machine is slow to show what is waited for.
    expect: { poll: { timeout: 15_000 } },
    testTimeout: 90_000,
    hookTimeout: 150_000,
    maxWorkers: 2,
    isolate: false,
    pool: 'forks',
  },
})
