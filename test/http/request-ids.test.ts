import { afterEach, describe, expect, it } from 'vitest'
import { anEdgesServer, type Edges } from './edges-server.js'

let edges: Edges | undefined
afterEach(() => edges?.app.close())

async function serve() {
  edges = await anEdgesServer()
  return edges
}

const idOf = ({ headers }: { headers: Record<string, unknown> }) => headers['x-request-id']

describe('the id of a request', () => {
  it("is the caller's, in the answer and in every line of the request", async () => {
    const { app, lines } = await serve()
    const headers = { 'x-request-id': 'shop-7/order:41' }
    const payload = { fail: true }
    const failed = await app.inject({ method: 'POST', url: '/settle', headers, payload })
    expect(failed.statusCode).toBe(500)
    expect(idOf(failed)).toBe('shop-7/order:41')
    const messages = ['request failed', 'request']
    const own = lines.filter(({ msg }) => messages.includes(String(msg)))
    expect(own.map(({ requestId }) => requestId)).toEqual(['shop-7/order:41', 'shop-7/order:41'])
  })

  it('is made when the caller gives none, and differs from request to request', async () => {
    const { app } = await serve()
    const [first, second] = [await app.inject('/supported'), await app.inject('/supported')]
    expect(idOf(first)).toMatch(/^[a-z0-9]+-[a-z0-9]+$/)
    expect(idOf(second)).not.toBe(idOf(first))
  })

  it.each([
    ['129 characters', 'a'.repeat(129)],
    ['a blank', 'a b'],
    ['nothing', ''],
    ['a character outside ASCII', 'caf\u00e9'],
  ])('is made instead of one with %s', async (_, given) => {
    const { app } = await serve()
    const answer = await app.inject({ url: '/supported', headers: { 'x-request-id': given } })
    expect(idOf(answer)).toMatch(/^[a-z0-9]+-[a-z0-9]+$/)
  })

  it('takes 128 characters', async () => {
    const { app } = await serve()
    const given = 'a'.repeat(128)
    const answer = await app.inject({ url: '/supported', headers: { 'x-request-id': given } })
    expect(idOf(answer)).toBe(given)
  })

  it('stands in refusals that no route gave', async () => {
    const { app } = await serve()
    const headers = { 'x-request-id': 'abc' }
    for (const url of ['/nowhere', '/%zz']) {
      expect(idOf(await app.inject({ url, headers })), url).toBe('abc')
    }
  })
})
