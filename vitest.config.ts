import { defineConfig } from 'vitest/config'

export default defineConfig({
  // The packages of this repository are tested from their sources.
  resolve: { tsconfigPaths: true },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/faults/**', 'test/browser/**', 'test/soak/**'],
    // Bounds for what hangs: in the slow minutes of a shared machine all takes three times as long.
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // Each file may start a chain and a service of its own; more at once only wait for the processor.
    maxWorkers: 2,
    // One file after another in the same process: what is imported is read once, and what only shows in hot code shows.
    isolate: false,
    // Real chains and processes on a shared machine; a second failure is one.
    retry: process.env.CI === undefined ? 0 : 1,
    pool: 'forks',
  },
})
