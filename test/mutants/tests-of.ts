/** Finds the tests of a source file by what they import. Nothing lists them, so that no list can be written to. */
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

/** A file of the sources has at most this many tests: those that are nearest to it, and all of its own room. */
const MAX_TESTS = 8
const MAX_OF_ROOM = 16

/** The tests that run in one process and end within seconds. */
const FOLDERS = /^test\/(unit|http|property)\//

/** Those that start a chain or PostgreSQL, which takes seconds more. */
const SLOWER = /^test\/chain\/|\.postgres\.test\.ts$/

/** So many of the slower ones are run where they stand in the mirrored folder, or where no quick test stands beside it. */
const MAX_SLOWER = 2

/** A test in the mirrored folder comes before one in the folder around it or in one below, and these before all others. */
const NEAR = 1_000_000
const IN_ROOM = 500_000

/**
 * Returns what finds the tests of a file, the nearest first: its namesake, those of the folder that mirrors its own, and
 * then the others that import it, by how often they name the file or its folder. A file without a quick test in the mirrored
 * folder is held by tests over a real chain or database too. `files` are all of the project, from its root.
 */
export function createTestFinder(
  root: string,
  files: readonly string[],
): (file: string) => readonly string[] {
  const isTest = (it: string) => it.endsWith('.test.ts') && (FOLDERS.test(it) || SLOWER.test(it))
  const tests = files.filter(isTest)
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
      return (
        (isNamesake ? 2_000_000 : isNear ? NEAR : isInRoom(test, folder) ? IN_ROOM : 0) + mentions
      )
    }
    const found = tests
      .filter((test) => reached.get(test)?.has(file) && nearness(test) > 0)
      .sort((a, b) => nearness(b) - nearness(a))
    const isHeld = found.some((test) => !SLOWER.test(test) && nearness(test) >= IN_ROOM)
    const slower = found
      .filter((test) => SLOWER.test(test) && (!isHeld || nearness(test) >= NEAR))
      .slice(0, MAX_SLOWER)
    const isWanted = (test: string, i: number) =>
      i < MAX_TESTS - slower.length || (i < MAX_OF_ROOM && nearness(test) >= IN_ROOM)
    return [...found.filter((test) => !SLOWER.test(test)).filter(isWanted), ...slower]
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
    const named = [...code.matchAll(/(?:\bfrom|\bimport\(?) ?'([^']+)'/g)].map(
      ([, name = '']) => name,
    )
    const threads = [...code.matchAll(/\bscriptBeside\(import\.meta\.url, '([^']+)'/g)]
    const beside = threads.map(([, name]) => `./${name}.js`)
    // What a test bundles or starts is named from the root.
    const started = [...code.matchAll(/'((?:src|packages)\/[^']+\.ts)'/g)].map(
      ([, path = '']) => path,
    )
    return [...named, ...beside]
      .map((name) => locate(file, name))
      .concat(started.filter((path) => existsSync(join(root, path))))
      .filter((it) => it !== undefined)
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

/** Returns whether a test stands in the folder around a mirrored one, or in one below: in `relayer` for `relayer/lane`. */
function isInRoom(test: string, folder: string): boolean {
  const own = `${dirname(test).replace(/^test\/[^/]+/, '')}/`
  const depth = own.split('/').length - 2
  return depth >= 2 && (own.startsWith(`${folder}/`) || `${folder}/`.startsWith(own))
}

/** Returns the folder of the tests of a file without its root: `facilitator/relayer`, or `client` for a package. */
function mirrorOf(file: string): string {
  const folder = dirname(file)
  return `/${folder.replace(/^src\//, '').replace(/^packages\/(\w+)\/src/, '$1')}`
}
