import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { expect, it } from 'vitest'
import { readSources, root } from './source-files.js'

/** Words that give a translated text away. Plain English has another one for each. */
const TRANSLATED =
  /\b(?:in vain|at present|(?:some|no)thing else than|hears of|look it up at|borne|bears? its|tells whether|(?:is|are|was|were|be) told)\b/i

it('no text sounds translated', () => {
  const pages = ['.', 'docs', 'docs/quickstarts', 'packages/client', 'packages/merchant']
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => posix.join(folder, name)))
    .filter((path) => /\.md$|^\.env\.example$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
  const lines = [...pages, ...readSources()].flatMap(({ path, text }) =>
    text.split('\n').map((line, i) => `${path}:${i + 1} ${line.trim()}`),
  )
  expect(lines.length).toBeGreaterThan(10_000)
  expect(lines.filter((line) => TRANSLATED.test(line))).toEqual([])
})
