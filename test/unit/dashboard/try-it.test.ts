import { verifyTypedData } from 'viem'
import { describe, expect, it, vi } from 'vitest'
import {
  exampleJson,
  fieldsOf,
  keyOf,
  readForm,
  readJson,
} from '../../../src/dashboard/pages/merchant/try/form.js'
import { signPayment } from '../../../src/dashboard/pages/merchant/try/payment.js'
import { playWallet } from '../../../src/dashboard/pages/merchant/try/play-wallet.js'
import {
  choose,
  readTerms,
  type ShownTerms,
} from '../../../src/dashboard/pages/merchant/try/terms.js'
import { devnetPayer } from '../../../src/devnet/accounts.js'
import { placesIn, toHttpCall } from '../../../src/x402/calls.js'

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
const why = (...offers: object[]) => {
  const choice = choose(required(...offers.map((wish) => ({ ...offer, ...wish }))), shown)
  return choice.ok ? choice.offer.amount : choice.why
}

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
    [{ scheme: 'upto' }, 'needs an agent'],
    [{ extra: { assetTransferMethod: 'permit2' } }, 'needs an agent'],
    [{ extra: { name: 'Other', version: '2' } }, 'needs an agent'],
    [{ extra: 'text' }, 'needs an agent'],
    [{ amount: '-1' }, 'needs an agent'],
    [{ amount: '1e3' }, 'needs an agent'],
    [{ amount: 10_000 }, 'needs an agent'],
    [{ maxTimeoutSeconds: 3_601 }, 'needs an agent'],
    [{ maxTimeoutSeconds: 0 }, 'needs an agent'],
    [{ maxTimeoutSeconds: 1.5 }, 'needs an agent'],
    [{ note: 'x'.repeat(9_000) }, 'too long'],
  ])('with %j are refused before a signature', (wish, sentence) => {
    expect(why(wish)).toContain(sentence)
  })

  it('that are none are refused', () => {
    for (const [terms, sentence] of [
      [undefined, 'does not say how'],
      [{ x402Version: 2 }, 'does not say how'],
      [{ x402Version: 1, accepts: [offer] }, 'version 1'],
      [required(), 'does not take'],
      [required(null, 'text', [offer]), 'does not take'],
    ] as const) {
      expect(choose(terms, shown)).toEqual({ ok: false, why: expect.stringContaining(sentence) })
    }
  })
})

describe('the signature', () => {
  it('is about the shown recipient and token and the amount of the offer', async () => {
    const payer = playWallet({ devnet: true })
    const sign = vi.fn(payer.sign)
    const choice = choose(required({ ...offer, amount: '9000' }), shown)
    if (!choice.ok) throw new Error(choice.why)
    const serviceNow = Math.floor(Date.now() / 1000) - 3_000
    const signed = await signPayment({ address: payer.address, sign }, choice, shown, serviceNow)
    expect(sign).toHaveBeenCalledTimes(1)
    const payload = JSON.parse(Buffer.from(signed.header, 'base64').toString())
    expect(payload).toMatchObject({
      x402Version: 2,
      accepted: choice.offer,
      resource: { url: 'x' },
    })
    const { authorization, signature } = payload.payload
    expect(authorization).toMatchObject({ from: payer.address, to: payTo, value: '9000' })
    // The visitor's clock is fast here: the chain ends the payment no later than the page does.
    expect(Number(authorization.validBefore)).toBe(serviceNow + 60)
    expect(signed.validBefore).toBeCloseTo(serviceNow + 3_060, -1)
    expect(signed).toMatchObject({ nonce: authorization.nonce, amount: '9000' })
    const [typedData] = sign.mock.calls[0] ?? []
    if (typedData === undefined) throw new Error('nothing was signed')
    expect(typedData.domain).toEqual({
      name: 'USDC',
      version: '2',
      chainId: 5042,
      verifyingContract: shown.asset.address,
    })
    expect(await verifyTypedData({ address: payer.address, signature, ...typedData })).toBe(true)
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
