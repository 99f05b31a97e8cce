import { cleanText, findHidden, findUnwelcome, stripHidden } from '@arcus/protocol/listing/text'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const ignorable = /\p{Default_Ignorable_Code_Point}/u
/** Those that may be part of what is seen. */
const joiners = ['\u200c', '\u200d', '\ufe0e', '\ufe0f']

const codePoint = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code))
const troublesome = fc.constantFrom(
  ...joiners,
  ...[
    '\u200b',
    '\u200e',
    '\u202e',
    '\u3164',
    '\u2800',
    '\u{e0100}',
    '\ud83d',
    '\udc69',
    '\0',
    '\n',
  ],
  ...['👩', '❤', '🏳', '🌈', '👍🏽', '1', '\u20e3', 'ا', 'ب', 'क', '\u094d', 'a', ' '],
)
const text = fc
  .array(fc.oneof({ weight: 3, arbitrary: troublesome }, codePoint))
  .map((it) => it.join(''))

describe('hidden characters', () => {
  it('are gone once they are taken out, and nothing else is', () => {
    fc.assert(
      fc.property(text, (it) => {
        const stripped = stripHidden(it)
        expect(findHidden(stripped)).toBeUndefined()
        expect(stripHidden(stripped)).toBe(stripped)
        if (findHidden(it) === undefined) expect(stripped).toBe(it)
      }),
      { numRuns: 2_000 },
    )
  })

  it('of every kind are found alone, between letters, and at the end', () => {
    fc.assert(
      fc.property(codePoint, (it) => {
        if (!ignorable.test(it)) return
        for (const around of [it, `a${it}b`, `a${it}`, `é${it}é`]) {
          expect(findHidden(around)).toBe(it)
        }
      }),
      { numRuns: 20_000 },
    )
    for (let code = 0xfe00; code <= 0xfe0f; code++) {
      expect(findHidden(`a${String.fromCodePoint(code)}`)).toBeDefined()
    }
  })

  it('never follow one another in what is kept, so that no word is spelled in them', () => {
    const word = new RegExp(
      `(?:${joiners.join('|')}){3}|([${joiners.slice(0, 2).join('')}]){2}`,
      'u',
    )
    fc.assert(
      fc.property(text, (it) => {
        expect(stripHidden(it)).not.toMatch(word)
      }),
      { numRuns: 2_000 },
    )
  })

  it('leave a cleaned text such as an owner may write, however it is cut', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 20 }), (it, maxChars) => {
        const cleaned = cleanText(it, maxChars)
        expect(cleaned.length).toBeLessThanOrEqual(maxChars)
        expect(findUnwelcome(cleaned, 'one-line')).toBeUndefined()
      }),
      { numRuns: 2_000 },
    )
  })
})
