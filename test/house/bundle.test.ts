import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname } from 'node:path'
import { expect, it } from 'vitest'
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
