import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  contentWords,
  fold,
  foldUrl,
  tokensOf,
  wordsOf,
} from '../../../../src/directory/discovery/words.js'

describe('folding', () => {
  it.each([
    ['WEATHER', 'weather'],
    ['STRASSE', 'Straße'],
    ['STRASSE', 'STRAẞE'],
    ['ΟΔΟΣ', 'οδος'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['ﬁnance', 'FINANCE'],
    ['Cafe\u0301', 'CAFÉ'],
    ['µ-data', 'Μ-DATA'],
    ['ПОГОДА', 'погода'],
    ['Ⅷ', 'ⅷ'],
  ])('makes %s and %s the same', (one, other) => {
    expect(fold(one)).toBe(fold(other))
  })

  it.each([
    ['ı', 'i'],
    ['é', 'e'],
    ['%', ''],
    ['_', '-'],
  ])('keeps %s and %s apart', (one, other) => {
    expect(fold(one)).not.toBe(fold(other))
  })

  it('leaves folded text unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(fold(fold(text))).toBe(fold(text))
      }),
    )
  })

  it('equates all characters that a case-insensitive regular expression equates', () => {
    const apart: string[] = []
    for (let code = 0; code < 0x20000; code++) {
      if (code >= 0xd800 && code < 0xe000) continue
      const letter = String.fromCodePoint(code)
      for (const twin of new Set([letter.toLowerCase(), letter.toUpperCase()])) {
        if (twin === letter || [...twin].length > 1) continue
        const isTwin = new RegExp(`^\\u{${code.toString(16)}}$`, 'iu').test(twin)
        if (isTwin && fold(twin) !== fold(letter)) apart.push(`${letter} ${twin}`)
      }
    }
    expect(apart).toEqual([])
  })
})

describe('the words of a sentence', () => {
  it('are those that say something, without their endings', () => {
    expect(contentWords('I’d like every text translated, please: what’s “Hallo”?')).toEqual([
      'text',
      'translat',
      'hallo',
    ])
  })

  it.each([
    ['shipping', 'ships'],
    ['raining', 'rains'],
    ['translating', 'translates'],
    ['detection', 'detects'],
    ['companies', 'company'],
    ['taxes', 'tax'],
    ['prices', 'pricing'],
  ])('are the same for %s and %s', (one, other) => {
    expect(contentWords(one)).toEqual(contentWords(other))
  })

  it.each(['gas', 'address', 'status', 'analysis', 'city', 'rate', 'station', 'string'])(
    'leave %s as it is',
    (word) => {
      expect(contentWords(word)).toEqual([word])
    },
  )
})

describe('the words of a query', () => {
  it('are folded, cut at any kind of blank, and longest first', () => {
    expect(wordsOf('  Air\u00a0QUALITY\tx ')).toEqual(['quality', 'air', 'x'])
  })

  it('leave out those that are part of another', () => {
    expect(wordsOf('cast forecast fore weather')).toEqual(['forecast', 'weather'])
  })

  it('are none if there are only blanks', () => {
    expect(wordsOf(' \n ')).toEqual([])
    expect(tokensOf('')).toEqual([])
  })
})

it('cuts URLs at slashes and signs of the query, without the scheme', () => {
  expect(foldUrl('https://API.example.com/v1/Weather?city=Paris&x=')).toBe(
    'api.example.com v1 weather city paris x',
  )
})
