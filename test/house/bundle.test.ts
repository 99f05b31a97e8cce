import { readdirSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, join } from 'node:path'
import { runInThisContext } from 'node:vm'
import { expect, it } from 'vitest'
import { escapeWide } from '../../scripts/bundle.js'
import { compiled } from '../support/scripts.js'

const script = compiled('src/main.ts')
const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))

it('a place in the bundle leads to the line of the source', () => {
  const lines = readFileSync(script, 'utf8').split('\n')
  const line = lines.findIndex((text) => text.includes('function patiently('))
  const map = new SourceMap(JSON.parse(readFileSync(`${script}.map`, 'utf8')))
  const column = lines[line]?.indexOf('patiently') as number
  const found = map.findEntry(line, column) as { originalSource: string; originalLine: number }
  expect(found.originalSource).toMatch(/src\/main\.ts$/)
  const source = readFileSync('src/main.ts', 'utf8').split('\n')
  expect(source[found.originalLine]).toContain('function patiently')
})

it('the bundle names each bundled package of ours and its licence', () => {
  const licenses = readFileSync(`${dirname(script)}/licenses.md`, 'utf8')
  for (const name of ['fastify', 'viem', 'zod', '@x402/evm', 'pino']) {
    expect(licenses).toMatch(new RegExp(`^## ${name} - ${dependencies[name]} \\(\\S+\\)$`, 'm'))
  }
})

it('each script takes a byte for a character, in each thread that loads it', () => {
  const folder = dirname(script)
  const scripts = (readdirSync(folder, { recursive: true }) as string[]).filter(
    (name) => name.endsWith('.js') && !name.startsWith('console'),
  )
  expect(scripts.length).toBeGreaterThan(20)
  // One character beyond these makes V8 keep two bytes for every character of the script.
  const wide = scripts.filter((name) => /[^\0-\xff]/.test(readFileSync(join(folder, name), 'utf8')))
  expect(wide).toEqual([])
})

it.each([
  `'über … “quoted” 😀'`,
  String.raw`'\… \\… \\\…'`,
  "['…', `line … 😀`].join()",
  String.raw`'a😀…z'.replace(/[…😀]/gu, '-') + 'a…z'.split(/\…/)`,
  "'a😀…z'.split(/😀/) + /^[^😀]$/u.test('😀') + /^[…]😀+/.test('…😀')",
  'Object.keys({ größe: 1, ĳs: 2 })',
])('%s means the same when wide characters are written as escapes', (code) => {
  const escaped = escapeWide(code)
  expect(escaped).not.toMatch(/[^\0-\xff]/)
  expect(runInThisContext(escaped)).toEqual(runInThisContext(code))
})
