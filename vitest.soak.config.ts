import { defineConfig } from 'vitest/config'

/** `npm run soak`: `SOAK_MINUTES` (10) of mixed trouble under `SOAK_RATE` (50) payments a second. */
export default defineConfig({
  // The packages of this repository are tested from their sources.
  resolve: { tsconfigPaths: true },
  test: {
    include: ['test/soak/**/*.test.ts'],
    globalSetup: ['test/support/compiled-sources.ts'],
    hookTimeout: 60_000,
    pool: 'forks',
  },
})
