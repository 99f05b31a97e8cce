import { expect, it } from 'vitest'
import { readSources } from './source-files.js'

const MAX_LINES = 250

const sources = readSources()

const paths = (isFault: (source: (typeof sources)[number]) => boolean) =>
  sources.filter(isFault).map(({ path }) => path)

it('keeps every file below 250 lines: past that a second thing has moved in', () => {
  const long = sources
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    .filter(({ lines }) => lines >= MAX_LINES)
  expect(long.map(({ path, lines }) => `${path}: ${lines}`)).toEqual([])
})

it('has no barrels: nothing is passed on from another file', () => {
  expect(
    paths(({ text }) => /^export\s+(type\s+)?(\*|\{[^}]*\})[^;\n]*\sfrom\s/m.test(text)),
  ).toEqual([])
  expect(paths(({ path }) => /\/index\.tsx?$/.test(path))).toEqual([])
})

it('has named exports only', () => {
  expect(paths(({ text }) => /^export default\b/m.test(text))).toEqual([])
})

it('names files in kebab-case, and has no room for odds and ends', () => {
  const names = sources.filter(({ path }) => !/^src(\/[a-z0-9]+(-[a-z0-9]+)*)+\.tsx?$/.test(path))
  expect(names.map(({ path }) => path)).toEqual([])
  expect(paths(({ path }) => /\/(utils?|helpers?|common|misc)(\/|\.)/.test(path))).toEqual([])
})

it('prints through the logger, and in the commands through their own printer', () => {
  // Programs that the console shows for copying print as programs do.
  const shown = 'src/dashboard/merchant/snippets.ts'
  const printing = paths(({ text }) => /\bconsole\.\w+\(/.test(text))
  expect(printing.filter((path) => path !== shown)).toEqual([])
})

it('reads URLs by parseUrl: URL.canParse of Node 20 is wrong once it is hot', () => {
  const askers = paths(
    ({ path, text }) => !path.startsWith('src/dashboard/') && /\bURL\.canParse\(/.test(text),
  )
  expect(askers).toEqual([])
})
