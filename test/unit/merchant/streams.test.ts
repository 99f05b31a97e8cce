import { createReadStream } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodePaymentSignatureHeader } from '@x402/core/http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { describe, expect, it } from 'vitest'
import {
  aFacilitator,
  aPayload,
  aShop,
  buy,
  readRequired,
  readSettlement,
  success,
} from './a-shop.js'

const priced = { config: { x402: '$0.01' } } as const
const streamed = { config: { x402: { price: '$0.01', streaming: 'settle-first' } } } as const
const failing = { success: false, transaction: '', network: 'eip155:5042' } as const

const bits = () => Readable.from(['go', Buffer.from('od'), 's'])
const broken = (before: string[]) =>
  Readable.from(
    (async function* () {
      yield* before
      await sleep(2)
      throw new Error('broken')
    })(),
  )

async function signatureFor(app: FastifyInstance, url: string): Promise<string> {
  return encodePaymentSignatureHeader(aPayload(readRequired(await app.inject(url))))
}

describe('a streamed body', () => {
  it.each([
    ['of Node', bits],
    ['of the web', () => Readable.toWeb(bits())],
    ['in a Response', () => new Response('goods', { headers: { 'x-own': 'yes' } })],
    ['that is empty', () => Readable.from([])],
  ])('arrives paid, held or not, when it is %s', async (_, body) => {
    const { app, facilitator } = await aShop((it) => {
      it.get('/held', priced, async () => body())
      it.get('/first', streamed, async () => body())
      it.get('/sent', priced, (_, reply) => {
        reply.send(body())
      })
    })
    for (const url of ['/held', '/first', '/sent']) {
      const response = await buy(app, { url })
      expect([url, response.statusCode]).toEqual([url, 200])
      expect(['goods', '']).toContain(response.body)
      expect(readSettlement(response).success).toBe(true)
    }
    expect(facilitator.settled).toBe(3)
  })

  it('is held until it is complete, and then has a length', async () => {
    let isComplete = false
    const facilitator = aFacilitator({
      settle: () => {
        expect(isComplete).toBe(true)
        return success
      },
    })
    const body = async function* () {
      yield 'goo'
      await sleep(5)
      isComplete = true
      yield 'ds'
    }
    const { app } = await aShop(
      (it) => it.get('/goods', priced, async () => Readable.from(body())),
      {
        facilitator,
      },
    )
    const response = await buy(app, { url: '/goods' })
    expect([response.body, response.headers['content-length']]).toEqual(['goods', '5'])
  })

  it('is not charged when it breaks at any point', async () => {
    const { app, facilitator } = await aShop((it) => {
      it.get('/late', priced, async (_, reply) => {
        reply.header('etag', '"goods"')
        return broken(['goo'])
      })
      it.get('/at-once', streamed, async () => broken([]))
      it.get('/no-file', streamed, async () => createReadStream('/does/not/exist'))
      it.get('/short', priced, async (_, reply) => {
        reply.header('content-length', 9)
        return bits()
      })
      it.get('/objects', priced, async () => Readable.from([{ goods: true }]))
    })
    for (const url of ['/late', '/at-once', '/no-file', '/short', '/objects']) {
      const response = await buy(app, { url })
      expect([url, response.statusCode]).toEqual([url, 500])
      expect(response.body).not.toContain('goo')
      expect(response.headers.etag).toBeUndefined()
    }
    expect(facilitator.calls).not.toContain('settle')
  })

  it('is charged when it breaks after its first bytes under settle-first', async () => {
    const { app, facilitator } = await aShop((it) =>
      it.get('/goods', streamed, async () => broken(['goo'])),
    )
    await expect(buy(app, { url: '/goods' })).rejects.toThrow()
    expect(facilitator.settled).toBe(1)
  })

  it('may be as long as the limit, and is not charged when it is one byte longer', async () => {
    const { app, facilitator } = await aShop(
      (it) => {
        it.get('/five', priced, async () => bits())
        it.get('/six', priced, async () => Readable.from(['goods', '!']))
        const config = { x402: { price: '$0.01', maxHeldBytes: 6 } } as const
        it.get('/own', { config }, async () => Readable.from(['goods', '!']))
      },
      { x402: { maxHeldBytes: 5 } },
    )
    expect((await buy(app, { url: '/five' })).body).toBe('goods')
    expect((await buy(app, { url: '/own' })).body).toBe('goods!')
    expect(facilitator.settled).toBe(2)
    const long = await buy(app, { url: '/six' })
    expect([long.statusCode, long.json().code]).toEqual([500, 'X402_BODY_TOO_LONG'])
    expect(facilitator.settled).toBe(2)
  })

  it('is ended and not delivered when the settlement fails', async () => {
    const bodies: Readable[] = []
    const { app } = await aShop(
      (it) => {
        const handler = async () => {
          const body = bits()
          bodies.push(body)
          return body
        }
        it.get('/held', priced, handler)
        it.get('/first', streamed, handler)
      },
      { facilitator: aFacilitator({ settle: () => failing }) },
    )
    for (const url of ['/held', '/first']) {
      const response = await buy(app, { url })
      expect(response.statusCode).toBe(402)
      expect(response.json().error).toBe('settlement_failed')
    }
    await sleep(1)
    expect(bodies.map(({ destroyed }) => destroyed)).toEqual([true, true])
  })

  it('is passed on as it comes under settle-first', async () => {
    const body = new PassThrough()
    const { app } = await aShop((it) => it.get('/goods', streamed, async () => body))
    body.write('first')
    const response = await overTheWire(app, '/goods')
    const chunks = response[Symbol.asyncIterator]()
    expect(String((await chunks.next()).value)).toBe('first')
    body.end('second')
    expect(String((await chunks.next()).value)).toBe('second')
  })
})

describe('an answer written past Fastify', () => {
  const ways: [string, (reply: FastifyReply) => unknown][] = [
    ['writeHead', ({ raw }) => raw.writeHead(200, { 'x-goods': 'yes' }).end('goods')],
    ['write', ({ raw }) => raw.write('goods')],
    ['end', ({ raw }) => raw.end('goods')],
    ['flushHeaders', ({ raw }) => [raw.flushHeaders(), raw.end('goods')]],
    ['a pipe', ({ raw }) => bits().pipe(raw)],
  ]
  it.each(ways)('by %s is not delivered unpaid', async (_, write) => {
    const { app, facilitator } = await aShop((it) => {
      it.get('/hijacked', priced, (_, reply) => {
        reply.hijack()
        write(reply)
      })
      it.get('/later', priced, (_, reply) => {
        setTimeout(() => write(reply), 2)
      })
    })
    for (const url of ['/hijacked', '/later']) {
      const response = await overTheWire(app, url)
      expect(response.statusCode).toBe(500)
      expect(response.headers['x-goods']).toBeUndefined()
      expect(await textOf(response)).not.toContain('goods')
    }
    expect(facilitator.settled).toBe(0)
  })

  it('may be a failure', async () => {
    const { app, facilitator } = await aShop((it) =>
      it.get('/goods', priced, (_, reply) => {
        reply.hijack()
        reply.raw.writeHead(404).end('none')
      }),
    )
    const response = await overTheWire(app, '/goods')
    expect([response.statusCode, await textOf(response)]).toEqual([404, 'none'])
    expect(facilitator.settled).toBe(0)
  })

  it('is delivered with the settlement when the handler has settled before', async () => {
    const { app, facilitator } = await aShop((it) =>
      it.get('/goods', priced, async (request, reply) => {
        await request.payment?.settle()
        await request.payment?.settle()
        reply.hijack()
        reply.raw.end('goods')
      }),
    )
    const response = await overTheWire(app, '/goods')
    expect([response.statusCode, await textOf(response)]).toEqual([200, 'goods'])
    expect(response.headers['payment-response']).toBeDefined()
    expect(facilitator.settled).toBe(1)
  })

  it('is not delivered when the settlement of the handler fails, even if the handler continues', async () => {
    const { app } = await aShop(
      (it) => {
        it.get('/thrown', priced, async (request) => {
          await request.payment?.settle()
          return 'goods'
        })
        it.get('/caught', priced, async (request) => {
          await request.payment?.settle().catch(() => {})
          return 'goods'
        })
      },
      { facilitator: aFacilitator({ settle: () => ({ ...failing, errorReason: 'some_code' }) }) },
    )
    for (const url of ['/thrown', '/caught']) {
      const response = await buy(app, { url })
      expect([url, response.statusCode]).toEqual([url, 402])
      expect(readSettlement(response).errorReason).toBe('some_code')
      expect(response.body).not.toContain('goods')
    }
  })

  it('is charged when the handler fails after it settled, and the answer says so', async () => {
    const { app } = await aShop((it) =>
      it.get('/goods', priced, async (request) => {
        await request.payment?.settle()
        throw new Error('broken')
      }),
    )
    const response = await buy(app, { url: '/goods' })
    expect(response.statusCode).toBe(500)
    expect(readSettlement(response).success).toBe(true)
  })

  it('ends the connection when it fails after its first bytes', async () => {
    const { app } = await aShop((it) =>
      it.get('/goods', priced, async (request, reply) => {
        await request.payment?.settle()
        reply.raw.write('goo')
        await sleep(5)
        throw new Error('broken')
      }),
    )
    const response = await overTheWire(app, '/goods')
    expect(response.statusCode).toBe(200)
    await Promise.race([textOf(response).catch(() => 'ended'), sleep(500)])
    expect((await app.inject('/goods')).statusCode).toBe(402)
  })
})

describe('a buyer who disconnects', () => {
  it.each([
    ['while the handler works', async () => 'goods'],
    ['while the body is held', async () => new PassThrough()],
  ])('%s is not charged', async (_, answer) => {
    let handled: () => void = () => {}
    const isHandled = new Promise<void>((resolve) => {
      handled = resolve
    })
    let isGone = false
    const { app, facilitator } = await aShop((it) =>
      it.get('/goods', priced, async (request) => {
        handled()
        const { socket } = request.raw
        const gone = new Promise<void>((resolve) => socket.once('close', () => resolve()))
        void gone.then(() => {
          isGone = true
        })
        const body = await answer()
        if (typeof body === 'string') await gone
        return body
      }),
    )
    const signature = await signatureFor(app, '/goods')
    await listen(app)
    const call = ask(app, '/goods', signature)
    call.on('error', () => {})
    await isHandled
    call.destroy()
    await expect.poll(() => isGone).toBe(true)
    await sleep(30)
    expect(facilitator.calls).toEqual(['verify'])
  })
})

async function listen(app: FastifyInstance): Promise<void> {
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' })
}

function ask(app: FastifyInstance, path: string, signature: string) {
  const { port } = app.server.address() as AddressInfo
  const headers = { 'payment-signature': signature }
  return httpRequest({ host: '127.0.0.1', port, path, headers }).end()
}

async function overTheWire(app: FastifyInstance, path: string): Promise<IncomingMessage> {
  const signature = await signatureFor(app, path)
  await listen(app)
  return new Promise((resolve, reject) => {
    ask(app, path, signature).once('response', resolve).once('error', reject)
  })
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response) text += chunk
  return text
}
