import { fileURLToPath, pathToFileURL } from 'node:url'
import { scriptBeside as scriptBesideSource } from '../../src/sql/thread.js'
import { compiled } from './scripts.js'

// biome-ignore lint/performance/noBarrelFile: it stands in for the whole module
export * from '../../src/sql/thread.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Stands in for that of the service. A script of a test is not compiled. */
export function scriptBeside(moduleUrl: string, name: string): URL {
  const script = scriptBesideSource(moduleUrl, name)
  const path = fileURLToPath(script).slice(root.length)
  return path.startsWith('src/') ? pathToFileURL(compiled(path as `src/${string}.ts`)) : script
}
