/** Finds the tests of a source file by what they import. Nothing lists them, so that no list can be written to. */
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

/** A file of the sources has at most this many tests: those that are nearest to it. */
const MAX_TESTS = 8

/** The tests that run in one process and end within seconds. */
const FOLDERS = /^test\/(unit|http|property)\//

/**
 * Returns what finds the tests of a file, the nearest first: its namesake, those of the folder that mirrors its own, and
 * then the others that import it, by how often they name the file or its folder. `files` are all of the project, from its
 * root.
 */
export function createTestFinder(
  root: string,
  files: readonly string[],
): (file: string) => readonly string[] {
  const tests = files.filter((it) => FOLDERS.test(it) && /(?<!\.postgres)\.test\.ts$/.test(it))
  const reached = new Map(tests.map((test) => [test, reach(test)]))
  const texts = new Map(tests.map((test) => [test, readFileSync(join(root, test), 'utf8')]))

  return (file) => {
    const folder = mirrorOf(file)
    const name = basename(file, '.ts')
    const named = new RegExp(`${name.replaceAll('-', '.?')}|${basename(folder)}`, 'gi')
    const nearness = (test: string) => {
      const isNear = dirname(test).endsWith(folder)
      const isNamesake = isNear && basename(test, '.test.ts') === name
      const mentions = texts.get(test)?.match(named)?.length ?? 0
      return (isNamesake ? 2_000_000 : isNear ? 1_000_000 : 0) + mentions
    }
    return tests
      .filter((test) => reached.get(test)?.has(file) && nearness(test) > 0)
      .sort((a, b) => nearness(b) - nearness(a))
      .slice(0, MAX_TESTS)
  }

  /** Returns all files that are loaded with this one. */
  function reach(from: string): Set<string> {
    const found = new Set<string>()
    const waiting = [from]
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
      if (found.has(file)) continue
      found.add(file)
      waiting.push(...importsOf(file))
    }
    return found
  }

  function importsOf(file: string): string[] {
    const code = readFileSync(join(root, file), 'utf8').replace(
      /^import type .*?from '[^']*'/gms,
      '',
    )
    const named = [...code.matchAll(/(?:\bfrom|\bimport\(?) ?'([^']+)'/g)]
    return named.map(([, name = '']) => locate(file, name)).filter((it) => it !== undefined)
  }

  function locate(file: string, name: string): string | undefined {
    const own = /^@arcus\/(\w+)(?:\/(.+))?$/.exec(name)
    const path = own
      ? `packages/${own[1]}/src/${own[2] ?? own[1]?.replace('merchant', 'x402')}.ts`
      : relative(root, join(root, dirname(file), name)).replace(/\.js$/, '.ts')
    const isOurs = own !== null || name.startsWith('.')
    return isOurs && path.endsWith('.ts') && existsSync(join(root, path)) ? path : undefined
  }
}

/** Returns the folder of the tests of a file without its root: `facilitator/relayer`, or `client` for a package. */
function mirrorOf(file: string): string {
  const folder = dirname(file)
  return `/${folder.replace(/^src\//, '').replace(/^packages\/(\w+)\/src/, '$1')}`
}
