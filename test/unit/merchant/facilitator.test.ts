import type { IncomingMessage, ServerResponse } from 'node:http'
import { x402 } from '@arcus/merchant'
import { encodePaymentSignatureHeader } from '@x402/core/http'
import fastify from 'fastify'
import { expect, it, onTestFinished, vi } from 'vitest'
import { startServer } from '../../support/a-server.js'
import {
  aPayload,
  payer,
  payTo,
  readRequired,
  readSettlement,
  success,
  transaction,
} from './a-shop.js'

type Answer = (response: ServerResponse, request: IncomingMessage) => void

const json =
  (body: object, status = 200): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const hangUp: Answer = (response) => response.destroy()
const silence: Answer = () => {}

/** Makes a shop with a facilitator on its own server. `settles` are its answers in order, the last one repeated. */
async function aShopWith(settles: Answer[], verify: Answer = json({ isValid: true, payer })) {
  const keys: unknown[] = []
  const server = await startServer((request, response) => {
    request.resume().once('end', () => {
      if (request.url === '/verify') return verify(response, request)
      keys.push(request.headers['idempotency-key'])
      const [answer] = settles.length > 1 ? settles.splice(0, 1) : settles
      return answer?.(response, request)
    })
  })
  const facilitator = `${server.url}/`
  const app = fastify()
  onTestFinished(async () => {
    await app.close()
    await server.close()
  })
  // The timeout is short only in the test of a silent facilitator: a busy machine answers slowly.
  const facilitatorTimeoutMs = [...settles, verify].includes(silence) ? 200 : 10_000
  await app.register(x402, { facilitator, payTo, facilitatorTimeoutMs })
  app.get('/quote', { config: { x402: '$0.01' } }, () => 'goods')
  const signature = encodePaymentSignatureHeader(aPayload(readRequired(await app.inject('/quote'))))
  const pay = () => app.inject({ url: '/quote', headers: { 'payment-signature': signature } })
  return { pay, keys }
}

it('a settle whose connection breaks is repeated once under the same key', async () => {
  const { pay, keys } = await aShopWith([hangUp, json(success)])
  expect((await pay()).body).toBe('goods')
  expect(keys).toHaveLength(2)
  expect(keys[0]).toMatch(/^[\w-]{36}$/)
  expect(keys[1]).toBe(keys[0])
})

it('a pending settle is repeated once under the same key', async () => {
  const pending = { ...success, success: false, errorReason: 'settlement_pending' }
  const { pay, keys } = await aShopWith([json(pending), json(success)])
  expect((await pay()).body).toBe('goods')
  expect(new Set(keys).size).toBe(1)
})

it('two requests with the same payment have different keys', async () => {
  const { pay, keys } = await aShopWith([json(success)])
  // One after the other: two at once are one call.
  await pay()
  await pay()
  expect(new Set(keys).size).toBe(2)
})

it.each<[string, Answer[]]>([
  ['breaks every connection', [hangUp]],
  ['does not answer', [silence]],
  ['answers no JSON', [(response) => response.end('<html>')]],
  ['answers another shape', [json({ paid: true })]],
  ['answers a failure without shape', [json({ error: 'x' }, 503)]],
])('a facilitator that %s at settle is a 502 without the goods', async (_, settles) => {
  const { pay } = await aShopWith(settles)
  const response = await pay()
  expect([response.statusCode, response.json().error]).toEqual([502, 'facilitator_unavailable'])
  expect(response.json().message).toMatch(/same payment again/)
})

it.each<[string, Answer]>([
  ['breaks every connection', hangUp],
  ['does not answer', silence],
  ['answers no JSON', (response) => response.end('<html>')],
  ['answers a failure without shape', json({ error: 'x' }, 500)],
])('a facilitator that %s at verify is a 502, and nothing is settled', async (_, verify) => {
  const { pay, keys } = await aShopWith([json(success)], verify)
  const response = await pay()
  expect([response.statusCode, response.json().error]).toEqual([502, 'facilitator_unavailable'])
  expect(keys).toEqual([])
})

it('long texts of the facilitator are cut, so that buyers can read the answer', async () => {
  const { pay } = await aShopWith([
    json({
      ...success,
      success: false,
      errorReason: 'some_code',
      errorMessage: 'x'.repeat(100_000),
      extensions: { own: 'x'.repeat(100_000) },
    }),
  ])
  const response = await pay()
  expect(response.statusCode).toBe(402)
  expect(String(response.headers['payment-response']).length).toBeLessThan(8_192)
  expect(readSettlement(response)).toMatchObject({ errorReason: 'some_code', transaction })
})

/** Starts a shop that listens, and resolves to the warning that it logs. */
async function warningOf(facilitator: string, network: 'eip155:5042' | 'eip155:5042002') {
  const logged: string[] = []
  const stream = { write: (line: string) => void logged.push(JSON.parse(line).msg) }
  const app = fastify({ logger: { level: 'warn', stream } })
  onTestFinished(() => app.close())
  await app.register(x402, { facilitator, payTo, network })
  app.get('/quote', { config: { x402: '$0.01' } }, () => 'goods')
  await app.listen({ port: 0, host: '127.0.0.1' })
  return logged
}

it('a start warns of a facilitator that is away, and goes on', async () => {
  const logged = await warningOf('http://127.0.0.1:9', 'eip155:5042')
  const said = /^x402: the facilitator does not answer, so paid calls will get 502: /
  await vi.waitFor(() => expect(logged).toEqual([expect.stringMatching(said)]))
})

it('a start warns of a network that the facilitator does not settle on', async () => {
  const kinds = [{ x402Version: 2, scheme: 'exact', network: 'eip155:5042' }]
  let asked = 0
  const server = await startServer((_, response) => {
    asked++
    json({ kinds, extensions: [], signers: {} })(response, _)
  })
  onTestFinished(() => server.close())
  expect(await warningOf(server.url, 'eip155:5042')).toEqual([])
  await vi.waitFor(() => expect(asked).toBe(1))
  const logged = await warningOf(server.url, 'eip155:5042002')
  const said = /^x402: the facilitator settles no payment on eip155:5042002 that is asked for here/
  await vi.waitFor(() => expect(logged).toEqual([expect.stringMatching(said)]))
})
