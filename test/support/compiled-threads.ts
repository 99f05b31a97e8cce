import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'

const source = fileURLToPath(new URL('../../src/sql/thread.ts', import.meta.url))
const double = fileURLToPath(new URL('thread-from-compiled.ts', import.meta.url))

/**
 * Starts the threads of the service from what `npm run build` makes of them, as in production. Read from its sources, one
 * thread costs a second of a processor, and each service in a test has two.
 */
export function compiledThreads(): Plugin {
  return {
    name: 'compiled-threads',
    enforce: 'pre',
    async resolveId(id, importer, options) {
      if (!id.endsWith('/thread.js') || importer === double) return null
      const found = await this.resolve(id, importer, { ...options, skipSelf: true })
      return found?.id === source ? double : found
    },
  }
}
