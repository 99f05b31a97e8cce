import { describe, expect, it } from 'vitest'
import {
  manyLines,
  oneLine,
  safeHref,
  sameAddress,
  splitUrl,
} from '../../../../src/console/format/untrusted-text.js'

describe('untrusted text', () => {
  it('loses characters that turn or hide text, and keeps those that languages need', () => {
    expect(oneLine('safe\u202egnp.exe', 50)).toBe('safegnp.exe')
    expect(oneLine('a\u200bb\u2066c\u{e0041}d\u0000', 50)).toBe('abcd')
    // Persian needs the joiner, families of emoji too.
    expect(oneLine('می\u200cخواهم 👩\u200d👧', 50)).toBe('می\u200cخواهم 👩\u200d👧')
  })

  it('is cut between characters, never inside one', () => {
    expect(oneLine('👍👍👍👍', 3)).toBe('👍👍…')
    expect(oneLine('abc', 3)).toBe('abc')
  })

  it('keeps its lines where lines are allowed, but not many empty ones', () => {
    expect(oneLine('a\nb', 10)).toBe('a b')
    expect(manyLines('a\n\n\n\n\nb', 10)).toBe('a\n\nb')
  })
})

describe('links', () => {
  it.each([
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'ftp://example.com',
    '//example.com',
    'nonsense',
  ])('are not made for %s', (text) => {
    expect(safeHref(text)).toBeUndefined()
  })

  it('are made for http and https', () => {
    expect(safeHref('https://example.com/a?b')).toBe('https://example.com/a?b')
    expect(safeHref('http://example.com')).toBe('http://example.com/')
  })

  it('show the true host, not a user name before an @', () => {
    expect(splitUrl('https://bank.example@evil.example/login').host).toBe('evil.example')
    expect(splitUrl('https://аррӏе.com/').host).toMatch(/^xn--/)
  })
})

it('compares addresses in any case, and never two missing ones', () => {
  expect(sameAddress('0xAB', '0xab')).toBe(true)
  expect(sameAddress(null, null)).toBe(false)
  expect(sameAddress(undefined, '0xab')).toBe(false)
})
