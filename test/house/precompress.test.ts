import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { precompress } from '../../scripts/precompress.js'

it('lays both encodings beside what is worth it, and leaves the rest', () => {
  const root = mkdtempSync(join(tmpdir(), 'arcus-precompress-'))
  const script = 'a calm page '.repeat(500)
  mkdirSync(join(root, 'out', 'assets'), { recursive: true })
  writeFileSync(join(root, 'out', 'assets', 'main.js'), script)
  writeFileSync(join(root, 'out', 'assets', 'small.css'), 'a{}')
  writeFileSync(join(root, 'out', 'assets', 'text.woff2'), script)
  const plugin = precompress()
  plugin.configResolved({ root, build: { outDir: 'out' } })
  plugin.closeBundle()
  expect(readdirSync(join(root, 'out', 'assets')).sort()).toEqual([
    'main.js',
    'main.js.br',
    'main.js.gz',
    'small.css',
    'text.woff2',
  ])
  const read = (name: string) => readFileSync(join(root, 'out', 'assets', name))
  expect(brotliDecompressSync(read('main.js.br')).toString()).toBe(script)
  expect(gunzipSync(read('main.js.gz')).toString()).toBe(script)
  rmSync(root, { recursive: true })
})
