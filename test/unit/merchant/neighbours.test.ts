import { connect, type IncomingHttpHeaders } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { x402 } from '@arcus/merchant'
import compress from '@fastify/compress'
import rateLimit from '@fastify/rate-limit'
import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from '@x402/core/http'
import fastify from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { aFacilitator, aPayload, buy, payTo } from './a-shop.js'

const priced = { config: { x402: '$0.01' } } as const
const refused = { success: false, transaction: '', network: 'eip155:5042' } as const

describe.each(['before', 'after'])('compression registered %s the plugin', (order) => {
  async function aCompressingShop(facilitator = aFacilitator()) {
    const app = fastify()
    onTestFinished(() => app.close())
    if (order === 'before') await app.register(compress, { threshold: 0 })
    await app.register(x402, { facilitator, payTo })
    if (order === 'after') await app.register(compress, { threshold: 0 })
    app.get('/object', priced, async () => ({ goods: 'x'.repeat(5_000) }))
    app.get('/stream', priced, async () => Readable.from(['goods', 'x'.repeat(5_000)]))
    return app
  }
  const headers = { 'accept-encoding': 'gzip' }

  it('compresses the paid body', async () => {
    const app = await aCompressingShop()
    for (const url of ['/object', '/stream']) {
      const response = await buy(app, { url, headers })
      expect([response.statusCode, response.headers['content-encoding']]).toEqual([200, 'gzip'])
      expect(gunzipSync(response.rawPayload).toString()).toMatch(/goods.*x{5000}/)
    }
  })

  it('leaves a refusal readable', async () => {
    const app = await aCompressingShop(aFacilitator({ settle: () => refused }))
    for (const url of ['/object', '/stream']) {
      const response = await buy(app, { url, headers })
      const isPacked = response.headers['content-encoding'] === 'gzip'
      const body = isPacked ? gunzipSync(response.rawPayload) : response.rawPayload
      expect(response.statusCode).toBe(402)
      expect(JSON.parse(body.toString())).toMatchObject({ error: 'settlement_failed' })
    }
  })
})

it('a rate limit answers before the payment is verified', async () => {
  const app = fastify()
  onTestFinished(() => app.close())
  const facilitator = aFacilitator()
  await app.register(x402, { facilitator, payTo })
  await app.register(rateLimit, { max: 2 })
  app.get('/quote', priced, () => 'goods')
  expect((await buy(app, { url: '/quote' })).body).toBe('goods')
  expect((await app.inject('/quote')).statusCode).toBe(429)
})

it('sells over HTTP/2, and delivers nothing unpaid there', async () => {
  const app = fastify({ http2: true })
  onTestFinished(() => app.close())
  await app.register(x402, { facilitator: aFacilitator(), payTo })
  app.get('/text', priced, async () => 'goods')
  app.get('/stream', priced, async () => Readable.from(['go', 'ods']))
  app.get('/raw', priced, async (_, reply) => {
    reply.hijack()
    reply.raw.end('goods')
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const session = connect(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
  onTestFinished(() => session.close())

  async function get(path: string, more: Record<string, string> = {}) {
    const stream = session.request({ ':path': path, ...more })
    let headers: IncomingHttpHeaders = {}
    stream.once('response', (received) => {
      headers = received
    })
    let body = ''
    for await (const chunk of stream) body += chunk
    return { status: headers[':status'], headers, body }
  }
  async function buyThere(path: string) {
    const required = decodePaymentRequiredHeader(
      (await get(path)).headers['payment-required'] as string,
    )
    return get(path, { 'payment-signature': encodePaymentSignatureHeader(aPayload(required)) })
  }

  expect(await buyThere('/text')).toMatchObject({ status: 200, body: 'goods' })
  expect(await buyThere('/stream')).toMatchObject({ status: 200, body: 'goods' })
  const raw = await buyThere('/raw')
  expect(raw.status).toBe(500)
  expect(raw.body).not.toContain('goods')
})

it('Node answers 431 to a header above its limit, and the plugin does not run', async () => {
  const app = fastify()
  onTestFinished(() => app.close())
  const facilitator = aFacilitator()
  await app.register(x402, { facilitator, payTo })
  app.get('/quote', priced, () => 'goods')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const ask = (length: number) =>
    fetch(`${url}/quote`, { headers: { 'PAYMENT-SIGNATURE': 'A'.repeat(length) } })
  expect((await ask(15_000)).status).toBe(402)
  expect((await ask(17_000)).status).toBe(431)
  expect(facilitator.calls).toEqual([])
})
