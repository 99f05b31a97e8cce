import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { readSources } from '../house/source-files.js'

/** All that is loaded when a merchant imports the plugin, as the coverage of a process of its own tells it. */
async function loadedFiles(): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-loaded-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', '--eval', "import('./src/merchant/x402.ts')"],
    { env: { PATH: process.env.PATH, NODE_V8_COVERAGE: folder } },
  )
  return readdirSync(folder).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8'))
    return (result as { url: string }[]).map(({ url }) => url)
  })
}

it('the plugin loads the protocol and its official packages, and nothing of the service', async () => {
  const files = await loadedFiles()
  const ours = files.flatMap((url) => /\/src\/([\w-]+)\/[\w-]+\.ts$/.exec(url)?.[1] ?? [])
  expect(new Set(ours)).toEqual(new Set(['merchant', 'x402']))
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

it('the plugin needs the packages it names only', () => {
  const named = readSources('src/merchant')
    .flatMap(({ imports }) => imports)
    .filter(({ room }) => room === undefined)
    .map(({ target }) => target.replace(/^((?:@[\w-]+\/)?[\w-]+)\/.*/, '$1'))
    .filter((name) => /^[@a-z]/.test(name) && !name.startsWith('node:'))
  expect([...new Set(named)].sort()).toEqual(['@x402/core', '@x402/evm', 'fastify'])
})
