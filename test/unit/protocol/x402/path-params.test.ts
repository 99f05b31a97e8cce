import { parseBazaar } from '@arcus/protocol/x402/bazaar'
import { pathParamsOf, toHttpCall } from '@arcus/protocol/x402/calls'
import { expect, it } from 'vitest'

it.each([
  ['/purchase/:id', '/purchase/5', { id: '5' }],
  ['/:from/to/:until', '/a%20b/to/c%2Fd', { from: 'a b', until: 'c/d' }],
  ['/static', '/static', {}],
])('the path of %s that is %s has its values, which make it again', (template, path, params) => {
  expect(pathParamsOf(template, path)).toEqual(params)
  const url = `https://shop.example${template}`
  const call = toHttpCall({ url, method: 'GET' }, { pathParams: params })
  expect(new URL(call.url).pathname).toBe(path)
})

it.each([
  ['/purchase/:id', '/purchase'],
  ['/purchase/:id', '/purchase/'],
  ['/purchase/:id', '/purchase/5/6'],
  ['/purchase/:id', '/sale/5'],
  ['/purchase/:id', '/purchase/%2e%2e'],
  ['/purchase/:id', '/purchase/%E0%A4%A'],
  ['/purchase/:id', '/purchase/%E2%80%AEx'],
  ['/:a/:a', '/1/2'],
  ['/v1/model:ask', '/v1/other:ask'],
  ['/:__proto__', '/x'],
])('%s is no template of %s', (template, path) => {
  expect(pathParamsOf(template, path)).toBeUndefined()
})

const paid = (url: string, pathParams?: unknown) => {
  const input = { type: 'http', method: 'GET', pathParams }
  const bazaar = { info: { input }, schema: {}, routeTemplate: '/purchase/:id' }
  const payload = { x402Version: 2, resource: { url }, extensions: { bazaar } }
  const parsed = parseBazaar(payload)
  if (parsed?.ok !== true) throw new Error('not read')
  return parsed.resource
}

it('a paid URL is listed under its template, with its values and without its query', () => {
  expect(paid('https://shop.example/purchase/5?key=secret', { id: '7' })).toMatchObject({
    url: 'https://shop.example/purchase/:id',
    routeTemplate: '/purchase/:id',
    pathParams: { id: '5' },
  })
})

it('where a server names the template itself, the values beside it count', () => {
  const url = 'https://shop.example/purchase/:id'
  expect(paid(url, { id: '7', more: 1 })).toMatchObject({ url, pathParams: { id: '7' } })
})

it('a template of another URL is left out: the paid URL is listed', () => {
  const resource = paid('https://shop.example/api/purchase/5')
  expect(resource).toMatchObject({
    url: 'https://shop.example/api/purchase/5',
    dropped: ['routeTemplate'],
  })
  expect(resource).not.toHaveProperty('pathParams')
})
