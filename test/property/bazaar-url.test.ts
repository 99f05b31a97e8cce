import { canonicalUrl, isRouteTemplate } from '@arcus/protocol/x402/bazaar'
import { isValidRouteTemplate } from '@x402/extensions/bazaar'
import fc from 'fast-check'
import { expect, it } from 'vitest'

const runs = { numRuns: 500 }

it('takes the route templates the reference takes, and no others', () => {
  const pieces = [
    '/',
    '..',
    '.',
    '%',
    '25',
    '2e',
    '2F',
    '3A',
    ':',
    'a',
    'users',
    '%2e',
    '%252e',
    '://',
    '~',
    '*',
    ' ',
  ]
  const texts = fc
    .array(fc.constantFrom(...pieces), { maxLength: 12 })
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(
      fc.oneof(
        texts,
        texts.map((text) => `/${text}`),
        fc.string(),
      ),
      (text) => {
        expect(isRouteTemplate(text)).toBe(isValidRouteTemplate(text))
      },
    ),
    { numRuns: 2_000 },
  )
})

it('sees through five layers of escapes, and takes no template that has more', () => {
  const escaped = (text: string, times: number) => {
    let hidden = text
    for (let layer = 0; layer < times; layer++) {
      hidden = hidden.replace(/[%.:]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
    }
    return hidden
  }
  const hostile = fc.constantFrom('/a/../b', '/..', '/http://evil.example', '/a://b')
  fc.assert(
    fc.property(hostile, fc.integer({ min: 0, max: 9 }), (text, times) => {
      expect(isRouteTemplate(escaped(text, times))).toBe(false)
    }),
    runs,
  )
  expect(isRouteTemplate(escaped('/a.b', 4))).toBe(true)
  expect(isRouteTemplate(escaped('/a.b', 5))).toBe(false)
})

it('keeps a URL without query, fragment and login, and finds it under any of these', () => {
  const path = fc.webPath()
  const query = fc.webQueryParameters()
  const fragment = fc.webFragments()
  fc.assert(
    fc.property(fc.domain(), path, query, fragment, (host, pathname, search, hash) => {
      const bare = canonicalUrl(`https://${host}${pathname}`)
      expect(bare).toBeDefined()
      expect(new URL(bare as string)).toMatchObject({ username: '', search: '', hash: '' })
      expect(canonicalUrl(`https://me:secret@${host}${pathname}?${search}#${hash}`)).toBe(bare)
      expect(canonicalUrl(bare)).toBe(bare)
    }),
    runs,
  )
})

it('never lets a template lead to another host', () => {
  const unit = fc.constantFrom(...'/:.%-~_abc0123456789'.split(''), '%2f', '%5c', '//', '%40')
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 40 }), (text) => {
      const template = `/${text}`
      fc.pre(isRouteTemplate(template))
      const url = canonicalUrl('https://api.example.com:8443/v1/x?y#z', template)
      expect(new URL(url as string).origin).toBe('https://api.example.com:8443')
      expect(canonicalUrl(url)).toBe(url)
    }),
    runs,
  )
})
