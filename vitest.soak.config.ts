import { defineConfig } from 'vitest/config'

/** Started by `npm run soak`, whose file says what it takes. */
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
