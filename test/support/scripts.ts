import { join } from 'node:path'
import { inject } from 'vitest'

/** The built twin of a script of the service, as in `src/main.ts`; its path, to be run with `node`. */
export function compiled(script: `src/${string}.ts`): string {
  return join(inject('compiledSources'), script.replace(/^src(.*)\.ts$/, 'dist$1.js'))
}

/** The built `arcus` with its arguments, to be run with `node`. */
export function arcus(verb: string, ...args: string[]): string[] {
  return [compiled('src/cli/arcus.ts'), verb, ...args]
}
