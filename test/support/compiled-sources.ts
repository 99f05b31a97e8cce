import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { bundleService, external } from '../../scripts/bundle.js'
import { anvilPackage } from '../../src/devnet/anvil.js'
import { CONSOLE_FOLDER } from '../../src/http/console-folder.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** A folder laid out as an installation: `dist` and the files that the service finds by a relative path. */
    compiledSources: string
  }
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const packages = [...external, anvilPackage].map((name) => `node_modules/${name}`)
const shared = ['package.json', 'migrations', 'contracts', ...packages]

/**
 * Bundles the service once for a whole run, as `npm run build` does: processes of tests run what operators run. They find
 * no other packages than those that the bundle leaves out.
 */
export default async function compileSources(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-compiled-'))
  for (const name of shared) {
    if (!existsSync(join(root, name))) continue
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    symlinkSync(join(root, name), join(folder, name))
  }
  await bundleService(join(folder, 'dist'), { forDevelopers: true })
  // Pages are those of `npm run build`, if there is one.
  symlinkSync(join(root, CONSOLE_FOLDER), join(folder, CONSOLE_FOLDER))
  project.provide('compiledSources', folder)
  return () => rmSync(folder, { recursive: true, force: true })
}
