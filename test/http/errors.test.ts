import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { RequestFault } from '../../src/http/errors.js'
import { anEdgesServer } from './edges-server.js'

const payer = '0x52908400098527886E0F7030069857D2E4169EE7'
const payment = {
  paymentPayload: { payload: { authorization: { from: payer.toLowerCase() } } },
  paymentRequirements: { network: 'eip155:5042' },
}
const json = { 'content-type': 'application/json' }

function shapeOf(path: string, code: string) {
  return path === '/verify'
    ? { isValid: false, invalidReason: code, invalidMessage: expect.any(String) }
    : {
        success: false,
        errorReason: code,
        errorMessage: expect.any(String),
        transaction: '',
        network: '',
      }
}

describe.each(['/verify', '/settle'])('a request fault of %s', (path) => {
  it.each([
    ['broken JSON', '{"a":', json],
    ['an empty body', '', json],
    ['a text body', '{}', { 'content-type': 'text/plain' }],
    ['a form body', 'a=1', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a nonsense content type', '{}', { 'content-type': 'json' }],
    ['a body without content type', '{}', { 'content-type': '' }],
  ])('answers %s with 400 in shape', async (_, payload, headers) => {
    const { app, lines } = await anEdgesServer()
    const response = await app.inject({ method: 'POST', url: path, payload, headers })
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual(shapeOf(path, 'invalid_payload'))
    expect(lines.filter(({ level }) => level !== 'debug')).toEqual([])
  })

  it('takes a body at the limit and answers one byte more with 413 in shape', async () => {
    const { app } = await anEdgesServer({ bodyLimitBytes: 1_024 })
    const body = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`
    const post = (payload: string) =>
      app.inject({ method: 'POST', url: path, payload, headers: json })
    expect((await post(body(1_024))).statusCode).toBe(200)
    const refused = await post(body(1_025))
    expect(refused.statusCode).toBe(413)
    expect(refused.json()).toEqual(shapeOf(path, 'body_too_large'))
  })

  it('hands a missing body to the route', async () => {
    const { app } = await anEdgesServer()
    const response = await app.inject({ method: 'POST', url: path })
    expect(response.json()).toEqual({ received: 'undefined' })
  })

  it('explains that it reads no compressed body', async () => {
    const { app } = await anEdgesServer()
    const headers = { ...json, 'content-encoding': 'gzip' }
    const response = await app.inject({
      method: 'POST',
      url: path,
      payload: gzipSync(JSON.stringify(payment)),
      headers,
    })
    expect(response.statusCode).toBe(400)
    expect(JSON.stringify(response.json())).toContain('send it as plain JSON')
  })

  it('ignores members named after prototypes', async () => {
    const { app } = await anEdgesServer()
    const payload = '{"__proto__":{"fail":true},"constructor":{"prototype":{"fail":true}}}'
    const response = await app.inject({ method: 'POST', url: path, payload, headers: json })
    expect(response.json()).toEqual({ received: 'object' })
  })
})

describe('a failure', () => {
  it('is a 500 with a fixed sentence, echoing payer and network, and is logged once', async () => {
    const { app, lines } = await anEdgesServer()
    const payload = { ...payment, fail: true }
    const verify = await app.inject({ method: 'POST', url: '/verify', payload })
    expect(verify.statusCode).toBe(500)
    expect(verify.json()).toEqual({ ...shapeOf('/verify', 'unexpected_verify_error'), payer })
    const settle = await app.inject({ method: 'POST', url: '/settle', payload })
    expect(settle.statusCode).toBe(500)
    expect(settle.json()).toEqual({
      ...shapeOf('/settle', 'unexpected_settle_error'),
      network: 'eip155:5042',
      payer,
    })
    for (const { body } of [verify, settle]) expect(body).not.toMatch(/node\.example|srv|Error:/)
    const logged = lines.filter(({ level }) => level === 'error')
    expect(logged).toHaveLength(2)
    expect(JSON.stringify(logged)).toContain('[url]')
    expect(JSON.stringify(logged)).not.toContain('node.example')
  })

  it('does not echo a malformed payer or network', async () => {
    const { app } = await anEdgesServer()
    const payload = {
      fail: true,
      paymentPayload: { payload: { authorization: { from: '<script>' } } },
      paymentRequirements: { network: `eip155:${'9'.repeat(33)}` },
    }
    const response = await app.inject({ method: 'POST', url: '/settle', payload })
    expect(response.json()).toEqual(shapeOf('/settle', 'unexpected_settle_error'))
  })
})

describe('a plain route', () => {
  it('answers its own fault with the status and headers of the fault', async () => {
    const { app } = await anEdgesServer({
      routes: (app) => {
        app.get('/api/fault', () => {
          throw new RequestFault({
            statusCode: 409,
            code: 'stale_revision',
            message: 'Too late.',
            headers: { etag: '"3"' },
          })
        })
        app.get('/api/fail', () => {
          throw new Error('secret')
        })
      },
    })
    const fault = await app.inject('/api/fault')
    expect(fault.statusCode).toBe(409)
    expect(fault.headers.etag).toBe('"3"')
    expect(fault.json()).toEqual({ error: 'stale_revision', message: 'Too late.' })
    const failure = await app.inject('/api/fail')
    expect(failure.statusCode).toBe(500)
    expect(failure.json()).toEqual({ error: 'internal_error', message: expect.any(String) })
    const malformed = await app.inject({
      method: 'POST',
      url: '/api/listings',
      payload: '{',
      headers: json,
    })
    expect(malformed.statusCode).toBe(400)
    expect(malformed.json()).toMatchObject({ error: 'invalid_request' })
  })

  it('answers an unknown path with 404', async () => {
    const { app } = await anEdgesServer()
    for (const url of ['/', '/verify/x', '/payments/eip155:5042', '/api']) {
      const response = await app.inject(url)
      expect(response.statusCode).toBe(404)
      expect(response.json()).toMatchObject({ error: 'not_found' })
    }
  })

  it('answers a known path with another method by 405 and Allow', async () => {
    const { app } = await anEdgesServer()
    const verify = await app.inject('/verify?x=1')
    expect(verify.statusCode).toBe(405)
    expect(verify.headers.allow).toBe('POST')
    expect(verify.json()).toMatchObject({ error: 'method_not_allowed' })
    const payments = await app.inject({ method: 'DELETE', url: '/payments/eip155:5042/0x1/0x2' })
    expect(payments.statusCode).toBe(405)
    expect(payments.headers.allow).toBe('GET, HEAD')
  })

  it('answers a malformed URL and an endless segment with 400', async () => {
    const { app } = await anEdgesServer()
    for (const url of ['/api/%E0%A4%A', `/payments/${'x'.repeat(201)}/y/z`]) {
      const response = await app.inject(url)
      expect(response.statusCode).toBe(400)
      expect(response.json()).toEqual({
        error: 'invalid_request',
        message: 'The URL is malformed.',
      })
    }
  })

  it('answers with a trailing slash too', async () => {
    const { app } = await anEdgesServer()
    expect((await app.inject('/supported/')).statusCode).toBe(200)
  })
})

it('logs one compact line a request, with the route instead of the URL', async () => {
  const { app, lines } = await anEdgesServer()
  await app.inject('/payments/eip155:5042/0x1/0x2?secret=1')
  expect(lines.filter(({ msg }) => msg === 'request')).toMatchObject([
    { level: 'debug', method: 'GET', route: '/payments/:network/:payer/:nonce', status: 200 },
  ])
  expect(JSON.stringify(lines)).not.toContain('secret')
})

const idOf = ({ headers }: { headers: Record<string, unknown> }) => headers['x-request-id']

describe('the id of a request', () => {
  it("is the caller's, in the answer and in every line of the request", async () => {
    const { app, lines } = await anEdgesServer()
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
    const { app } = await anEdgesServer()
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
    const { app } = await anEdgesServer()
    const answer = await app.inject({ url: '/supported', headers: { 'x-request-id': given } })
    expect(idOf(answer)).toMatch(/^[a-z0-9]+-[a-z0-9]+$/)
  })

  it('takes 128 characters', async () => {
    const { app } = await anEdgesServer()
    const given = 'a'.repeat(128)
    const answer = await app.inject({ url: '/supported', headers: { 'x-request-id': given } })
    expect(idOf(answer)).toBe(given)
  })

  it('stands in refusals that no route gave', async () => {
    const { app } = await anEdgesServer()
    const headers = { 'x-request-id': 'abc' }
    for (const url of ['/nowhere', '/%zz']) {
      expect(idOf(await app.inject({ url, headers })), url).toBe('abc')
    }
  })
})
