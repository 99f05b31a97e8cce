import { defineConfig } from 'vitest/config'

export default defineConfig({
  // The packages of this repository are tested from their sources.
  resolve: { tsconfigPaths: true },
  test: {
    include: ['test/faults/**/*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 60_000,
    // Faults are about time: one at a time, so that none is caused by a neighbour.
    fileParallelism: false,
    // Recovery is held to ten seconds on whatever machine this is: one busy moment is not a broken promise.
    retry: process.env.CI === undefined ? 0 : 1,
    pool: 'forks',
  },
})
