import { defineConfig } from 'vitest/config'

export default defineConfig({
  // The packages of this repository are tested from their sources.
  resolve: { tsconfigPaths: true },
  test: {
    include: ['test/faults/**/*.test.ts'],
    globalSetup: ['test/support/compiled-sources.ts'],
    testTimeout: 180_000,
    hookTimeout: 60_000,
    // Faults are about time: files run one at a time, so that no neighbour causes one.
    fileParallelism: false,
    pool: 'forks',
  },
})
