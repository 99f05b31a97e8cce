import { sanitizeResourceServiceMetadata } from '@x402/extensions/bazaar'
import { describe, expect, it } from 'vitest'
import { isIconUrl, readServiceMetadata } from '../../../src/x402/service-metadata.js'

describe('an icon', () => {
  it.each([
    'https://cdn.example.com/icon.png',
    'http://cdn.example.com:8080/i.svg?v=2#x',
    'https://bücher.example/i.png',
    'https://127.example.com/i.png',
    'https://0xcafe.example/i.png',
  ])('may come from %s', (url) => {
    expect(isIconUrl(url)).toBe(true)
  })

  it.each([
    'http://127.0.0.1/i.png',
    'http://127.1/i.png',
    'http://2130706433/i.png',
    'http://0x7f000001/i.png',
    'http://0x7f.1/i.png',
    'http://0177.0.0.1/i.png',
    'http://0/i.png',
    'http://8.8.8.8/i.png',
    'http://[::1]/i.png',
    'http://[2606:4700::1]/i.png',
    'http://localhost/i.png',
    'http://LOCALHOST./i.png',
    'http://a.localhost/i.png',
    'http://localhost.localdomain/i.png',
    'http://ip6-localhost/i.png',
    'http://ip6-loopback/i.png',
    'http://ｌｏｃａｌｈｏｓｔ/i.png',
    'http://%6cocalhost/i.png',
    'http://１２７.0.0.1/i.png',
    'http://127。0。0。1/i.png',
    'https://user@cdn.example.com/i.png',
    'https://:secret@cdn.example.com/i.png',
    'ftp://cdn.example.com/i.png',
    'data:image/png;base64,AAAA',
    'javascript:alert(1)',
    '//cdn.example.com/i.png',
    'https://cdn.example.com/i\u0000.png',
    'https://cdn.example.com/i\n.png',
    ' https://cdn.example.com/i.png',
    'https://cdn.example.com\\@evil.example/i.png',
    `https://cdn.example.com/${'i'.repeat(2_025)}`,
    '',
    7,
    null,
  ])('does not come from %j', (url) => {
    expect(isIconUrl(url)).toBe(false)
  })

  it('may have an address of 2,048 characters', () => {
    expect(isIconUrl(`https://cdn.example.com/${'i'.repeat(2_024)}`)).toBe(true)
  })
})

describe('name and tags', () => {
  it.each([
    { serviceName: 'A' },
    { serviceName: 'x'.repeat(32) },
    { serviceName: 'x'.repeat(33) },
    { serviceName: '' },
    { serviceName: 'Wetter für alle' },
    { serviceName: 'a\tb' },
    { serviceName: ['Weather'] },
    { tags: ['a', 'A', 'b'] },
    { tags: ['a', '', 'é', 'x'.repeat(33), 'b', 'c', 'd', 'e', 'f'] },
    { tags: { 0: 'a', length: 1 } },
    { tags: [] },
    { tags: ['toString', '__proto__'] },
  ])('of %j are those the reference keeps', (resource) => {
    const reference = sanitizeResourceServiceMetadata(resource as never)
    expect(readServiceMetadata(resource)).toEqual(reference)
  })

  it('are no blanks, which nobody could see', () => {
    expect(readServiceMetadata({ serviceName: '   ', tags: [' '] })).toEqual({})
  })
})
