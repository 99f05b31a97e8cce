import type { RequestListener } from 'node:http'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { ANSWER_MS } from '../../src/console/pages/merchant/try/payment.js'
import { paidTimes, tryTimes } from '../../src/directory/probe/try-routes.js'
import { startDirectory } from '../support/a-directory.js'
import { ask } from '../support/directory/a-402.js'
import { type anEndpoint, type MerchantDraft, save } from '../support/directory/a-catalog.js'
import { aTarget } from '../support/directory/a-target.js'
import { createListingWriter, owner } from '../support/directory/listed-merchants.js'
import { withResolvers } from '../support/with-resolvers.js'

const open: (() => unknown)[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()))
})

interface Setting {
  endpoint?: Partial<ReturnType<typeof anEndpoint>>
  merchant?: Partial<MerchantDraft>
  allowPrivateHosts?: boolean
  /** The URL of a second endpoint. */
  second?: string
}

/** Starts a directory with a listed endpoint of the merchant `weather`, or with two. */
async function aServer({ endpoint, merchant, allowPrivateHosts = true, second }: Setting) {
  const settings = { probeAllowPrivateHosts: allowPrivateHosts }
  const directory = await startDirectory({ settings })
  open.push(directory.close)
  const { app, store } = directory
  await save(store, { id: 'weather', ...merchant }, [
    { ...endpoint },
    ...(second === undefined ? [] : [{ ...endpoint, url: second }]),
  ])
  const ids = (await store.endpointsOf(merchant?.id ?? 'weather')).map(({ id }) => id)
  const send = (body: object, remoteAddress = '192.0.2.1') =>
    app.inject({ method: 'POST', url: '/api/try', payload: { ...body }, remoteAddress })
  const call = (input: object = {}, more: object = {}, from?: string) =>
    send({ merchantId: 'weather', endpointId: ids[0], input, ...more }, from)
  return { app, store, send, call, ids, asked: directory.sellers.called }
}

interface Seen {
  method: string | undefined
  url: string | undefined
  headers: Record<string, unknown>
  body: string
}

/** Starts a host that keeps what it saw and then answers. */
async function aHost(answer: RequestListener) {
  const seen: Seen[] = []
  const host = await aTarget(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    seen.push({ method: request.method, url: request.url, headers: request.headers, body })
    answer(request, response)
  })
  open.push(host.close)
  return { url: host.url, seen, connections: host.connections }
}

const payment = Buffer.from('{"x402Version":2}').toString('base64')

describe('POST /api/try', () => {
  it('calls the listed URL with the input, and gives the 402 as data', async () => {
    const host = await aHost((_, response) => ask(response))
    const { call } = await aServer({
      endpoint: { url: `${host.url}/w?unit=c`, example: { headers: { 'X-Style': 'short' } } },
    })
    const answer = await call({
      queryParams: { city: 'Évora', days: [1, 2] },
      headers: { 'X-Style': 'long' },
    })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.json()).toMatchObject({
      outcome: 'answered',
      status: 402,
      headers: { 'payment-required': expect.any(String) },
    })
    const [request] = host.seen
    expect(request?.url).toBe('/w?unit=c&city=%C3%89vora&days=1&days=2')
    expect(request?.headers).toMatchObject({ 'x-style': 'long' })
    expect(request?.headers).not.toHaveProperty('payment-signature')
    expect(request?.headers).not.toHaveProperty('cookie')
  })

  it('takes 64 members of each kind', async () => {
    const host = await aHost((_, response) => ask(response))
    const { call } = await aServer({ endpoint: { url: `${host.url}/w?p0=old&kept=1` } })
    const members = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, [n, 'x']]))
    expect((await call({ queryParams: members(64) })).statusCode).toBe(200)
    const sent = new URL(host.seen[0]?.url ?? '', host.url).searchParams
    expect([...new Set(sent.keys())]).toHaveLength(65)
    expect([sent.get('kept'), sent.getAll('p0'), sent.getAll('p63')]).toEqual([
      '1',
      ['0', 'x'],
      ['63', 'x'],
    ])
    for (const input of [
      { queryParams: members(65) },
      { pathParams: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`p${n}`, 'x'])) },
    ]) {
      const refused = await call(input)
      expect(refused.statusCode).toBe(400)
      expect(refused.json().message).toMatch(/must have at most 64 members/)
    }
    expect(host.seen).toHaveLength(1)
  })

  it('hands the payment on, and gives bytes of any type back as base64', async () => {
    const bytes = Buffer.from([0, 255, 128, 60, 115])
    const host = await aHost((_, response) => {
      const headers = {
        'content-type': 'image/png',
        'payment-response': 'e30=',
        'set-cookie': 'a=b',
      }
      response.writeHead(200, headers).end(bytes)
    })
    const { call } = await aServer({ endpoint: { url: host.url, method: 'POST' } })
    const answer = await call({ body: { city: 'Faro' } }, { payment })
    expect(answer.json()).toEqual({
      outcome: 'answered',
      status: 200,
      headers: { 'content-type': 'image/png', 'payment-response': 'e30=' },
      body: bytes.toString('base64'),
      missing: null,
    })
    expect(host.seen).toMatchObject([
      {
        method: 'POST',
        body: '{"city":"Faro"}',
        headers: { 'payment-signature': payment, 'content-type': 'application/json' },
      },
    ])
  })

  it('calls no other address than a listed one', async () => {
    const host = await aHost((_, response) => ask(response))
    const { send, call, ids } = await aServer({ endpoint: { url: host.url } })
    const endpointId = ids[0]
    const wrong = [
      [{ merchantId: 'nobody', endpointId, input: {} }, 404, 'merchant_not_found'],
      [{ merchantId: 'weather', endpointId: 99, input: {} }, 404, 'endpoint_not_found'],
      [{ url: host.url, input: {} }, 400, 'invalid_request'],
      [{ merchantId: 'weather', endpointId, input: {}, url: host.url }, 400, 'invalid_request'],
    ] as const
    for (const [body, status, code] of wrong) {
      const answer = await send(body)
      expect([answer.statusCode, answer.json().error]).toEqual([status, code])
    }
    const foreign = await aServer({ endpoint: { url: host.url }, merchant: { id: 'other' } })
    await save(foreign.store, { id: 'weather' }, [])
    expect((await foreign.call()).json().error).toBe('endpoint_not_found')
    expect(host.connections()).toBe(0)
    expect((await call()).statusCode).toBe(200)
  })

  it.each([
    [undefined, 'The body is required.'],
    [[7], 'The body must be an object.'],
    [{}, 'merchantId is required.'],
    [{ merchantId: 'weather', endpointId: '7' }, 'endpointId must be a whole number from 1.'],
    [{ merchantId: 'weather', endpointId: 7 }, 'input is required.'],
    [
      { merchantId: 'weather', endpointId: 7, input: { headers: { 'X-A': 'a\r\nb' } } },
      'input.headers.X-A must be of visible ASCII characters and spaces.',
    ],
    [
      { merchantId: 'weather', endpointId: 7, input: { headers: { ['x'.repeat(9_000)]: 7 } } },
      `input.headers.${'x'.repeat(86)} must be a string.`,
    ],
    [{ merchantId: 'weather', endpointId: 7, input: {}, payment: '!' }, 'payment must be base64.'],
    [
      { merchantId: 'weather', endpointId: 7, input: {}, url: 'https://a.example/' },
      'The body has members that are not known here: "url".',
    ],
  ] as const)('says in a sentence what is wrong with the body %j', async (body, message) => {
    const { app } = await aServer({ endpoint: {} })
    const payload = body === undefined ? {} : { payload: structuredClone(body) as object }
    const answer = await app.inject({ method: 'POST', url: '/api/try', ...payload })
    expect([answer.statusCode, answer.json()]).toEqual([400, { error: 'invalid_request', message }])
  })

  it.each([
    [{ merchant: { hiddenReason: 'Fraud' } }, 403, 'merchant_hidden'],
    [{ endpoint: { method: 'DELETE' } }, 409, 'not_callable'],
    [{ endpoint: { method: 'PUT' } }, 409, 'not_callable'],
    [{ endpoint: { method: 'MCP', toolName: 'forecast' } }, 409, 'not_callable'],
  ] as const)('calls nothing for %j', async (setting, status, code) => {
    const host = await aHost((_, response) => ask(response))
    const { endpoint = {}, merchant = {} } = setting as Setting
    const { call } = await aServer({ merchant, endpoint: { url: host.url, ...endpoint } })
    const answer = await call()
    expect([answer.statusCode, answer.json().error]).toEqual([status, code])
    expect(host.connections()).toBe(0)
  })

  it('calls nothing of a deleted merchant', async () => {
    const host = await aHost((_, response) => ask(response))
    const { call, store } = await aServer({ endpoint: { url: host.url }, merchant: { owner } })
    await createListingWriter(store).write('weather', { kind: 'delete' })
    const answer = await call()
    expect([answer.statusCode, answer.json().error]).toEqual([410, 'merchant_deleted'])
    expect(host.connections()).toBe(0)
  })

  it.each([
    'X-Unnamed',
    'Cookie',
    'Authorization',
    'Host',
    'X-Forwarded-For',
    'X-Payment',
    'X-HTTP-Method-Override',
    'Payment-Signature',
  ])('sends no header %s', async (name) => {
    const host = await aHost((_, response) => ask(response))
    const named = name === 'X-Unnamed' ? {} : { [name]: 'text' }
    const { call } = await aServer({ endpoint: { url: host.url, example: { headers: named } } })
    const answer = await call({ headers: { [name]: 'x' } })
    expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_request'])
    expect(host.connections()).toBe(0)
  })

  it('bounds what is sent', async () => {
    const host = await aHost((_, response) => ask(response))
    const { call } = await aServer({
      endpoint: { url: host.url, method: 'POST', example: { headers: { 'X-A': '' } } },
    })
    const refusals = [
      await call({ body: 'x'.repeat(65_535) }),
      await call({ body: 'x'.repeat(100_000) }),
      await call({}, { payment: 'A'.repeat(16_388) }),
      await call({}, { payment: 'not base64!' }),
      await call({ headers: { 'X-A': 'a\r\nCookie: b' } }),
    ]
    const codes = refusals.map((answer) => answer.json().error)
    expect(codes).toEqual([
      'body_too_large',
      'body_too_large',
      'invalid_request',
      'invalid_request',
      'invalid_request',
    ])
    expect(host.connections()).toBe(0)
    expect((await call({ body: 'x'.repeat(65_534) })).statusCode).toBe(200)
  })

  it('gives what came of an answer that has no end, with what its head says of the payment', async () => {
    const paid = { 'payment-response': 'e30=' }
    const limit = 1024 * 1024
    const long = await aHost((_, response) =>
      response.writeHead(200, paid).end(Buffer.alloc(limit + 1, 7)),
    )
    const broken = await aHost((request, response) => {
      response.writeHead(200, { ...paid, 'content-length': '100' }).write('half', () => {
        setTimeout(() => request.socket.destroy(), 50)
      })
    })
    const moved = await aHost((_, response) =>
      response.writeHead(302, { ...paid, location: 'http://169.254.169.254/' }).end(),
    )
    const packed = await aHost((_, response) =>
      response.writeHead(200, { ...paid, 'content-encoding': 'gzip' }).end(gzipSync('goods')),
    )
    const outcome = async (url: string) => {
      const { call } = await aServer({ endpoint: { url } })
      const answer = (await call({}, { payment })).json()
      expect(answer).toMatchObject({ outcome: 'answered', headers: paid })
      return { ...answer, bytes: Buffer.from(answer.body, 'base64') }
    }
    const cut = await outcome(long.url)
    expect([cut.bytes.length, cut.missing]).toEqual([
      limit,
      'The body of the answer is above 1024 KiB.',
    ])
    const half = await outcome(broken.url)
    expect([half.bytes.toString(), half.missing]).toEqual([
      'half',
      'The host closed the connection without a whole answer.',
    ])
    const away = await outcome(moved.url)
    expect([away.status, away.body, away.headers]).toEqual([302, '', paid])
    expect(away.missing).toContain('redirects (302) to http://169.254.169.254/')
    expect(moved.seen).toHaveLength(1)
    const whole = await outcome(packed.url)
    expect(whole.headers).toEqual({ ...paid, 'content-encoding': 'gzip' })
    expect([gunzipSync(whole.bytes).toString(), whole.missing]).toEqual(['goods', null])
  })

  it('says whether a call without an answer was sent', async () => {
    const moved = await aHost((_, response) => ask(response))
    const closing = await aHost((request) => request.socket.destroy())
    const gone = await aTarget(() => {})
    await gone.close()
    const outcome = async (url: string, allowPrivateHosts = true) => {
      const { call } = await aServer({ endpoint: { url }, allowPrivateHosts })
      const { outcome, wasSent, message } = (await call()).json()
      expect([outcome, typeof message]).toEqual(['unanswered', 'string'])
      return wasSent
    }
    expect(await outcome(closing.url)).toBe(true)
    expect(await outcome(gone.url)).toBe(false)
    expect(await outcome(moved.url, false)).toBe(false)
    expect(moved.seen).toHaveLength(0)
  })

  it('runs few calls of a caller at once, and soon asks them to wait', async () => {
    const waiting: (() => void)[] = []
    let arrive = () => {}
    const host = await aHost((_, response) => {
      waiting.push(() => response.end())
      arrive()
    })
    const { call } = await aServer({ endpoint: { url: host.url } })
    const all = new Promise<void>((resolve) => {
      arrive = () => waiting.length === 3 && resolve()
    })
    const running = [call(), call(), call()]
    await all
    const fourth = await call()
    expect([fourth.statusCode, fourth.headers['retry-after']]).toEqual([429, '5'])
    for (const end of waiting) end()
    for (const answer of await Promise.all(running)) expect(answer.statusCode).toBe(200)
    arrive = () => waiting.at(-1)?.()
    for (let n = 5; n <= 16; n++) expect((await call()).statusCode).toBe(200)
    const late = await call()
    expect([late.statusCode, Number(late.headers['retry-after'])]).toEqual([429, 4])
    expect(host.seen).toHaveLength(15)
  })

  it('runs few calls of one merchant at once, from any visitor to any host', async () => {
    const waiting: (() => void)[] = []
    const { promise: arrived, resolve: arrive } = withResolvers()
    const slow = await aHost((_, response) => {
      waiting.push(() => response.end())
      if (waiting.length === 3) arrive()
    })
    const quick = await aHost((_, response) => response.end())
    const { send, call, ids } = await aServer({ endpoint: { url: slow.url }, second: quick.url })
    const first = [1, 2, 3].map((visitor) => call({}, {}, `192.0.2.${visitor}`))
    await arrived
    const other = { merchantId: 'weather', endpointId: ids[1], input: {} }
    expect((await send(other, '192.0.2.4')).statusCode).toBe(429)
    for (const end of waiting) end()
    for (const answer of await Promise.all(first)) expect(answer.statusCode).toBe(200)
    expect((await send(other, '192.0.2.4')).statusCode).toBe(200)
  })

  it('waits longer for a paid call, and the page longer than that', async () => {
    const host = await aHost((_, response) => response.end())
    const { call, asked } = await aServer({ endpoint: { url: host.url } })
    await call()
    await call({}, { payment })
    expect(asked.map(({ times }) => times)).toEqual([tryTimes, paidTimes])
    expect(ANSWER_MS).toBeGreaterThan(paidTimes.totalMs + 5_000)
  })

  it('is closed to pages of other origins', async () => {
    const { app, call } = await aServer({ endpoint: { url: 'https://api.example.com/' } })
    const preflight = await app.inject({
      method: 'OPTIONS',
      url: '/api/try',
      headers: {
        origin: 'https://other.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    })
    expect(preflight.statusCode).toBe(405)
    expect(preflight.headers).not.toHaveProperty('access-control-allow-origin')
    const simple = await app.inject({
      method: 'POST',
      url: '/api/try',
      headers: { 'content-type': 'text/plain', origin: 'https://other.example' },
      payload: JSON.stringify({ merchantId: 'weather', endpointId: 7, input: {} }),
    })
    expect(simple.statusCode).toBeGreaterThanOrEqual(400)
    expect((await call({ no: 1 })).headers).not.toHaveProperty('access-control-allow-origin')
  })
})
