import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/faults/**/*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 60_000,
    // Faults are about time: one at a time, so that none is caused by a neighbour.
    fileParallelism: false,
    pool: 'forks',
  },
})
