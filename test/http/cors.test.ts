import { describe, expect, it } from 'vitest'
import { anEdgesServer } from './edges-server.js'

const open = async (rateLimitMax = 0) => (await anEdgesServer({ rateLimitMax })).app

const headers = { origin: 'https://shop.example', 'access-control-request-method': 'GET' }
const publicReads = ['/supported', '/health', '/api/merchants', '/payments/eip155:5042/0x1/0x2']

describe('cross-origin access', () => {
  it.each(publicReads)('is open on %s, its preflight included', async (url) => {
    const app = await open()
    const read = await app.inject({ url, headers })
    expect(read.statusCode).toBe(200)
    expect(read.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-expose-headers':
        'EXTENSION-RESPONSES, Retry-After, RateLimit, RateLimit-Policy, ETag, X-Request-Id',
    })
    expect(read.headers.vary).toBeUndefined()
    const preflight = await app.inject({ method: 'OPTIONS', url, headers })
    expect(preflight.statusCode).toBe(204)
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD, OPTIONS, POST, PUT, DELETE',
      'access-control-allow-headers': 'content-type, if-none-match, idempotency-key, x-request-id',
      'access-control-max-age': '86400',
    })
  })

  it.each(['/verify', '/settle'])('is closed on %s', async (url) => {
    const app = await open()
    const post = await app.inject({ method: 'POST', url, headers, payload: {} })
    expect(post.statusCode).toBe(200)
    expect(post.headers['access-control-allow-origin']).toBeUndefined()
    const preflight = await app.inject({ method: 'OPTIONS', url, headers })
    expect(preflight.statusCode).toBe(405)
    expect(preflight.headers['access-control-allow-origin']).toBeUndefined()
    for (const method of ['GET', 'HEAD', 'PUT'] as const) {
      const other = await app.inject({ method, url, headers })
      expect(other.statusCode).toBe(405)
      expect(other.headers).not.toHaveProperty('access-control-allow-origin')
      expect(other.headers).not.toHaveProperty('access-control-expose-headers')
    }
  })

  it.each([
    '/api/session',
    '/api/session/nonce',
    '/api/merchants/weather/activity',
    '/api/merchants/weather/activity/table',
    '/api/merchants/weather/activity.csv',
  ])('is closed on %s, which a session opens', async (url) => {
    const { app } = await anEdgesServer({ routes: (app) => void app.get(url, () => ({})) })
    const read = await app.inject({ url, headers })
    expect(read.statusCode).toBe(200)
    expect(read.headers['access-control-allow-origin']).toBeUndefined()
    const preflight = await app.inject({ method: 'OPTIONS', url, headers })
    expect(preflight.headers['access-control-allow-origin']).toBeUndefined()
  })

  it('lets a browser read a 429 and a 404 of a public read', async () => {
    const app = await open(1)
    const missing = await app.inject({ url: '/api/nothing', headers })
    expect(missing.statusCode).toBe(404)
    expect(missing.headers['access-control-allow-origin']).toBe('*')
    const limited = await app.inject({ url: '/api/merchants', headers })
    expect(limited.statusCode).toBe(429)
    expect(limited.headers['access-control-allow-origin']).toBe('*')
  })
})
