import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { readSources } from '../../house/source-files.js'

/** Returns every file that a process loads which imports the plugin, taken from its coverage. */
async function loadedFiles(): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-loaded-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', '--eval', "import('@arcus/merchant')"],
    { env: { PATH: process.env.PATH, NODE_V8_COVERAGE: folder } },
  )
  return readdirSync(folder).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8'))
    return (result as { url: string }[]).map(({ url }) => url)
  })
}

it('the plugin loads the protocol and the official packages, and nothing of the service', async () => {
  const files = await loadedFiles()
  const ours = files.flatMap(
    (url) => /\/(packages\/[\w-]+\/src(?:\/[\w-]+)?|src\/[\w-]+)\/[\w-]+\.ts$/.exec(url)?.[1] ?? [],
  )
  expect(new Set(ours)).toEqual(new Set(['packages/merchant/src', 'packages/protocol/src/x402']))
  const packages = files.flatMap(
    (url) =>
      /\/node_modules\/((?:@[\w.-]+\/)?[\w.-]+)\/(?!.*\/node_modules\/)/.exec(url)?.[1] ?? [],
  )
  const known = ['@x402/core', '@x402/evm', 'zod']
  const tools = /^(tsx|esbuild|get-tsconfig|resolve-pkg-maps|@esbuild\/.*)$/
  expect(
    [...new Set(packages)].filter((name) => !known.includes(name) && !tools.test(name)),
  ).toEqual([])
})

/** Returns the packages that the sources of one of ours import, directly or through the protocol. */
function importedPackages(folder: string): string[] {
  const sources = new Map([...readSources('packages'), ...readSources()].map((it) => [it.path, it]))
  const open = [...sources.keys()].filter((path) => path.startsWith(`${folder}/`))
  const seen = new Set(open)
  const packages = new Set<string>()
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    for (const { target, room } of sources.get(path)?.imports ?? []) {
      const source = target
        .replace(/\.js$/, '.ts')
        .replace(/^@arcus\/protocol\/(.*)/, 'packages/protocol/src/$1.ts')
      if (room === undefined) {
        packages.add(target.replace(/^((?:@[\w-]+\/)?[\w-]+)\/.*/, '$1'))
      } else if (!seen.has(source)) {
        seen.add(source)
        open.push(source)
      }
    }
  }
  return [...packages].filter((name) => !name.startsWith('node:')).sort()
}

it.each(['packages/merchant', 'packages/client', 'packages/protocol'])(
  '%s imports only the packages that it names, and none of them is native',
  (folder) => {
    const manifest = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
    const named = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
    // Types of viem come with @x402/evm.
    const unnamed = (name: string) => name === 'viem' && !named.includes(name)
    expect(importedPackages(folder).filter((name) => !unnamed(name))).toEqual(named.sort())
  },
)
