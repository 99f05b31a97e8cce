import { defineConfig } from 'vitest/config'

/** `npm run test:quickstarts`: the pages of `docs/quickstarts`, typed as they stand. It installs from the registry. */
export default defineConfig({
  test: {
    include: ['test/quickstarts/*.quickstart.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    fileParallelism: false,
    pool: 'forks',
  },
})
