import { hashTypedData, keccak256, toHex, verifyTypedData } from 'viem'
import { describe, expect, it, vi } from 'vitest'
import {
  exampleJson,
  fieldsOf,
  keyOf,
  readForm,
  readJson,
} from '../../../src/dashboard/pages/merchant/try/form.js'
import { signPayment } from '../../../src/dashboard/pages/merchant/try/payment.js'
import {
  type Payer,
  type Plan,
  planPayment,
} from '../../../src/dashboard/pages/merchant/try/permit2.js'
import { playWallet } from '../../../src/dashboard/pages/merchant/try/play-wallet.js'
import {
  choose,
  type Permit2Service,
  readPermit2Service,
  readTerms,
  type ShownTerms,
  type Way,
} from '../../../src/dashboard/pages/merchant/try/terms.js'
import { devnetPayer } from '../../../src/devnet/accounts.js'
import { placesIn, toHttpCall } from '../../../src/x402/calls.js'
import { parseRequest } from '../../../src/x402/parse-request.js'
import { createPermit2Digest } from '../../../src/x402/permit2-digest.js'
import { gasSponsoringSchema } from '../../../src/x402/request-schemas.js'

const payTo = '0x1111111111111111111111111111111111111111'
const shown: ShownTerms = {
  network: 'eip155:5042',
  payTo,
  asset: {
    address: '0x3600000000000000000000000000000000000000',
    symbol: 'USDC',
    name: 'USDC',
    version: '2',
  },
  maxAmount: '10000',
  isMetered: false,
}
const offer = {
  scheme: 'exact',
  network: shown.network,
  amount: '10000',
  asset: shown.asset.address,
  payTo,
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
}
const required = (...accepts: unknown[]) => ({ x402Version: 2, resource: { url: 'x' }, accepts })
const wallet = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const service = { isExactOffered: true, facilitators: [wallet], isSponsoring: true }
const chosen = (offers: object[], terms = shown, by: Permit2Service | null = service) =>
  choose(required(...offers.map((wish) => ({ ...offer, ...wish }))), terms, by ?? undefined)
const why = (...offers: object[]) => {
  const choice = chosen(offers)
  return choice.ok ? choice.ways[0]?.offer.amount : choice.why
}
const waysOf = (choice: ReturnType<typeof choose>) => {
  if (!choice.ok) throw new Error(choice.why)
  return choice.ways
}
const byPermit2 = { extra: { assetTransferMethod: 'permit2' } }
const upto = { scheme: 'upto', extra: { facilitatorAddress: wallet.toLowerCase() } }

describe('the terms of a 402', () => {
  it('are read from the header of either alphabet, else from the body', () => {
    const text = JSON.stringify(required({ note: 'ÿ?>~' }))
    const header = Buffer.from(text).toString('base64')
    expect(readTerms(header, '')).toEqual(JSON.parse(text))
    expect(readTerms(header.replaceAll('+', '-').replaceAll('/', '_'), '')).toEqual(
      JSON.parse(text),
    )
    expect(readTerms(undefined, text)).toEqual(JSON.parse(text))
    expect(readTerms('%%%', 'no JSON')).toBeUndefined()
  })

  it('are taken at the shown price and below, the cheapest of them', () => {
    expect(why({})).toBe('10000')
    expect(why({ amount: '9000' }, { amount: '7' }, { amount: '20000' })).toBe('7')
    expect(why({ payTo: payTo.toUpperCase().replace('0X', '0x') })).toBe('10000')
    expect(why({ amount: '0' })).toBe('0')
  })

  it.each([
    [{ amount: '10001' }, 'asks for 0.010001 USDC'],
    [{ amount: '9'.repeat(78) }, 'signs nothing above it'],
    [{ payTo: '0x2222222222222222222222222222222222222222' }, 'another address'],
    [{ payTo: undefined }, 'another address'],
    [{ network: 'eip155:8453' }, 'does not take USDC on eip155:5042'],
    [{ asset: '0x2222222222222222222222222222222222222222' }, 'does not take USDC'],
    [{ ...upto, amount: '10001' }, 'signs nothing above it'],
    [{ ...byPermit2, amount: '10001' }, 'signs nothing above it'],
    [{ scheme: 'upto' }, 'settled by another service'],
    [{ scheme: 'upto', extra: { facilitatorAddress: payTo } }, 'settled by another service'],
    [{ scheme: 'upto', extra: { assetTransferMethod: 'eip3009' } }, 'needs an agent'],
    [{ scheme: 'batch-settlement' }, 'needs an agent'],
    [{ extra: { assetTransferMethod: 'other' } }, 'needs an agent'],
    [{ extra: { name: 'Other', version: '2' } }, 'needs an agent'],
    [{ extra: 'text' }, 'needs an agent'],
    [{ amount: '-1' }, 'needs an agent'],
    [{ amount: '1e3' }, 'needs an agent'],
    [{ amount: 10_000 }, 'needs an agent'],
    [{ maxTimeoutSeconds: 3_601 }, 'needs an agent'],
    [{ maxTimeoutSeconds: 0 }, 'needs an agent'],
    [{ maxTimeoutSeconds: 1.5 }, 'needs an agent'],
  ])('with %j are refused before a signature', (wish, sentence) => {
    expect(why(wish)).toContain(sentence)
  })

  it.each(['x'.repeat(9_000), '価'.repeat(3_000)])('of %.1s… are too long for a header', (note) => {
    expect(why({ note })).toContain('too long')
  })

  it('are those of the token, and never those of Circle Gateway', () => {
    const verifyingContract = '0x77777777DCC4D5A8B6E418FD04D8997EF11000EE'
    const gateway = { amount: '5', extra: { name: 'USDC', version: '2', verifyingContract } }
    expect(why(gateway, {})).toBe('10000')
    expect(why(gateway)).toContain('paid through Circle Gateway, not settled here')
    const own = { extra: { ...gateway.extra, verifyingContract: shown.asset.address } }
    expect(why(own)).toBe('10000')
  })

  it('are paid by the cheapest way, and of two by the one without an approval', () => {
    const by = (offers: object[], terms = shown) => waysOf(chosen(offers, terms)).map((it) => it.by)
    expect(by([upto, byPermit2, {}])).toEqual(['eip3009', 'permit2', 'upto'])
    expect(by([{}, { ...upto, amount: '9000' }])).toEqual(['upto', 'eip3009'])
    expect(by([{}, byPermit2, upto], { ...shown, isMetered: true })).toEqual([
      'upto',
      'eip3009',
      'permit2',
    ])
    expect(by([{ ...upto, amount: '10001' }, byPermit2])).toEqual(['permit2'])
    expect(waysOf(chosen([upto]))[0]?.facilitator).toBe(wallet)
  })

  it('are not paid by Permit2 where the service does not settle it', () => {
    const none = { isExactOffered: false, facilitators: [], isSponsoring: true }
    for (const by of [none, null]) {
      for (const wish of [upto, byPermit2]) {
        const choice = chosen([wish], shown, by)
        expect(choice.ok ? '' : choice.why).toContain('does not settle those')
      }
      expect(waysOf(chosen([upto, {}], shown, by)).map((it) => it.by)).toEqual(['eip3009'])
    }
    const extra = { assets: [], assetTransferMethods: ['eip3009', 'permit2'] } as const
    const kind = { x402Version: 2, network: shown.network, scheme: 'exact', extra } as const
    const supported = {
      kinds: [
        kind,
        { ...kind, scheme: 'upto', extra: { assets: [], facilitatorAddress: payTo } },
        { ...kind, scheme: 'upto', network: 'eip155:1', extra: { assets: [] } },
      ],
      extensions: ['eip2612GasSponsoring'],
      signers: { 'eip155:*': [wallet] },
    }
    expect(readPermit2Service(supported as never, shown.network)).toEqual({
      isExactOffered: true,
      facilitators: [payTo, wallet],
      isSponsoring: true,
    })
    expect(readPermit2Service(supported as never, 'eip155:1')).toMatchObject({
      isExactOffered: false,
      facilitators: [],
    })
  })

  it('that are none are refused', () => {
    for (const [terms, sentence] of [
      [undefined, 'does not say how'],
      [{ x402Version: 2 }, 'does not say how'],
      [{ x402Version: 1, accepts: [offer] }, 'version 1'],
      [required(), 'does not take'],
      [required(null, 'text', [offer]), 'does not take'],
    ] as const) {
      expect(choose(terms, shown, service)).toEqual({
        ok: false,
        why: expect.stringContaining(sentence),
      })
    }
  })
})

describe('the signature', () => {
  const play = playWallet({ devnet: true })
  const now = Math.floor(Date.now() / 1000)

  /** Signs a plan, and returns what was signed, the payload on the wire and the payment. */
  async function signed(plan: Plan, terms = required(plan.way.offer), serviceNow = now) {
    const sign = vi.fn(play.sign)
    const payment = await signPayment(
      { ...play, sign },
      { required: terms, plan },
      shown,
      serviceNow,
    )
    const payload = JSON.parse(Buffer.from(payment.header ?? '', 'base64').toString())
    return { payment, payload, messages: sign.mock.calls.map(([typedData]) => typedData) }
  }

  it('is about the shown recipient and token and the amount of the offer', async () => {
    const [way] = waysOf(chosen([{ amount: '9000' }]))
    if (way === undefined) throw new Error('no way')
    const { payment, payload, messages } = await signed({ way }, undefined, now - 3_000)
    expect(messages).toHaveLength(1)
    expect(payload).toMatchObject({
      x402Version: 2,
      accepted: way.offer,
      resource: { url: 'x' },
    })
    const { authorization, signature } = payload.payload
    expect(authorization).toMatchObject({ from: play.address, to: payTo, value: '9000' })
    // The visitor's clock is fast here: the chain ends the payment no later than the page does.
    expect(Number(authorization.validBefore)).toBe(now - 3_000 + 60)
    expect(payment.validBefore).toBeCloseTo(now + 60, -1)
    expect(payment).toMatchObject({
      nonce: authorization.nonce,
      amount: '9000',
      isCeiling: false,
    })
    const [typedData] = messages
    if (typedData === undefined) throw new Error('nothing was signed')
    expect(typedData.domain).toEqual({
      name: 'USDC',
      version: '2',
      chainId: 5042,
      verifyingContract: shown.asset.address,
    })
    expect(await verifyTypedData({ address: play.address, signature, ...typedData })).toBe(true)
  })

  const digest = createPermit2Digest((bytes) => keccak256(bytes, 'bytes'))

  it.each([
    ['upto', upto],
    ['permit2', byPermit2],
  ])('for Permit2 (%s) is what the service takes, and ends with the page', async (by, wish) => {
    const [way] = waysOf(chosen([{ ...wish, amount: '9000' }]))
    if (way?.by !== by) throw new Error('another way')
    const { payment, payload, messages } = await signed({ way })
    const requirements = { ...offer, ...wish, amount: '9000' }
    const parsed = parseRequest({
      x402Version: 2,
      paymentPayload: payload,
      paymentRequirements: requirements,
    })
    if (!parsed.ok || parsed.payment.permit2 === undefined) throw new Error('not taken')
    const { authorization, permit2, scheme } = parsed.payment
    expect(scheme).toBe(requirements.scheme)
    expect(authorization).toMatchObject({
      from: play.address.toLowerCase(),
      to: payTo,
      value: 9_000n,
      nonce: payment.nonce,
      validBefore: BigInt(now + 60),
    })
    expect(permit2.facilitator).toBe(by === 'upto' ? wallet.toLowerCase() : undefined)
    expect(permit2.permit).toBeUndefined()
    const [typedData] = messages
    expect(hashTypedData(typedData as never)).toBe(toHex(digest(5042, authorization, permit2)))
    expect(payment.isCeiling).toBe(by === 'upto')
  })

  it('comes with a permit of the token for this amount where that is planned', async () => {
    const [way] = waysOf(chosen([upto]))
    if (way === undefined) throw new Error('no way')
    const declared = { info: { version: '1', description: 'text' }, schema: {} }
    const terms = {
      ...required(way.offer),
      extensions: { other: 1, eip2612GasSponsoring: declared },
    }
    const plan: Plan = { way, first: { kind: 'permit', nonce: 7n } }
    const { payload, messages } = await signed(plan, terms)
    expect(messages.map((it) => it?.primaryType)).toEqual(['Permit', 'PermitWitnessTransferFrom'])
    const { other, eip2612GasSponsoring } = payload.extensions
    expect(other).toBe(1)
    expect(eip2612GasSponsoring).toMatchObject({ schema: {}, info: { description: 'text' } })
    const { info } = eip2612GasSponsoring
    expect(info).toMatchObject({ from: play.address, amount: '10000', nonce: '7', version: '1' })
    const [permit] = messages
    const { signature } = info
    const address = play.address
    expect(
      await verifyTypedData({ ...(permit as never as object), address, signature } as never),
    ).toBe(true)
    // The permit does not outlive the payment, which is over from this second on.
    expect(gasSponsoringSchema.parse(info).deadline).toBe(BigInt(now + 59))
  })
})

describe('the plan of a payment', () => {
  const [way] = waysOf(chosen([upto]))
  if (way === undefined) throw new Error('no way')
  const plain = { by: 'eip3009' as const, offer: way.offer }
  const sponsored = { ...required(way.offer), extensions: { eip2612GasSponsoring: { info: {} } } }
  const numbers = (allowance: bigint, nonce = 3n) =>
    vi.fn(async (_to: string, data: string) =>
      toHex(data.startsWith('0xdd62ed3e') ? allowance : nonce, { size: 32 }),
    )
  const plan = (
    payer: Pick<Payer, 'read' | 'send'>,
    {
      terms = required(way.offer) as Record<string, unknown>,
      ways = [way] as Way[],
      by = service,
    } = {},
  ) => planPayment(ways, { ...playWallet({ devnet: true }), ...payer }, terms, shown, by)

  it('is one signature where Permit2 is approved', async () => {
    const read = numbers(10_000n)
    expect(await plan({ read })).toEqual({ ok: true, plan: { way } })
    const owner = devnetPayer.address.slice(2).toLowerCase()
    expect(read.mock.calls).toEqual([
      [
        shown.asset.address,
        `0xdd62ed3e${owner.padStart(64, '0')}${'000000000022d473030f116ddee9f6b43ac78ba3'.padStart(64, '0')}`,
      ],
    ])
  })

  it('is a permit first where seller and service take one', async () => {
    const read = numbers(9_999n)
    const first = { kind: 'permit', nonce: 3n }
    expect(await plan({ read }, { terms: sponsored })).toEqual({ ok: true, plan: { way, first } })
    for (const other of [
      { terms: required(way.offer) },
      { terms: sponsored, by: { ...service, isSponsoring: false } },
    ]) {
      const answer = await plan({ read }, other)
      expect(answer.ok ? '' : answer.why).toContain('has not approved for USDC')
    }
  })

  it('is another way before an approval, and an approval before nothing', async () => {
    const read = numbers(0n)
    const send = vi.fn(async () => '0x' as const)
    expect(await plan({ read, send }, { ways: [way, plain] })).toEqual({
      ok: true,
      plan: { way: plain },
    })
    const first = { kind: 'approval' }
    expect(await plan({ read, send })).toEqual({ ok: true, plan: { way, first } })
    expect(send).not.toHaveBeenCalled()
  })

  it.each([
    ['does not read', async () => Promise.reject(new Error('not supported'))],
    ['reads no number', async () => '0x' as const],
  ])('says so where the wallet %s', async (_, read) => {
    const answer = await plan({ read })
    expect(answer.ok ? '' : answer.why).toContain('did not tell')
    expect(await plan({ read }, { ways: [way, plain] })).toEqual({
      ok: true,
      plan: { way: plain },
    })
  })
})

describe('the play wallet', () => {
  it('is the payer of the devnet, and is refused everywhere else', () => {
    expect(playWallet({ devnet: true }).address).toBe(devnetPayer.address)
    for (const devnet of [false, undefined, 'true', 1]) {
      expect(() => playWallet({ devnet } as never)).toThrow('real network')
    }
  })
})

describe('the form', () => {
  const endpoint = {
    url: 'https://api.example.com/users/:id/posts',
    method: 'POST' as const,
    example: {
      body: { city: 'Faro', deep: { a: [1] } },
      queryParams: { unit: 'c' },
      headers: { 'X-Style': 'short' },
    },
    inputSchema: {
      type: 'object',
      properties: {
        city: { type: 'string', description: 'A place' },
        days: { type: 'integer' },
        share: { type: 'number' },
        loud: { type: 'boolean' },
        tone: { enum: ['low', 'high'] },
        either: { oneOf: [{ type: 'string' }] },
        ['__proto__']: { type: 'string' },
      },
      required: ['city'],
    },
  }
  const fields = fieldsOf(endpoint) ?? []
  const initial = Object.fromEntries(fields.map((field) => [keyOf(field), field.initial]))

  it('has a field for each parameter, filled in with the example', () => {
    expect(fields.map((field) => `${keyOf(field)} ${field.kind} ${field.initial}`)).toEqual([
      'pathParams.id text ',
      'body.city text Faro',
      'body.days integer ',
      'body.share number ',
      'body.loud boolean ',
      'body.tone choice ',
      'body.either json ',
      'body.__proto__ text ',
      'body.deep json {"a":[1]}',
      'queryParams.unit text c',
      'headers.X-Style text short',
    ])
  })

  it('gives the call that was typed, and names each fault', () => {
    expect(readForm(fields, initial)).toEqual({ ok: false, faults: { 'pathParams.id': 'Needed.' } })
    const typed = {
      ...initial,
      'pathParams.id': '7/8',
      'body.days': '2',
      'body.share': '0,5',
      'body.loud': 'false',
      'body.tone': 'low',
      'body.either': '"x"',
      'body.__proto__': 'y',
    }
    const filled = readForm(fields, typed)
    if (!filled.ok) throw new Error(JSON.stringify(filled.faults))
    expect(JSON.parse(JSON.stringify(filled.input))).toEqual({
      pathParams: { id: '7/8' },
      body: JSON.parse(
        '{"city":"Faro","days":2,"share":0.5,"loud":false,"tone":"low","either":"x","__proto__":"y","deep":{"a":[1]}}',
      ),
      queryParams: { unit: 'c' },
      headers: { 'X-Style': 'short' },
    })
    const wrong = { 'body.city': '', 'body.days': '1.5', 'body.share': 'x', 'body.deep': '{' }
    expect(readForm(fields, { ...typed, ...wrong })).toEqual({
      ok: false,
      faults: {
        'body.city': 'Needed.',
        'body.days': 'Write a whole number.',
        'body.share': 'Write a number.',
        'body.deep': 'This is no JSON.',
      },
    })
  })

  it('is JSON where it would be too long, and bounded', () => {
    const properties = Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`p${i}`, {}]))
    const long = { ...endpoint, inputSchema: { type: 'object', properties } }
    expect(fieldsOf(long)).toBeUndefined()
    expect(readJson(exampleJson(long))).toEqual({ ok: true, input: endpoint.example })
    for (const text of ['{', '[]', 'null', '{"url":{}}', '{"queryParams":1}']) {
      expect(readJson(text).ok).toBe(false)
    }
    expect(readJson(JSON.stringify({ body: 'x'.repeat(70_000) }))).toEqual({
      ok: false,
      faults: { json: 'The call is longer than 64 KiB.' },
    })
  })

  it('takes a body that is one text', () => {
    const plain = {
      ...endpoint,
      example: { body: 'Olá', bodyType: 'text' as const },
      url: 'https://a.example/',
    }
    const [field] = fieldsOf(plain) ?? []
    expect(field).toMatchObject({ part: 'body', name: '', kind: 'text', initial: 'Olá' })
    expect(readForm(field ? [field] : [], { 'body.': 'Adeus' })).toEqual({
      ok: true,
      input: { body: 'Adeus' },
    })
  })
})

describe('the call of an endpoint with places in its path', () => {
  const target = { url: 'https://a.example/users/:id/files/:name?v=1', method: 'GET' as const }

  it('keeps each value one step of the path', () => {
    expect(placesIn(target.url)).toEqual(['id', 'name'])
    const urlOf = (pathParams: Record<string, string>) => toHttpCall(target, { pathParams }).url
    expect(urlOf({ id: '7', name: 'a b' })).toBe('https://a.example/users/7/files/a%20b?v=1')
    expect(urlOf({ id: '../../admin', name: '..' })).toBe(
      'https://a.example/users/..%2F..%2Fadmin/files/:name?v=1',
    )
    expect(urlOf({ id: '%2e%2e', name: '.' })).toBe(
      'https://a.example/users/%252e%252e/files/:name?v=1',
    )
    expect(urlOf({ other: 'x' })).toBe(target.url)
  })
})

describe('a body of fields', () => {
  it('has a boundary that none of them contains', () => {
    const body = { city: 'Faro', note: '\r\n--arcus-form-0--', deep: { a: 1 } }
    const call = toHttpCall(
      { url: 'https://a.example/', method: 'POST' },
      { body, bodyType: 'form-data' },
    )
    expect(call.contentType).toBe('multipart/form-data; boundary=arcus-form-1')
    const parts = call.body?.split('--arcus-form-1') ?? []
    expect(parts).toHaveLength(5)
    expect(parts[2]).toContain('name="note"\r\n\r\n\r\n--arcus-form-0--')
    expect(parts[3]).toContain('{"a":1}')
  })
})
