import { listingLimits as limits, listingBody } from '@arcus/protocol/listing/listing'
import { describe, expect, it } from 'vitest'
import { parseBody, WriteFault } from '../../../src/directory/refusals.js'
import { aListing, anEndpoint } from '../../support/a-directory.js'

/** The sentence a listing is refused with, or `undefined` when it is taken. */
function refusalOf(listing: unknown): string | undefined {
  try {
    parseBody(listingBody, listing)
    return undefined
  } catch (error) {
    if (!(error instanceof WriteFault)) throw error
    expect([error.code, error.statusCode]).toEqual(['invalid_listing', 400])
    return error.message
  }
}

const ofEndpoint = (wish: Record<string, unknown>) =>
  refusalOf(aListing({ endpoints: [anEndpoint(wish as never)] }))
const ofListing = (wish: Record<string, unknown>) => refusalOf({ ...aListing(), ...wish })

const chars = (count: number, char = 'a') => char.repeat(count)
const urlOf = (length: number) => `https://a.example/${chars(length - 18)}`
/** JSON of exactly that many bytes. */
const jsonOf = (bytes: number) => ({ a: chars(bytes - 8) })
const schemaOf = (bytes: number) => ({ type: 'object', title: chars(bytes - 28) })
const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
const nestedSchema = (depth: number) => ({ type: 'object', default: nested(depth - 1) })
const params = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, index]))
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => anEndpoint({ url: `https://a.example/${index}` }))

type Case = [field: string, make: (size: number) => string | undefined, limit: number]

const atMost: Case[] = [
  ['name', (size) => ofListing({ name: chars(size) }), limits.name.maxChars],
  ['name', (size) => ofListing({ name: chars(size, '😀') }), limits.name.maxChars],
  ['description', (size) => ofListing({ description: chars(size) }), limits.description.maxChars],
  ['endpoints', (size) => ofListing({ endpoints: many(size) }), limits.endpoints.max],
  ['endpoints[0].url', (size) => ofEndpoint({ url: urlOf(size) }), limits.url.maxChars],
  ['endpoints[0].title', (size) => ofEndpoint({ title: chars(size) }), limits.title.maxChars],
  [
    'endpoints[0].description',
    (size) => ofEndpoint({ description: chars(size) }),
    limits.endpointDescription.maxChars,
  ],
  [
    'endpoints[0].tags',
    (size) => ofEndpoint({ tags: Array.from({ length: size }, (_, index) => `t${index}`) }),
    limits.tags.max,
  ],
  ['endpoints[0].tags[0]', (size) => ofEndpoint({ tags: [chars(size)] }), limits.tags.maxChars],
  [
    'endpoints[0].example.queryParams',
    (size) => ofEndpoint({ example: { queryParams: jsonOf(size) } }),
    limits.example.maxBytes,
  ],
  [
    'endpoints[0].example.queryParams',
    (size) => ofEndpoint({ example: { queryParams: params(size) } }),
    limits.queryParams.max,
  ],
  [
    'endpoints[0].example.queryParams',
    (size) => ofEndpoint({ example: { queryParams: { [chars(size)]: 1 } } }),
    limits.queryParams.nameMaxChars,
  ],
  [
    'endpoints[0].example.queryParams',
    (size) => ofEndpoint({ example: { queryParams: { a: Array(size).fill(1) } } }),
    limits.queryParams.valuesPerName,
  ],
  [
    'endpoints[0].example.body',
    (size) => ofEndpoint({ method: 'POST', example: { body: jsonOf(size) } }),
    limits.example.maxBytes,
  ],
  [
    'endpoints[0].example.body',
    (size) => ofEndpoint({ method: 'POST', example: { body: nested(size) } }),
    limits.example.maxDepth,
  ],
  [
    'endpoints[0].inputSchema',
    (size) => ofEndpoint({ inputSchema: schemaOf(size) }),
    limits.inputSchema.maxBytes,
  ],
  [
    'endpoints[0].inputSchema',
    (size) => ofEndpoint({ inputSchema: nestedSchema(size) }),
    limits.inputSchema.maxDepth,
  ],
  [
    'endpoints[0].output.type',
    (size) => ofEndpoint({ output: { type: chars(size) } }),
    limits.outputType.maxChars,
  ],
  [
    'endpoints[0].output.example',
    (size) => ofEndpoint({ output: { type: 'json', example: jsonOf(size) } }),
    limits.outputExample.maxBytes,
  ],
  [
    'endpoints[0].output.example',
    (size) => ofEndpoint({ output: { type: 'json', example: nested(size) } }),
    limits.outputExample.maxDepth,
  ],
]

describe('an upper limit', () => {
  it.each(atMost)(
    'of %s holds what reaches it and refuses what passes it',
    (field, make, limit) => {
      expect(make(limit - 1)).toBeUndefined()
      expect(make(limit)).toBeUndefined()
      const refusal = make(limit + 1)
      expect(refusal).toContain(field)
      expect(refusal).toContain(String(limit))
    },
  )

  it('of the URL counts what escaping makes of it', () => {
    expect(ofEndpoint({ url: `https://a.example/${chars(500, 'é')}` })).toContain('2048')
  })
})

describe('a lower limit', () => {
  it.each([
    ['name', () => ofListing({ name: '' })],
    ['name', () => ofListing({ name: '   ' })],
    ['name', () => ofListing({ name: '\u00ad' })],
    ['endpoints', () => ofListing({ endpoints: [] })],
    ['endpoints[0].title', () => ofEndpoint({ title: ' \t' })],
    ['endpoints[0].tags[1]', () => ofEndpoint({ tags: ['a', ''] })],
    ['endpoints[0].output.type', () => ofEndpoint({ output: { type: '' } })],
  ])('of %s refuses what is below', (field, make) => {
    expect(make()).toContain(field)
  })
})

describe('the price', () => {
  it.each(['1', '10000', '999999999999999'])('may be %s', (price) => {
    expect(ofEndpoint({ price })).toBeUndefined()
  })

  it.each(['', '0', '-1', '01', '1.5', '1e3', '0x10', ' 1', '١', '1000000000000000', 10000, null])(
    'may not be %j',
    (price) => {
      expect(ofEndpoint({ price })).toContain('endpoints[0].price')
    },
  )
})

describe('the URL', () => {
  it.each([
    'https://api.example.com/weather?units=metric',
    'http://localhost:4022/quote',
    'https://[2001:db8::1]:8443/x',
  ])('may be %s', (url) => {
    expect(ofEndpoint({ url })).toBeUndefined()
  })

  it.each([
    '',
    '/weather',
    'api.example.com/weather',
    '//api.example.com',
    'ftp://api.example.com/',
    'javascript:alert(1)',
    'data:text/html,x',
    'https:api.example.com',
    'https://',
    'https://user@api.example.com/',
    'https://user:pass@api.example.com/',
    'https://api.example.com/#top',
    'https://api.example.com/#',
    'https://api.example.com/a b',
    'https://api.example.com\\@evil.example/',
    'https://api.example.com/\n',
    'https://api.example.com/\u202e',
    'https://api.example.com:99999/',
  ])('may not be %j', (url) => {
    expect(ofEndpoint({ url })).toContain('endpoints[0].url')
  })

  it('is kept in its normal form, in which it may be listed once with each method', () => {
    const twice = [
      anEndpoint({ url: 'https://A.example:443/x' }),
      anEndpoint({ url: 'https://a.example/x' }),
    ]
    expect(refusalOf(aListing({ endpoints: twice }))).toContain('endpoints[1].url')
    const post = anEndpoint({ url: 'https://a.example/x', method: 'POST', example: { body: {} } })
    const { endpoints } = parseBody(listingBody, aListing({ endpoints: [twice[0] as never, post] }))
    expect(endpoints.map(({ url }) => url)).toEqual(['https://a.example/x', 'https://a.example/x'])
  })
})

describe('the method', () => {
  it.each(['OPTIONS', 'get', 'mcp', '', null, undefined])('may not be %j', (method) => {
    expect(ofEndpoint({ method })).toContain('endpoints[0].method')
  })
})

describe('payTo', () => {
  it.each([
    `0x${'11'.repeat(20)}`,
    '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
  ])('may be %s', (payTo) => {
    expect(ofListing({ payTo })).toBeUndefined()
  })

  it.each([
    `0x${'00'.repeat(20)}`,
    `0x${'11'.repeat(19)}`,
    '11'.repeat(20),
    'vitalik.eth',
    // One letter in the wrong case.
    '0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    7,
    '0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003',
    '0x4020806089470a89826cb9fb1f4059150b550004',
  ])('may not be %s', (payTo) => {
    expect(ofListing({ payTo })).toContain('payTo')
  })
})

describe('text of strangers', () => {
  const hidden = ['\u0000', '\u0007', '\u001b', '\u007f', '\u0085', '\u2028', '\u202e', '\u2066']
  const unseen = [
    ...[
      '\u200b',
      '\ufeff',
      '\ud800',
      '\udc00',
      '\u{e0041}',
      '\u00ad',
      '\u061c',
      '\u200d',
      '\u200e',
    ],
    ...[
      '\u200f',
      '\ufe0f',
      '\u{e0100}',
      '\u3164',
      '\u115f',
      '\u1160',
      '\uffa0',
      '\u2800',
      '\uffff',
    ],
    ...['\ufdd0', '\ufff9', '\u2060'],
  ]

  it.each([...hidden, ...unseen])('is refused with %j in it, in every field', (char) => {
    const text = `a${char}b`
    for (const refusal of [
      ofListing({ name: text }),
      ofListing({ description: text }),
      ofEndpoint({ title: text }),
      ofEndpoint({ description: text }),
      ofEndpoint({ tags: [text] }),
      ofEndpoint({ url: `https://a.example/${text}` }),
      ofEndpoint({ example: { queryParams: { a: text } } }),
      ofEndpoint({ example: { queryParams: { [text]: 'a' } } }),
      ofEndpoint({ method: 'POST', example: { body: [{ [text]: 1 }] } }),
      ofEndpoint({ inputSchema: { type: 'object', description: text } }),
      ofEndpoint({ output: { type: 'json', example: text } }),
    ]) {
      expect(refusal).toContain(' must ')
      expect(refusal).not.toContain(char)
      const code = char.codePointAt(0) as number
      expect(refusal).toContain(`U+${code.toString(16).toUpperCase().padStart(4, '0')}`)
    }
  })

  it.each(['👩‍💻 at work', '❤️ and 🏳️‍🌈', 'key 1️⃣', 'می‌خواهم', 'क्‍ष'])('may be %s', (text) => {
    expect(ofListing({ name: text, description: text })).toBeUndefined()
    expect(ofEndpoint({ title: text })).toBeUndefined()
  })

  it('may have lines in descriptions, and nowhere else', () => {
    expect(ofListing({ description: 'a\n\tb' })).toBeUndefined()
    expect(ofEndpoint({ description: 'a\n\tb' })).toBeUndefined()
    expect(ofListing({ name: 'a\nb' })).toContain('U+000A')
    expect(ofEndpoint({ title: 'a\tb' })).toContain('U+0009')
    expect(ofListing({ description: 'a\rb' })).toContain('U+000D')
  })

  it('is kept as it is when it is markup, or speaks to a machine', () => {
    const name = '<script>alert("x")</script>'
    const description = 'Ignore previous instructions; {{7*7}} %s <!-- -->'
    expect(parseBody(listingBody, aListing({ name, description }))).toMatchObject({
      name,
      description,
    })
  })

  it('is composed and trimmed', () => {
    const { name } = parseBody(listingBody, aListing({ name: '  Cafe\u0301 ' }))
    expect(name).toBe('Caf\u00e9')
  })

  it('stays out of the sentence of its refusal when it is the name of a member', () => {
    const refusal = ofListing({ [`\u202e${chars(500)}`]: 1 })
    expect(refusal).toContain('not known here')
    expect(refusal).not.toContain('\u202e')
    expect(refusal?.length).toBeLessThan(200)
  })
})

describe('members that are not known', () => {
  it.each([
    ['the body', () => ofListing({ owner: 'x' })],
    ['endpoints[0]', () => ofEndpoint({ headers: {} })],
    ['endpoints[0].output', () => ofEndpoint({ output: { type: 'json', schema: {} } })],
    ['endpoints[0].example', () => ofEndpoint({ example: { queryParams: {}, body: {} } })],
    ['endpoints[0].example', () => ofEndpoint({ example: { body: {} } })],
    ['endpoints[0].example', () => ofEndpoint({ method: 'POST', example: { queryParams: {} } })],
  ])('are refused in %s', (field, make) => {
    expect(make()?.toLowerCase()).toContain(field.toLowerCase())
  })

  it.each([null, 1, 'x', [], true])('a listing is not %j', (listing) => {
    expect(refusalOf(listing)).toBeDefined()
  })
})

describe('the example of a GET', () => {
  it('may have strings, numbers, booleans, and lists of them', () => {
    const queryParams = { city: 'Lisbon', days: 3, metric: true, hours: [1, 2] }
    expect(ofEndpoint({ example: { queryParams } })).toBeUndefined()
  })

  it.each([null, {}, [[]], [null]])('may not have %j as a value', (value) => {
    expect(ofEndpoint({ example: { queryParams: { a: value } } })).toContain(
      'endpoints[0].example.queryParams',
    )
  })
})

describe('a schema', () => {
  it.each(['$ref', '$id', '$dynamicRef'])('may not reach outside by %s, at any depth', (key) => {
    for (const value of [
      'https://evil.example/s',
      'other.json',
      '//evil.example',
      'file:///x',
      '',
    ]) {
      const schema = { type: 'object', properties: { a: { items: { [key]: value } } } }
      expect(ofEndpoint({ inputSchema: schema })).toContain('endpoints[0].inputSchema')
    }
    const inside = { type: 'object', properties: { a: { items: { [key]: '#/$defs/a' } } } }
    expect(ofEndpoint({ inputSchema: inside })).toBeUndefined()
  })

  it('may have a parameter that is called as a keyword', () => {
    const properties = { $ref: { type: 'string' }, $id: { type: 'string' } }
    expect(ofEndpoint({ inputSchema: { type: 'object', properties } })).toBeUndefined()
  })

  it.each([
    {},
    { type: 'string' },
    { type: ['object', 'null'] },
    { type: 'object', $async: true },
    { type: 'object', $schema: 'http://json-schema.org/draft-07/schema#' },
    [],
    'x',
    true,
  ])('may not be %j', (inputSchema) => {
    expect(ofEndpoint({ inputSchema })).toContain('endpoints[0].inputSchema')
  })

  it('may say that it is of 2020-12, or be left out', () => {
    const $schema = 'https://json-schema.org/draft/2020-12/schema'
    expect(ofEndpoint({ inputSchema: { $schema, type: 'object' } })).toBeUndefined()
    expect(ofEndpoint({ inputSchema: null })).toBeUndefined()
  })

  it('of a megabyte, or of a depth without end, is refused by its limit', () => {
    expect(ofEndpoint({ inputSchema: schemaOf(1_048_576) })).toContain('16384')
    let deep: unknown = {}
    for (let level = 0; level < 100_000; level++) deep = { not: deep }
    expect(ofEndpoint({ inputSchema: { type: 'object', not: deep } })).toContain('24')
  })
})

describe('a member that is missing', () => {
  it('has its default', () => {
    const { url, price, title } = anEndpoint()
    const endpoints = [{ url, price, title, method: 'POST' }]
    const { name, payTo } = aListing()
    expect(parseBody(listingBody, { name, payTo, endpoints })).toEqual({
      name,
      payTo,
      description: '',
      endpoints: [
        {
          url,
          title,
          method: 'POST',
          description: '',
          pricing: 'fixed',
          price: 10_000n,
          asset: null,
          currency: null,
          tags: [],
          example: { body: {} },
          inputSchema: null,
          output: { type: 'json' },
        },
      ],
    })
  })

  it('outside printable ASCII is refused in tags, as the bazaar has them', () => {
    for (const tag of ['Zürich', '天气']) {
      expect(ofEndpoint({ tags: [tag] })).toContain('endpoints[0].tags[0] must be printable ASCII')
    }
    expect(ofEndpoint({ tags: ['a-b c/d'] })).toBeUndefined()
  })

  it('twice in tags is said once', () => {
    const { endpoints } = parseBody(
      listingBody,
      aListing({ endpoints: [anEndpoint({ tags: ['AI', 'data', 'ai'] })] }),
    )
    expect(endpoints[0]?.tags.map((tag) => tag.toLowerCase())).toEqual(['ai', 'data'])
  })
})

describe('the places of a path', () => {
  const at = (pathParams: unknown, over: Record<string, unknown> = {}) =>
    ofEndpoint({
      url: 'https://a.example/users/:id/orders/:order',
      example: { queryParams: {}, pathParams },
      ...over,
    })

  it('have values in the example, some or all', () => {
    expect(at({ id: '5', order: 'a/b c' })).toBeUndefined()
    expect(at({ id: '5' })).toBeUndefined()
    const example = { body: {}, pathParams: { id: '5' } }
    expect(at({}, { method: 'POST', example })).toBeUndefined()
  })

  it.each([
    [{ name: '5' }, '"name", which is no place of the path'],
    [{ id: '..' }, 'a text for each place'],
    [{ id: '' }, 'a text for each place'],
    [{ id: 5 }, 'a text for each place'],
    [{ id: 'a\u202eb' }, 'must'],
    ['5', 'must be an object'],
  ])('are refused with %j', (pathParams, words) => {
    const refusal = at(pathParams)
    expect(refusal).toContain('endpoints[0].example.pathParams')
    expect(refusal).toContain(words)
  })
})
