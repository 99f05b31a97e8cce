import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const folder = new URL('../../../src/', import.meta.url)
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({
    file,
    text: readFileSync(new URL(file, folder), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, ''),
  }))
  .filter(({ file, text }) => file === 'sql/sql.ts' || /\bSteps\b/.test(text))
/** Functions that return steps: generators, and those that pass on the steps of another. */
const stepNames = new Set(
  sources.flatMap(({ text }) => [
    ...[...text.matchAll(/function\* (\w+)[<(]/g)].map(([, name]) => name as string),
    ...[...text.matchAll(/function (\w+)\([^)]*\): Steps</g)].map(([, name]) => name as string),
  ]),
)

// Nothing else notices a forgotten `yield*`: the steps would be made and never taken.
it('every step of a transaction is taken, or handed on to be taken', () => {
  expect(stepNames.size).toBeGreaterThan(15)
  const users = sources.filter(({ file }) => file !== 'sql/sql.ts')
  const forgotten = users.flatMap(({ file, text }) =>
    [...text.matchAll(/(\S+\s+)(\w+)(?:<[^;{}()]*?>)?\(/g)]
      .filter(([, before, name]) => stepNames.has(name as string) && !isTaken(before as string))
      .map(([call]) => `${file}: ${call}`),
  )
  expect(forgotten).toEqual([])
})

function isTaken(before: string): boolean {
  return /(yield\*|function\*?|return|=>)\s+$/.test(before)
}
