import { join } from 'node:path'
import { inject } from 'vitest'

/** The compiled twin of a script of the repository, as in `src/main.ts`; its path, to be run with `node`. */
export function compiled(script: `${string}.ts`): string {
  return join(inject('compiledSources'), script.replace(/\.ts$/, '.js'))
}
