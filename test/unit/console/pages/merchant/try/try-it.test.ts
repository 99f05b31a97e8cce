import { placesIn, toHttpCall } from '@arcus/protocol/x402/calls'
import { parseRequest } from '@arcus/protocol/x402/parse-request'
import { verifyTypedData } from 'viem'
import { describe, expect, it, vi } from 'vitest'
import {
  exampleJson,
  fieldsOf,
  keyOf,
  readForm,
  readJson,
} from '../../../../../../src/console/pages/merchant/try/form.js'
import {
  type Payer,
  playWallet,
  type ShownTerms,
  settlementOf,
  signPayment,
  termsOf,
} from '../../../../../../src/console/pages/merchant/try/payment.js'
import { devnetPayer } from '../../../../../../src/devnet/accounts.js'

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
const byPermit2 = { extra: { ...offer.extra, assetTransferMethod: 'permit2' } }

/** An answer with these headers. */
function anAnswer(headers: Record<string, string>, body = '') {
  const bytes = new TextEncoder().encode(body)
  return { ok: true, status: 402, headers, bytes, missing: null } as const
}

/** Signs for a 402 with these offers. Returns the payment, the payload on the wire, and what the wallet was asked. */
async function signed(...offers: object[]) {
  const sign = vi.fn<Payer['signTypedData']>((await playWallet(true)).signTypedData)
  const payer = { address: devnetPayer.address, signTypedData: sign }
  const asked = required(...offers.map((wish) => ({ ...offer, ...wish })))
  const onAsked = vi.fn(() => expect(sign).not.toHaveBeenCalled())
  const payment = await signPayment(asked as never, payer, shown, onAsked).catch((error) => {
    expect([sign.mock.calls, onAsked.mock.calls]).toEqual([[], []])
    throw error
  })
  expect(onAsked).toHaveBeenCalledOnce()
  const payload = JSON.parse(Buffer.from(payment.header, 'base64').toString())
  return { ...payment, payload, messages: sign.mock.calls.map(([typedData]) => typedData) }
}

describe('the terms of a 402', () => {
  it('are read from the header of either alphabet, else from the body', () => {
    const terms = required({ note: 'ÿ?>~' })
    const text = JSON.stringify(terms)
    const header = Buffer.from(text).toString('base64')
    const url = header.replaceAll('+', '-').replaceAll('/', '_')
    for (const it of [header, url]) {
      expect(termsOf(anAnswer({ 'payment-required': it }))).toEqual(terms)
    }
    expect(termsOf(anAnswer({}, text))).toEqual(terms)
    for (const none of ['no JSON', '{}', '{"x402Version":1,"accepts":[]}', 'null']) {
      expect(termsOf(anAnswer({ 'payment-required': '%%%' }, none))).toBeUndefined()
    }
  })

  it('are taken at the shown price and below, the cheapest of them', async () => {
    const amountOf = async (...offers: object[]) => (await signed(...offers)).signed.amount
    expect(await amountOf({})).toBe('10000')
    expect(await amountOf({ amount: '9000' }, { amount: '7' }, { amount: '20000' })).toBe('7')
    expect(await amountOf({ ...byPermit2, amount: '5' }, {})).toBe('10000')
    expect(await amountOf({ amount: '0' })).toBe('0')
  })

  it.each([
    [{ amount: '10001' }, 'asks for 0.010001 USDC, and the limit is 0.01 USDC'],
    [{ amount: '9'.repeat(78) }, 'and the limit is'],
    [{ payTo: '0x2222222222222222222222222222222222222222' }, 'another address'],
    [{ payTo: undefined }, 'no payment by exact with EIP-3009 on eip155:5042 in USDC'],
    [{ network: 'eip155:8453' }, 'takes no payment'],
    [{ asset: '0x2222222222222222222222222222222222222222' }, 'takes no payment'],
    [byPermit2, 'takes no payment'],
    [{ scheme: 'upto', extra: { facilitatorAddress: payTo } }, 'takes no payment'],
    [{ scheme: 'batch-settlement' }, 'takes no payment'],
    [{ extra: { name: 'Other', version: '2' } }, 'takes no payment'],
    [{ extra: { name: 'USDC', version: '1' } }, 'takes no payment'],
    [{ maxTimeoutSeconds: 3_601 }, 'takes no payment'],
  ])('with %j are refused before a signature', async (wish, sentence) => {
    await expect(signed(wish)).rejects.toThrow(sentence)
  })

  it.each(['x'.repeat(9_000), '価'.repeat(3_000)])(
    'of %.1s… are too long for a header',
    async (note) => {
      await expect(signed({ note })).rejects.toThrow('too long')
    },
  )

  it('are those of the token, and never those of Circle Gateway', async () => {
    const verifyingContract = '0x77777777DCC4D5A8B6E418FD04D8997EF11000EE'
    const gateway = { amount: '5', extra: { ...offer.extra, verifyingContract } }
    expect((await signed(gateway, {})).signed.amount).toBe('10000')
    await expect(signed(gateway)).rejects.toThrow('paid through Circle Gateway, not settled here')
    const own = { extra: { ...gateway.extra, verifyingContract: shown.asset.address } }
    expect((await signed(own)).signed.amount).toBe('10000')
  })

  it('that are none are refused', async () => {
    const { signTypedData, address } = await playWallet(true)
    const payer = { address, signTypedData: vi.fn(signTypedData) }
    for (const [terms, sentence] of [
      [undefined, 'does not say how'],
      [required(), 'takes no payment'],
      [required(null, 'text', [offer]), 'takes no payment'],
    ] as const) {
      const nothing = signPayment(terms as never, payer, shown, () => {})
      await expect(nothing).rejects.toThrow(sentence)
    }
    expect(payer.signTypedData).not.toHaveBeenCalled()
  })
})

describe('the signature', () => {
  it('is one about the shown recipient and token and the amount of the offer', async () => {
    const { signed: payment, payload, messages } = await signed({ amount: '9000' })
    expect(messages).toHaveLength(1)
    const accepted = { ...offer, amount: '9000' }
    expect(payload).toMatchObject({ x402Version: 2, accepted, resource: { url: 'x' } })
    const { authorization, signature } = payload.payload
    const parsed = parseRequest({
      x402Version: 2,
      paymentPayload: payload,
      paymentRequirements: accepted,
    })
    if (!parsed.ok) throw new Error('not taken')
    expect(parsed.payment.authorization).toMatchObject({
      from: devnetPayer.address.toLowerCase(),
      to: payTo,
      value: 9_000n,
      nonce: payment.nonce,
      validBefore: BigInt(payment.validBefore),
    })
    expect(authorization.nonce).toBe(payment.nonce)
    const left = payment.validBefore - Date.now() / 1000
    expect(left > 30 && left <= 60).toBe(true)
    const [typedData] = messages
    if (typedData === undefined) throw new Error('nothing was signed')
    expect(typedData.domain).toEqual({
      name: 'USDC',
      version: '2',
      chainId: 5042,
      verifyingContract: shown.asset.address,
    })
    const { address } = devnetPayer
    expect(await verifyTypedData({ address, signature, ...(typedData as object) } as never)).toBe(
      true,
    )
  })
})

describe('the word of a seller about a payment', () => {
  it('is a transaction with its form, and nothing else', () => {
    const said = { success: true, transaction: `0x${'ab'.repeat(32)}`, network: shown.network }
    const read = (value: unknown) => {
      const header = Buffer.from(JSON.stringify(value)).toString('base64')
      return settlementOf(anAnswer({ 'payment-response': header }))
    }
    expect(read(said)).toEqual(said)
    for (const lie of [{ ...said, transaction: 'soon' }, { ...said, success: 'yes' }, 7, null]) {
      expect(read(lie)).toBeUndefined()
    }
  })
})

describe('the play wallet', () => {
  it('is the payer of the devnet, and is refused everywhere else', async () => {
    expect((await playWallet(true)).address).toBe(devnetPayer.address)
    for (const devnet of [false, undefined, 'true', 1]) {
      await expect(playWallet(devnet as never)).rejects.toThrow('real network')
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
