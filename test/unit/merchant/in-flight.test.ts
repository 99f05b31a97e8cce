import { randomBytes } from 'node:crypto'
import { type AddressInfo, connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Price, RoutePrice } from '@arcus/merchant'
import { decodePaymentResponseHeader, encodePaymentSignatureHeader } from '@x402/core/http'
import type { FastifyInstance } from 'fastify'
import { describe, expect, it, vi } from 'vitest'
import { withResolvers } from '../../support/with-resolvers.js'
import { aFacilitator, aPayload, aShop, buy, readRequired } from './a-shop.js'

const priced = { config: { x402: '$0.01' } } as const
const metered = { config: { x402: { price: '$0.01', pricing: 'metered' } } } as const

const aNonce = () => `0x${randomBytes(32).toString('hex')}`

/** Starts a shop with a handler of some work, and makes functions that pay it and hang up. */
async function aWorkshop(
  effort: number | Promise<unknown>,
  config: { config: { x402: Price | RoutePrice } } = priced,
  facilitator = aFacilitator(),
) {
  const work = { begun: 0, ended: 0 }
  const { app } = await aShop(
    (it) =>
      it.get('/work', config, async () => {
        work.begun++
        await (typeof effort === 'number' ? sleep(effort) : effort)
        work.ended++
        return 'goods'
      }),
    { facilitator, server: { forceCloseConnections: true } },
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/work`
  async function call(header: string, signal?: AbortSignal) {
    const headers = { 'payment-signature': header }
    const answer = await fetch(url, { headers, ...(signal && { signal }) })
    return { status: answer.status, headers: answer.headers, body: await answer.text() }
  }
  /** Leaves while the handler works, and waits until it has ended. */
  async function leave(header: string) {
    const begun = work.begun + 1
    const hangUp = new AbortController()
    const left = call(header, hangUp.signal).catch(() => undefined)
    await vi.waitFor(() => expect(work.begun).toBe(begun), { timeout: 5_000 })
    hangUp.abort()
    await left
    await vi.waitFor(() => expect(work.ended).toBe(begun), { timeout: 5_000 })
    await sleep(20)
  }
  return { app, facilitator, work, call, leave, pay: () => aHeader(app) }
}

async function aHeader(app: FastifyInstance): Promise<string> {
  return encodePaymentSignatureHeader(aPayload(readRequired(await app.inject('/work')), aNonce()))
}

describe('a payment', () => {
  it('is worked for by one call at a time', async () => {
    const gate = withResolvers()
    const { work, call, pay } = await aWorkshop(gate.promise)
    const header = await pay()
    const refused: { status: number; body: string }[] = []
    const calls = Array.from({ length: 20 }, async () => {
      const answer = await call(header)
      if (answer.status === 409) refused.push(answer)
      return answer.status
    })
    await vi.waitFor(() => expect(refused).toHaveLength(19), { timeout: 10_000 })
    gate.resolve()
    expect((await Promise.all(calls)).filter((status) => status === 200)).toHaveLength(1)
    expect([work.begun, refused[0]?.body]).toEqual([1, expect.stringContaining('under_way')])
    // Other payments of the same payer are worked for meanwhile.
    const others = await Promise.all([pay(), pay()].map(async (it) => call(await it)))
    expect(others.map(({ status }) => status)).toEqual([200, 200])
  })

  it('is worked for again when a handler has failed', async () => {
    let fails = true
    const { app } = await aShop((it) =>
      it.get('/work', priced, async () => {
        if (fails) throw new Error('not today')
        return 'goods'
      }),
    )
    const headers = { 'payment-signature': await aHeader(app) }
    expect((await app.inject({ url: '/work', headers })).statusCode).toBe(500)
    fails = false
    await sleep(20)
    expect((await app.inject({ url: '/work', headers })).statusCode).toBe(200)
  })

  it('waits for a handler whose buyer has left, and is good for another call then', async () => {
    const { call, pay, leave, work, facilitator } = await aWorkshop(600)
    const header = await pay()
    const hangUp = new AbortController()
    const left = call(header, hangUp.signal).catch(() => undefined)
    await vi.waitFor(() => expect(work.begun).toBe(1))
    hangUp.abort()
    await left
    expect((await call(header)).status).toBe(409)
    await vi.waitFor(() => expect(work.ended).toBe(1), { timeout: 5_000 })
    await sleep(20)
    expect((await call(header)).status).toBe(200)
    await leave(await pay())
    expect(facilitator.settled).toBe(1)
  })

  it.each<[string, (left: Promise<void>) => Promise<unknown>]>([
    ['is not whole', async () => new PassThrough()],
    [
      'is a failure',
      async (left) => {
        await left
        throw new Error('not today')
      },
    ],
  ])('is good for another call once its buyer has left an answer that %s', async (_, answer) => {
    const left = withResolvers()
    let begun = 0
    const { app } = await aShop(
      (it) =>
        it.get('/work', priced, async (_request, reply) => {
          if (++begun > 1) return 'goods'
          reply.raw.once('close', left.resolve)
          return answer(left.promise)
        }),
      { server: { forceCloseConnections: true } },
    )
    const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/work`
    const headers = { 'payment-signature': await aHeader(app) }
    const hangUp = new AbortController()
    const first = fetch(url, { headers, signal: hangUp.signal }).catch(() => undefined)
    await vi.waitFor(() => expect(begun).toBe(1))
    hangUp.abort()
    await first
    const again = async () => expect((await fetch(url, { headers })).status).toBe(200)
    await vi.waitFor(again, { timeout: 5_000 })
  })
})

describe('a payer who has left two calls', () => {
  it('pays before the third is worked for, by whatever payment', async () => {
    const { facilitator, work, call, pay, leave } = await aWorkshop(400)
    await leave(await pay())
    await leave(await pay())
    expect(facilitator.settled).toBe(0)
    const third = call(await pay())
    await vi.waitFor(() => expect(work.begun).toBe(3))
    expect(facilitator.settled).toBe(1)
    expect((await third).status).toBe(200)
    const settlement = (await third).headers.get('payment-response') as string
    expect(decodePaymentResponseHeader(settlement).success).toBe(true)
  })

  it('is refused if that payment does not settle', async () => {
    const settle = () => ({
      success: false,
      transaction: '',
      network: 'eip155:5042' as const,
      errorReason: 'insufficient_balance',
    })
    const { work, call, pay, leave } = await aWorkshop(400, priced, aFacilitator({ settle }))
    await leave(await pay())
    await leave(await pay())
    const third = await call(await pay())
    expect([third.status, work.begun]).toEqual([402, 2])
    const settlement = third.headers.get('payment-response') as string
    expect(decodePaymentResponseHeader(settlement).success).toBe(false)
  })

  it('buys nothing metered for an hour, because its cost is known only afterwards', async () => {
    const kinds = [
      {
        x402Version: 2,
        scheme: 'upto',
        network: 'eip155:5042' as const,
        extra: { facilitatorAddress: '0x00000000000000000000000000000000000000CC' },
      },
    ]
    const supported = () => ({ kinds, extensions: [], signers: {} })
    const { work, call, pay, leave } = await aWorkshop(400, metered, aFacilitator({ supported }))
    await leave(await pay())
    await leave(await pay())
    const third = await call(await pay())
    expect([third.status, work.begun]).toEqual([409, 2])
    expect(third.body).toContain('calls_abandoned')
  })
})

describe('an answer that is not paid', () => {
  const settle = () => ({ success: false, transaction: '', network: 'eip155:5042' as const })

  it('leaves without a trailer and without hints of the handler', async () => {
    const { app } = await aShop(
      (it) => {
        it.get('/trailer', priced, async (_, reply) => {
          reply.trailer('x-secret', async () => 'secret')
          return 'secret'
        })
        it.get('/raw', priced, async (_, reply) => {
          reply.raw.setHeader('trailer', 'x-secret')
          reply.raw.addTrailers({ 'x-secret': 'secret' })
          return 'secret'
        })
        it.get('/early', priced, async (_, reply) => {
          await new Promise<void>((resolve) =>
            reply.raw.writeEarlyHints({ link: '</secret.css>; rel=preload' }, resolve),
          )
          return 'secret'
        })
      },
      { facilitator: aFacilitator({ settle }) },
    )
    for (const path of ['/trailer', '/raw', '/early']) {
      const text = await asked(app, path)
      expect(text).toMatch(/^HTTP\/1\.1 402 /)
      expect(text).not.toContain('secret')
    }
  })

  it('has its trailers once it is paid', async () => {
    const { app } = await aShop((it) => {
      it.get('/trailer', priced, async (_, reply) => {
        reply.trailer('x-sum', async () => 'of-fastify')
        return 'goods'
      })
      it.get('/raw', priced, async (_, reply) => {
        reply.header('transfer-encoding', 'chunked').header('trailer', 'x-sum')
        reply.raw.addTrailers({ 'x-sum': 'of-node' })
        return 'goods'
      })
    })
    expect((await buy(app, { url: '/trailer' })).trailers).toEqual({ 'x-sum': 'of-fastify' })
    expect(await asked(app, '/raw')).toContain('x-sum: of-node')
  })
})

/** Pays over a connection of its own, and returns every byte of the answer. */
async function asked(app: FastifyInstance, path: string): Promise<string> {
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' })
  const signature = encodePaymentSignatureHeader(
    aPayload(readRequired(await app.inject(path)), aNonce()),
  )
  const lines = [`GET ${path} HTTP/1.1`, 'Host: a', 'TE: trailers', 'Connection: close']
  const request = [...lines, `PAYMENT-SIGNATURE: ${signature}`, '', ''].join('\r\n')
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  socket.end(request)
  let text = ''
  for await (const chunk of socket) text += chunk
  return text
}
