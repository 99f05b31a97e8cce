import { defineConfig } from 'vitest/config'

/** `npm run soak`: minutes of mixed trouble under load, `SOAK_MINUTES` of them (10). */
export default defineConfig({
  test: { include: ['test/soak/**/*.test.ts'], hookTimeout: 60_000, pool: 'forks' },
})
