import { defineConfig } from 'vitest/config'

const outside = ['test/faults/**', 'test/browser/**', 'test/soak/**']

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Each file may start a chain and a service of its own; more at once only wait for the processor.
    maxWorkers: 2,
    // Real chains and processes on a shared machine; a second failure is one.
    retry: process.env.CI === undefined ? 0 : 1,
    pool: 'forks',
    projects: [
      {
        extends: true,
        // One process after another file: what is imported is read once, and what only shows in hot code shows.
        test: { name: 'unit', include: ['test/unit/**/*.test.ts'], isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'whole',
          include: ['test/**/*.test.ts'],
          exclude: ['test/unit/**', ...outside],
        },
      },
    ],
  },
})
