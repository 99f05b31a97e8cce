import http2 from 'node:http2'
import type { PaymentAnswer } from '@arcus/protocol/x402/payment'
import { type FastifyInstance, fastify } from 'fastify'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { SettleResult } from '../../../src/facilitator/answers.js'
import type { DeliveryRight } from '../../../src/facilitator/journal/deliveries.js'
import { type FacilitatorLinks, facilitatorRoutes } from '../../../src/facilitator/routes.js'
import type { Settle, SettleRequest } from '../../../src/facilitator/settle/settler.js'
import type { Verify } from '../../../src/facilitator/verify/verifier.js'
import { installErrorHandling } from '../../../src/http/errors.js'
import { installRateLimit } from '../../../src/http/rate-limit.js'
import { anHttp2App } from '../../support/an-http2-app.js'
import { unexpected } from '../../support/unexpected.js'
import { withResolvers } from '../../support/with-resolvers.js'
import { aBody, aPayment, asset, network, nonce, payer, payTo } from '../protocol/x402/a-payment.js'

const transaction = `0x${'aa'.repeat(32)}` as const
const payment = { network, asset, payTo, payer, amount: 10_000n, nonce }
const settled: SettleResult = {
  status: 200,
  body: { success: true, transaction, network, payer },
  payment,
  settlementId: 'row-1',
}
const pending: SettleResult = {
  status: 200,
  body: { success: false, errorReason: 'settlement_pending', transaction, network, payer },
  payment,
  settlementId: 'row-1',
}
const valid = { status: 200, body: { isValid: true, payer }, payment }

interface RoutesWish extends FacilitatorLinks {
  verify?: Verify
  settle?: Settle
  /** Points of a caller; no limit without them. */
  points?: number
  describe?: () => { extensions: string[] }
}

/** The routes over verify and settle of a test. */
async function serve(app: FastifyInstance, wish: RoutesWish): Promise<FastifyInstance> {
  const { verify = unexpected, settle = unexpected, points = 0, describe, ...links } = wish
  installErrorHandling(app)
  const limiter = installRateLimit(app, { max: points, windowSeconds: 60 })
  await app.register(facilitatorRoutes, {
    supported: () => ({ kinds: [], signers: {}, extensions: [], ...describe?.() }),
    verify,
    settle,
    takeVerified: () => false,
    takeSignature: () => false,
    payments: {
      byNonce: unexpected,
      recordOf: unexpected,
      byId: unexpected,
      byTransaction: unexpected,
      findRefunds: unexpected,
    },
    about: {
      facilitator: 'https://pay.example.com',
      networks: [],
      attestation: null,
      resources: { supported: 'https://pay.example.com/supported' },
    },
    onClaimed() {},
    limiter,
    ...links,
  })
  onTestFinished(() => app.close())
  return app
}

const open = (wish: RoutesWish) => serve(fastify(), wish)

async function post(app: FastifyInstance, url: '/verify' | '/settle', body: object = aBody()) {
  return app.inject({ method: 'POST', url, payload: body })
}

/** A right to answer with success, and what became of it. */
function aRight(isHeld: DeliveryRight['isHeld'] = async () => true) {
  const ends: string[] = []
  const delivery: DeliveryRight = {
    isHeld,
    complete: async () => void ends.push('complete'),
    release: async () => void ends.push('release'),
  }
  return { delivery, ends }
}

describe('the right to answer with success', () => {
  it('is used up by an answer that has left', async () => {
    const { delivery, ends } = aRight()
    const app = await open({ settle: async () => ({ ...settled, delivery }) })
    expect((await post(app, '/settle')).json()).toEqual(settled.body)
    expect(ends).toEqual(['complete'])
  })

  it.each<[string, DeliveryRight['isHeld']]>([
    ['was lost', async () => false],
    ['cannot be confirmed', async () => Promise.reject(new Error('the store is away'))],
  ])('that %s is asked for once more, with the success that was kept back', async (_, isHeld) => {
    const [lost, again] = [aRight(isHeld), aRight(isHeld)]
    const answers: SettleResult[] = [
      { ...settled, delivery: lost.delivery },
      { ...settled, delivery: again.delivery },
      pending,
    ]
    const asked: SettleRequest[] = []
    const app = await open({
      async settle(request) {
        asked.push(request)
        const answer = answers.shift()
        if (answer === undefined) throw new Error('it was answered')
        return answer
      },
    })
    expect((await post(app, '/settle')).json()).toEqual(pending.body)
    expect([lost.ends, again.ends]).toEqual([['release'], ['release']])
    expect(asked.map(({ landed }) => landed?.body)).toEqual([undefined, settled.body, settled.body])
    expect(asked.map(({ body }) => body)).toEqual(Array(3).fill(aBody()))
  })

  it('that another request has by now is used by the answer that has it', async () => {
    const [lost, held] = [aRight(async () => false), aRight()]
    const rights = [lost, held]
    const app = await open({
      async settle() {
        const right = rights.shift()
        return { ...settled, ...(right && { delivery: right.delivery }) }
      },
    })
    expect((await post(app, '/settle')).json()).toEqual(settled.body)
    expect([lost.ends, held.ends]).toEqual([['release'], ['complete']])
  })

  it('is given back where a hook of the app answers something else', async () => {
    const { delivery, ends } = aRight()
    const app = fastify()
    app.addHook('onSend', async () => {
      throw new Error('a hook of the app')
    })
    await serve(app, { settle: async () => ({ ...settled, delivery }) })
    expect((await post(app, '/settle')).statusCode).toBe(500)
    expect(ends).toEqual(['release'])
  })

  it.each([1, 2])('is given back where the caller has left, over HTTP/%i', async (version) => {
    const { delivery, ends } = aRight()
    const [begun, left] = [withResolvers(), withResolvers()]
    const isConnected: boolean[] = []
    const app = version === 1 ? fastify() : anHttp2App()
    app.addHook('preHandler', async (_request, { raw }) => {
      raw.once('close', left.resolve)
    })
    await serve(app, {
      async settle(request) {
        isConnected.push(request.isConnected())
        begun.resolve()
        await left.promise
        isConnected.push(request.isConnected())
        return { ...settled, delivery }
      },
    })
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const leave = version === 1 ? askOnce(url) : askOverHttp2(url)
    await begun.promise
    leave()
    await vi.waitFor(() => expect(ends).toEqual(['release']), { timeout: 5_000 })
    expect(isConnected).toEqual([true, false])
  })
})

const headers = { 'content-type': 'application/json' }

/** Asks for a settlement, and returns what hangs up. */
function askOnce(url: string): () => void {
  const hangUp = new AbortController()
  const asked = { method: 'POST', body: JSON.stringify(aBody()), headers, signal: hangUp.signal }
  fetch(`${url}/settle`, asked).catch(() => {})
  return () => hangUp.abort()
}

function askOverHttp2(url: string): () => void {
  const session = http2.connect(url)
  onTestFinished(() => session.close())
  const stream = session.request({ ':method': 'POST', ':path': '/settle', ...headers })
  stream.on('error', () => {})
  stream.end(JSON.stringify(aBody()))
  return () => stream.close(http2.constants.NGHTTP2_CANCEL)
}

describe('the rate limit', () => {
  const claiming = (rows: number, type = 'claim') => ({
    paymentPayload: { payload: { type, claims: Array(rows).fill({}) } },
  })
  /** Returns the points that requests with these bodies leave of so many. */
  async function leftAfter(url: '/verify' | '/settle', points: number, ...bodies: object[]) {
    const app = await open({
      points,
      verify: async () => valid,
      settle: async () => ({ status: 200, body: { ...pending.body, errorReason: 'used' } }),
    })
    const answers = []
    for (const body of bodies) answers.push(await post(app, url, body))
    const [, left] = /r=(\d+)/.exec(String((await app.inject('/nowhere')).headers.ratelimit)) ?? []
    return { left: Number(left), statuses: answers.map(({ statusCode }) => statusCode) }
  }

  it.each(['/verify', '/settle'] as const)('of %s counts the claims of a body', async (url) => {
    const { left: before } = await leftAfter(url, 1_000, claiming(0))
    const { left: after } = await leftAfter(url, 1_000, claiming(20))
    expect(before - after).toBe(20)
    const { left: filled } = await leftAfter(url, 1_000, claiming(2, 'deposit'))
    expect(before - filled).toBe(16)
  })

  it('refuses a verify with claims when no point is left for them, before they are checked', async () => {
    const verify = vi.fn<Verify>(async () => valid)
    const app = await open({ points: 22, verify })
    expect((await post(app, '/verify', claiming(20))).statusCode).toBe(200)
    const refused = await post(app, '/verify', claiming(20))
    expect([refused.statusCode, refused.json().invalidReason]).toEqual([429, 'rate_limited'])
    expect(verify).toHaveBeenCalledTimes(1)
    // Without claims nothing more is counted, so the point that is left is enough.
    const plain = await open({ points: 1, verify })
    expect((await post(plain, '/verify')).statusCode).toBe(200)
  })

  it('of settles shows the caller what is left, and refuses the one that is too much', async () => {
    const refusal = { status: 200, body: { ...pending.body, errorReason: 'used' } }
    const app = await open({ points: 2, settle: async () => refusal })
    const lefts = []
    for (let i = 0; i < 2; i++) {
      lefts.push((await post(app, '/settle')).headers.ratelimit)
    }
    expect(lefts).toEqual(['"default";r=1;t=60', '"default";r=0;t=60'])
    const refused = await post(app, '/settle')
    expect([refused.statusCode, refused.json().errorReason]).toEqual([429, 'rate_limited'])
  })
})

describe('an answer', () => {
  it('is reported with its payment, and the resource of a settled one is offered to the catalog', async () => {
    const answers: PaymentAnswer[] = []
    const offerResource = vi.fn<NonNullable<FacilitatorLinks['offerResource']>>(() => {
      return { status: 'success' }
    })
    const results = [pending, settled]
    const app = await open({
      verify: async () => valid,
      settle: async () => results.shift() ?? pending,
      onAnswer: (answer) => answers.push(answer),
      offerResource,
    })
    const body = aBody(aPayment({ resourceUrl: 'https://api.example.com' }))
    await post(app, '/verify', body)
    const refused = await post(app, '/settle', body)
    expect(refused.headers).not.toHaveProperty('extension-responses')
    const { headers } = await post(app, '/settle', body)
    expect(JSON.parse(atob(String(headers['extension-responses'])))).toEqual({
      bazaar: { status: 'success' },
    })
    expect(answers).toMatchObject([
      { kind: 'verify', state: 'valid', payment },
      { kind: 'settle', state: 'pending', payment, settlementId: 'row-1' },
      { kind: 'settle', state: 'settled', payment, transaction },
    ])
    expect(offerResource).toHaveBeenCalledTimes(1)
    expect(offerResource).toHaveBeenCalledWith({
      network,
      asset,
      payTo,
      payer,
      amount: 10_000n,
      requirements: body.paymentRequirements,
      payload: body.paymentPayload,
      settlementId: 'row-1',
    })
  })

  it('is given though it can be neither counted nor listed', async () => {
    const app = await open({
      verify: async () => valid,
      settle: async () => settled,
      onAnswer() {
        throw new Error('nobody counts')
      },
    })
    expect((await post(app, '/verify')).json()).toEqual(valid.body)
    expect((await post(app, '/settle')).json()).toEqual(settled.body)
  })

  it('of a settle has the Idempotency-Key and the caller with it', async () => {
    const asked: SettleRequest[] = []
    const app = await open({
      async settle(request) {
        asked.push(request)
        return pending
      },
    })
    const settle = (headers = {}) =>
      app.inject({ method: 'POST', url: '/settle', payload: aBody(), headers })
    await settle({ 'idempotency-key': 'a-key-of-sixteen' })
    await settle()
    expect(asked).toMatchObject([
      { idempotencyKey: 'a-key-of-sixteen', caller: '127.0.0.1' },
      { idempotencyKey: undefined },
    ])
  })
})

describe('what a stranger may know of the facilitator', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('is described anew once a minute', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    let extensions = ['one']
    const app = await open({ describe: () => ({ extensions }) })
    const known = async () => (await app.inject('/.well-known/x402')).json().extensions
    expect(await known()).toEqual(['one'])
    extensions = ['two']
    vi.advanceTimersByTime(59_999)
    expect(await known()).toEqual(['one'])
    vi.advanceTimersByTime(1)
    expect(await known()).toEqual(['two'])
  })
})
