import { defineConfig } from 'vitest/config'
import { reasonToSkip } from './test/browser/support/chromium.js'
import { compiledThreads } from './test/support/compiled-threads.js'

/** Real Chromium against the real service; `npm run test:browser`. */
export default defineConfig({
  // The packages of this repository are tested from their sources.
  resolve: { tsconfigPaths: true },
  plugins: [compiledThreads()],
  test: {
    include: reasonToSkip() === undefined ? ['test/browser/**/*.test.ts'] : [],
    passWithNoTests: true,
    globalSetup: ['test/support/compiled-sources.ts', 'test/browser/support/built-console.ts'],
    // A busy machine is slow to show what is waited for.
    expect: { poll: { timeout: 15_000 } },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Pages mostly wait for the network.
    maxWorkers: 2,
    pool: 'forks',
    // A worker reads the service once. Each file starts a chain, a service and a browser of its own.
    isolate: false,
  },
})
