import { parseUrl } from '@arcus/protocol/x402/parse-url'
import { expect, it } from 'vitest'

it('reads a URL, and says when there is none', () => {
  expect(parseUrl('https://api.example.com/v1?a=1')?.pathname).toBe('/v1')
  expect(parseUrl('/v2', new URL('https://api.example.com/v1'))?.href).toBe(
    'https://api.example.com/v2',
  )
  for (const text of ['', '/v1', 'https://', 'https://a b', 'not a URL']) {
    expect(parseUrl(text)).toBeUndefined()
  }
})

it('reads letters that are not ASCII as often as it is asked', () => {
  // Long enough to be compiled: from then on URL.canParse of Node 20 refuses them.
  const isRead = (text: string) => parseUrl(text) !== undefined
  for (let i = 0; i < 30_000; i++) {
    if (!isRead('https://b\u00fccher.example/caf\u00e9'))
      throw new Error(`refused after ${i} reads`)
  }
})
