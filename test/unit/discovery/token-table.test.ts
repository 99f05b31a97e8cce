import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fold, tokensOf } from '../../../src/discovery/fold.js'
import { createTokenTable, tokenOf } from '../../../src/discovery/token-table.js'

it('cuts texts where a query is cut, and gives the same token the same number', () => {
  const unit = fc.oneof(
    fc.constantFrom(
      ' ',
      '\t',
      '\u00a0',
      '\u2003',
      '\u3000',
      '\ufeff',
      '\u0085',
      '\u200b',
      'a',
      'b',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((it) => it !== 'c'),
  )
  fc.assert(
    fc.property(fc.array(fc.string({ unit, maxLength: 20 }).map(fold)), (texts) => {
      const table = createTokenTable()
      const numbers: number[] = []
      for (const text of texts) table.numberAll(text, (number) => numbers.push(number))
      const tokens = texts.flatMap(tokensOf)
      const chunks = table.chunks()
      const known = Array.from({ length: table.size }, (_, i) => tokenOf(chunks, i))
      expect(known).toEqual([...new Set(tokens)])
      expect(numbers.map((number) => known[number])).toEqual(tokens)
      expect(known.map(table.find)).toEqual(known.map((_, i) => i))
      expect(known.map(table.numberOf)).toEqual(known.map((_, i) => i))
      expect(table.find('c')).toBeUndefined()
    }),
  )
})

it('knows a hundred thousand tokens apart', () => {
  const table = createTokenTable()
  const text = Array.from({ length: 100_000 }, (_, i) => i.toString(36)).join(' ')
  const numbers: number[] = []
  table.numberAll(text, (number) => numbers.push(number))
  table.numberAll(text, (number) => numbers.push(number))
  const expected = Array.from({ length: 200_000 }, (_, i) => i % 100_000)
  expect(numbers).toEqual(expected)
  expect(tokenOf(table.chunks(), 99_999)).toBe((99_999).toString(36))
})
