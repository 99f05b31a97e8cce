import { expect, it } from 'vitest'
import { siteOf } from '../../../../src/directory/store/site.js'

it.each([
  ['https://api.example.com/v1', 'example.com'],
  ['https://other.example.com:8443/', 'example.com'],
  ['https://shop.example.co.uk/', 'example.co.uk'],
  // Two shops of one platform are two sellers.
  ['https://one.vercel.app/', 'one.vercel.app'],
  ['https://deep.one.vercel.app/', 'one.vercel.app'],
  ['https://bücher.example/', 'xn--bcher-kva.example'],
  ['http://127.0.0.1:4031/quote', '127.0.0.1:4031'],
  ['http://[::1]:4031/quote', '[::1]:4031'],
  ['http://localhost:4031/quote', 'localhost:4031'],
])('the site of %s is %s', (url, site) => {
  expect(siteOf(url)).toBe(site)
})
