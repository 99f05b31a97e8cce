import { quote } from '@arcus/protocol/x402/json'
import { parseRequest, readNetwork, readPayer } from '@arcus/protocol/x402/parse-request'
import { describe, expect, it } from 'vitest'
import { aBody, aPayment, payer, payTo, withMember } from './a-payment.js'

const UINT256_MAX = 2n ** 256n - 1n
const authorization = 'paymentPayload.payload.authorization'
const requirements = 'paymentRequirements'

function refusal(body: unknown) {
  const parsed = parseRequest(body)
  return parsed.ok ? 'accepted' : parsed.rejection
}

function payment(body: unknown) {
  const parsed = parseRequest(body)
  if (!parsed.ok) throw new Error(parsed.rejection.message)
  return parsed.payment
}

describe('a well-formed body', () => {
  it('becomes the payment it describes', () => {
    expect(payment(aBody())).toEqual(aPayment())
  })

  it('may hold unknown members anywhere', () => {
    let body: unknown = aBody()
    for (const path of ['', 'paymentPayload.', `${authorization}.`, `${requirements}.`]) {
      body = withMember(body, `${path}surplus`, { deep: [1] })
    }
    expect(payment(body)).toEqual(aPayment())
  })

  it('has its addresses, nonce and signature lower-cased', () => {
    const upper = (hex: string) => `0x${hex.slice(2).toUpperCase()}`
    let body: unknown = aBody()
    body = withMember(body, `${authorization}.from`, upper(payer))
    body = withMember(body, `${requirements}.payTo`, upper(payTo))
    body = withMember(body, `${authorization}.nonce`, upper(aPayment().authorization.nonce))
    body = withMember(body, 'paymentPayload.payload.signature', upper(aPayment().signature))
    expect(payment(body)).toEqual(aPayment())
  })

  it('may quote no domain, null or one of another type, which later checks refuse', () => {
    for (const extra of [undefined, null, {}, { name: 3, version: null }]) {
      expect(payment(withMember(aBody(), `${requirements}.extra`, extra)).quotedDomain).toEqual({})
    }
  })

  it('takes the URL of its resource when there is one, and is never refused for it', () => {
    const url = 'https://api.example/weather?city=Oslo'
    const urlOf = (resource: unknown) =>
      payment(withMember(aBody(), 'paymentPayload.resource', resource)).resourceUrl
    expect(urlOf({ url })).toBe(url)
    for (const odd of [undefined, null, 'text', 7, [], {}, { url: 7 }, { url: 'x'.repeat(2_049) }])
      expect(urlOf(odd)).toBeUndefined()
    expect(urlOf({ url: 'x'.repeat(2_048) })).toHaveLength(2_048)
    expect(urlOf({ url, serviceName: 'x'.repeat(1_000), tags: 'none' })).toBe(url)
  })

  it('takes the name of its tool from a bazaar extension, by the rules of the catalog', () => {
    const toolOf = (input: unknown) =>
      payment(withMember(aBody(), 'paymentPayload.extensions', { bazaar: { info: { input } } }))
        .toolName
    expect(toolOf({ type: 'mcp', toolName: 'tides' })).toBe('tides')
    for (const toolName of [undefined, null, 7, '', 'two words', 'märz', 'x'.repeat(129), ['a']])
      expect(toolOf({ type: 'mcp', toolName })).toBeUndefined()
    expect(toolOf({ type: 'http', toolName: 'tides' })).toBeUndefined()
    expect(toolOf(null)).toBeUndefined()
    const odd = withMember(aBody(), 'paymentPayload.extensions', 'none')
    expect(payment(odd)).not.toHaveProperty('toolName')
  })

  it('takes every uint256 for its amount', () => {
    for (const amount of [0n, 1n, UINT256_MAX]) {
      const body = withMember(aBody(), `${requirements}.amount`, amount.toString())
      expect(payment(body).amount).toBe(amount)
    }
  })

  it('takes signatures up to 8192 bytes, the empty one included', () => {
    for (const bytes of [0, 1, 65, 8_192]) {
      const signature = `0x${'c3'.repeat(bytes)}`
      const body = withMember(aBody(), 'paymentPayload.payload.signature', signature)
      expect(payment(body).signature).toBe(signature)
    }
  })

  it('takes timeouts from a second to a year', () => {
    for (const seconds of [1, 31_536_000]) {
      const body = withMember(aBody(), `${requirements}.maxTimeoutSeconds`, seconds)
      expect(payment(body).maxTimeoutSeconds).toBe(seconds)
    }
  })
})

describe('a malformed body', () => {
  it.each([undefined, null, [], 'text', 7, true])(
    'is refused when it is %j instead of an object',
    (body) => {
      expect(refusal(body)).toEqual({
        reason: 'invalidPayload',
        message: 'The body must be a JSON object.',
      })
    },
  )

  it.each([
    ['x402Version', undefined, 'x402Version must be the number 2, got nothing.'],
    ['x402Version', 1, 'x402Version must be the number 2, got 1.'],
    ['x402Version', '2', 'x402Version must be the number 2, got "2".'],
    ['paymentPayload.x402Version', 1, 'paymentPayload.x402Version must be the number 2, got 1.'],
    [
      'paymentPayload.x402Version',
      undefined,
      'paymentPayload.x402Version must be the number 2, got nothing.',
    ],
  ])('is refused for its version: %s = %j', (path, value, message) => {
    expect(refusal(withMember(aBody(), path, value))).toEqual({
      reason: 'invalidX402Version',
      message,
    })
  })

  it.each([
    ['paymentPayload', undefined, 'paymentPayload is missing.'],
    ['paymentPayload', null, 'paymentPayload must be of type object, got null.'],
    ['paymentPayload', [], 'paymentPayload must be of type object, got an array.'],
    ['paymentPayload.accepted', undefined, 'paymentPayload.accepted is missing.'],
    [
      'paymentPayload.accepted',
      'exact',
      'paymentPayload.accepted must be of type object, got "exact".',
    ],
    [
      'paymentPayload.accepted.scheme',
      '',
      'paymentPayload.accepted.scheme must not be empty, got "".',
    ],
    [
      'paymentPayload.accepted.network',
      5042,
      'paymentPayload.accepted.network must be of type string, got 5042.',
    ],
    ['paymentPayload.payload', undefined, 'paymentPayload.payload is missing.'],
    ['paymentPayload.payload', [], 'paymentPayload.payload must be of type object, got an array.'],
    [authorization, undefined, `${authorization} is missing.`],
    [authorization, null, `${authorization} must be of type object, got null.`],
    [`${authorization}.from`, undefined, `${authorization}.from is missing.`],
    [
      `${authorization}.from`,
      '0x12',
      `${authorization}.from must be a 20-byte hex address with 0x prefix, got "0x12".`,
    ],
    [
      `${authorization}.to`,
      'ab'.repeat(20),
      `${authorization}.to must be a 20-byte hex address with 0x prefix, got "${'ab'.repeat(20)}".`,
    ],
    [
      `${authorization}.to`,
      `0x${'zz'.repeat(20)}`,
      `${authorization}.to must be a 20-byte hex address with 0x prefix, got "0x${'zz'.repeat(20)}".`,
    ],
    [
      `${authorization}.nonce`,
      `0x${'5a'.repeat(31)}`,
      `${authorization}.nonce must be 32 bytes of hex with 0x prefix, got "0x${'5a'.repeat(31)}".`,
    ],
    ['paymentPayload.payload.signature', undefined, 'paymentPayload.payload.signature is missing.'],
    [
      'paymentPayload.payload.signature',
      '0x123',
      'paymentPayload.payload.signature must be hex bytes with 0x prefix, got "0x123".',
    ],
    [
      'paymentPayload.payload.signature',
      `0x${'c3'.repeat(8_193)}`,
      `paymentPayload.payload.signature must be at most 8192 bytes, got "0x${'c3'.repeat(49)}…".`,
    ],
  ])('is refused for its payload: %s = %j', (path, value, message) => {
    expect(refusal(withMember(aBody(), path, value))).toEqual({
      reason: 'invalidPayload',
      message,
    })
  })

  it.each([
    ['', undefined, ' is missing.'],
    ['', 'none', ' must be of type object, got "none".'],
    ['.scheme', undefined, '.scheme is missing.'],
    ['.scheme', '', '.scheme must not be empty, got "".'],
    ['.network', null, '.network must be of type string, got null.'],
    ['.network', 'n'.repeat(2_049), `.network is too long, got "${'n'.repeat(100)}…".`],
    ['.asset', 'USDC', '.asset must be a 20-byte hex address with 0x prefix, got "USDC".'],
    ['.payTo', [], '.payTo must be of type string, got an array.'],
    ['.maxTimeoutSeconds', '60', '.maxTimeoutSeconds must be of type number, got "60".'],
    ['.maxTimeoutSeconds', 0, '.maxTimeoutSeconds must be above 0, got 0.'],
    ['.maxTimeoutSeconds', -1, '.maxTimeoutSeconds must be above 0, got -1.'],
    ['.maxTimeoutSeconds', 1.5, '.maxTimeoutSeconds must be whole seconds, got 1.5.'],
    ['.maxTimeoutSeconds', 31_536_001, '.maxTimeoutSeconds is too long, got 31536001.'],
    ['.extra', 'USDC', '.extra must be of type object, got "USDC".'],
  ])('is refused for its requirements: %s = %j', (path, value, message) => {
    expect(refusal(withMember(aBody(), requirements + path, value))).toEqual({
      reason: 'invalidPaymentRequirements',
      message: requirements + message,
    })
  })

  const notPlainDigits = [
    '',
    '-1',
    '+1',
    '01',
    '1.0',
    '1e3',
    '0x10',
    ' 1',
    '1 ',
    '1_000',
    '١',
    (UINT256_MAX + 1n).toString(),
    '9'.repeat(79),
  ]

  it.each([
    [`${requirements}.amount`, 'invalidPaymentRequirements'],
    [`${authorization}.value`, 'invalidPayload'],
    [`${authorization}.validAfter`, 'invalidPayload'],
    [`${authorization}.validBefore`, 'invalidPayload'],
  ])('is refused when %s is not plain decimal digits of a uint256', (path, reason) => {
    for (const value of notPlainDigits) {
      expect(refusal(withMember(aBody(), path, value))).toEqual({
        reason,
        message: `${path} must be plain decimal digits of a uint256, got "${value}".`,
      })
    }
    expect(refusal(withMember(aBody(), path, 10_000))).toEqual({
      reason,
      message: `${path} must be of type string, got 10000.`,
    })
  })
})

describe('a body of something other than `exact` by EIP-3009', () => {
  it('is refused for its scheme before its other members are parsed', () => {
    const foreign = withMember(aBody(), requirements, {
      scheme: 'batch-settlement',
      network: 'eip155:5042',
      amount: '0',
      maxTimeoutSeconds: 0,
    })
    expect(refusal(foreign)).toEqual({
      reason: 'unsupportedScheme',
      message: 'Scheme "batch-settlement" is not settled here; expected "exact" or "upto".',
    })
    const wellFormed = withMember(aBody(), `${requirements}.scheme`, 'upto')
    expect(refusal(withMember(wellFormed, 'paymentPayload.payload', { voucher: {} }))).toEqual({
      reason: 'unsupportedPayloadType',
      message: 'A payment of scheme "upto" needs a permit2Authorization.',
    })
  })

  it('is refused when its Permit2 authorization is malformed', () => {
    const body = withMember(aBody(), 'paymentPayload.payload', {
      signature: '0x',
      permit2Authorization: { from: payer },
    })
    expect(refusal(body)).toEqual({
      reason: 'invalidPayload',
      message: 'paymentPayload.payload.permit2Authorization.permitted is missing.',
    })
  })

  it.each(['10', '010', '0xa', '0x0A', `0x${'a'.padStart(64, '0')}`])(
    'is parsed with the Permit2 nonce %s as 32 bytes',
    (nonce) => {
      const witness = { to: payer, validAfter: '0' }
      const permitted = { token: payer, amount: '10000' }
      const signed = { from: payer, permitted, spender: payer, nonce, deadline: '99', witness }
      const body = withMember(aBody(), 'paymentPayload.payload', {
        signature: '0x',
        permit2Authorization: signed,
      })
      expect(payment(body).authorization).toMatchObject({
        nonce: `0x${'a'.padStart(64, '0')}`,
        value: 10_000n,
        validBefore: 100n,
      })
    },
  )

  it('passes with another accepted scheme or network, which later checks refuse', () => {
    const scheme = withMember(aBody(), 'paymentPayload.accepted.scheme', 'upto')
    expect(payment(scheme).acceptedScheme).toBe('upto')
    const network = withMember(aBody(), 'paymentPayload.accepted.network', 'eip155:1')
    expect(payment(network).acceptedNetwork).toBe('eip155:1')
  })
})

describe('the facts read from a malformed body', () => {
  it('include the payer of an authorization or of a Permit2 authorization, if it is an address', () => {
    expect(readPayer(aBody())).toBe(payer)
    expect(readPayer(withMember(aBody(), `${authorization}.value`, 'x'))).toBe(payer)
    expect(
      readPayer(
        withMember(aBody(), 'paymentPayload.payload', { permit2Authorization: { from: payer } }),
      ),
    ).toBe(payer)
    expect(readPayer(withMember(aBody(), `${authorization}.from`, 'me'))).toBeUndefined()
    for (const odd of [undefined, null, [], 'text', { paymentPayload: [] }]) {
      expect(readPayer(odd)).toBeUndefined()
    }
  })

  it('include the network, if it looks like one', () => {
    expect(readNetwork(aBody())).toBe('eip155:5042')
    const read = (network: unknown) => readNetwork({ paymentRequirements: { network } })
    expect(read('solana:mainnet')).toBe('solana:mainnet')
    for (const odd of ['', 'base', 'EIP155:1', `eip155:${'1'.repeat(33)}`, '<b>:1', 5042, null]) {
      expect(read(odd)).toBe('')
    }
    expect(readNetwork(null)).toBe('')
  })
})

describe('a quotation', () => {
  it.each([
    ['a"b\n', '"a\\"b\\n"'],
    ['x'.repeat(100), `"${'x'.repeat(100)}"`],
    ['x'.repeat(101), `"${'x'.repeat(100)}…"`],
    [undefined, 'nothing'],
    [null, 'null'],
    [1.5, '1.5'],
    [[1, 2], 'an array'],
    [{ a: 1 }, 'an object'],
  ])('of %j is short and carries nothing', (value, quoted) => {
    expect(quote(value)).toBe(quoted)
  })

  it('of a bigint is its digits', () => {
    expect(quote(7n)).toBe('7')
  })
})
