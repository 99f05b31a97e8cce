import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { writeCodes } from '../../../src/directory/refusals.js'
import { readSources } from '../../house/source-files.js'

const codes = Object.keys(writeCodes)

describe('the codes of refused writes', () => {
  it('are all given by some check', () => {
    const text = readSources()
      .filter(({ path }) => path.startsWith('src/directory/'))
      .map((source) => source.text)
      .join('')
    const given = new Set(
      [...text.matchAll(/(?:WriteFault|refuse|parseRequest)\([^']*'(\w+)'/g)].map(
        ([, code]) => code,
      ),
    )
    expect(codes.filter((code) => !given.has(code))).toEqual([])
  })

  it('are all seen in a test, over HTTP or below', () => {
    const tests = [
      'http/listing-writes.test.ts',
      'http/activity.test.ts',
      'http/catalog.test.ts',
      'http/hooks.test.ts',
      'unit/directory/listings/writes.test.ts',
    ]
      .map((path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'))
      .join('')
    expect(codes.filter((code) => !tests.includes(`'${code}'`))).toEqual([])
  })
})
