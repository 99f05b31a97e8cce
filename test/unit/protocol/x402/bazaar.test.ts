import {
  bazaarLimits,
  encodeExtensionResponses,
  isIconUrl,
  parseBazaar,
  readServiceMetadata,
} from '@arcus/protocol/x402/bazaar'
import { declareDiscoveryExtension, sanitizeResourceServiceMetadata } from '@x402/extensions/bazaar'
import { describe, expect, it } from 'vitest'

const get = {
  info: { input: { type: 'http', method: 'GET', queryParams: { city: 'Lisbon' } } },
  schema: { type: 'object' },
}
const post = {
  info: { input: { type: 'http', method: 'POST', bodyType: 'json', body: { city: 'Lisbon' } } },
  schema: { type: 'object' },
}

const tool = {
  type: 'mcp',
  toolName: 'weather',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
}

function aPayload(bazaar: unknown, resource: object = {}) {
  return {
    x402Version: 2,
    resource: { url: 'https://api.example.com/v1/weather?city=Porto#today', ...resource },
    extensions: { bazaar },
  }
}

const withInput = (input: object) => ({ ...get, info: { input: { ...get.info.input, ...input } } })
const withSchema = (schema: unknown) => ({ ...get, schema })

function reasonOf(payload: unknown): string {
  const parsed = parseBazaar(payload)
  return parsed === undefined || parsed.ok ? 'accepted' : parsed.rejectedReason
}

function resourceOf(payload: unknown) {
  const parsed = parseBazaar(payload)
  if (parsed === undefined || !parsed.ok) throw new Error(parsed?.rejectedReason ?? 'no extension')
  return parsed.resource
}

describe('a bazaar extension', () => {
  it('is not missed where a payment carries none', () => {
    const without = [
      undefined,
      null,
      'x',
      {},
      { extensions: null },
      { extensions: {} },
      { extensions: [] },
    ]
    for (const payload of [...without, aPayload(null)]) expect(parseBazaar(payload)).toBeUndefined()
  })

  it('is read under the origin and path of the paid URL, with its method and example', () => {
    expect(resourceOf(aPayload(get))).toEqual({
      url: 'https://api.example.com/v1/weather',
      method: 'GET',
      ...get,
    })
    expect(resourceOf(aPayload(post))).toMatchObject({
      method: 'POST',
      info: post.info,
    })
  })

  it('is read as the official server declares it', () => {
    const declared = declareDiscoveryExtension({
      method: 'POST',
      bodyType: 'json',
      input: { city: 'Lisbon' },
      inputSchema: { properties: { city: { type: 'string' } }, required: ['city'] },
      output: { example: { celsius: 21 } },
    } as Parameters<typeof declareDiscoveryExtension>[0])
    expect(resourceOf(aPayload(declared.bazaar))).toMatchObject({
      method: 'POST',
      info: {
        input: { body: { city: 'Lisbon' } },
        output: { type: 'json', example: { celsius: 21 } },
      },
    })
  })

  it('is read from payloads of version 2 only', () => {
    expect(reasonOf({ ...aPayload(get), x402Version: 1 })).toBe(
      'only payloads of x402 v2 are listed.',
    )
  })

  it.each([
    ['an array', []],
    ['a text', 'bazaar'],
    ['no info', { schema: {} }],
    ['info that is an array', { info: [], schema: {} }],
    ['no schema', { info: get.info }],
    ['a schema that is true', { ...get, schema: true }],
    ['no input', { info: {}, schema: {} }],
  ])('is rejected when it is or has %s', (_, bazaar) => {
    expect(reasonOf(aPayload(bazaar))).toMatch(/must be/)
  })

  it('is not found in what every object inherits', () => {
    const inherited = Object.create(aPayload(get)) as object
    expect(parseBazaar(inherited)).toBeUndefined()
    expect(reasonOf(aPayload(Object.create(get)))).toBe('info must be an object.')
    const polluted = JSON.parse(`{"__proto__": ${JSON.stringify(get)}}`)
    expect(reasonOf(aPayload(polluted))).toBe('info must be an object.')
  })
})

describe('its input', () => {
  it.each([
    [{ type: 'soap' }, /info.input.type must be "http" or "mcp", got "soap"/],
    [{ type: 'mcp' }, /toolName must be 1 to 128 visible ASCII characters/],
    [{ type: 'mcp', toolName: 'two words' }, /toolName must be/],
    [{ type: 'mcp', toolName: 'weather' }, /inputSchema must be an object/],
    [{ ...tool, transport: 'stdio' }, /transport must be streamable-http or sse, got "stdio"/],
    [{ ...tool, example: ['Lisbon'] }, /example must be an object/],
    [{ method: undefined }, /info.input.method must be one of GET, HEAD/],
    [{ method: 'get' }, /got "get"/],
    [{ method: 'toString' }, /info.input.method must be one of/],
    [{ method: 'MCP' }, /info.input.method must be one of GET, HEAD/],
    [{ bodyType: 'json' }, /bodyType is for methods with a body/],
    [{ method: 'POST', bodyType: 'xml' }, /bodyType must be one of json, form-data, text/],
    [{ method: 'PUT', bodyType: 'text', queryParams: [] }, /queryParams must be an object/],
    [{ queryParams: ['Lisbon'] }, /queryParams must be an object/],
  ])('%j is rejected with a reason', (input, reason) => {
    expect(reasonOf(aPayload(withInput(input)))).toMatch(reason)
  })

  it.each([
    [{ method: 'HEAD' }],
    [{ method: 'DELETE' }],
    [{ method: 'PUT', bodyType: 'text', body: 'Lisbon' }],
    [{ method: 'PATCH', bodyType: 'form-data', body: { city: 'Lisbon' } }],
    [{ method: 'POST', bodyType: 'json', body: {}, headers: { 'x-units': 'metric' } }],
  ])('may be %j', (input) => {
    expect(resourceOf(aPayload(withInput(input)))).toMatchObject({ method: input.method })
  })

  it('may be a tool of an MCP server', () => {
    const { method: _, ...declared } = { ...withInput(tool).info.input, transport: 'sse' }
    const resource = resourceOf(aPayload({ ...get, info: { input: declared } }))
    expect(resource).toMatchObject({
      url: 'https://api.example.com/v1/weather',
      method: 'MCP',
      toolName: 'weather',
      transport: 'sse',
    })
    expect(reasonOf(aPayload(withInput(tool), { url: 'mcp://tool/weather' }))).toMatch(
      /must be an http or https URL of at most 2048 characters, that of the MCP server/,
    )
  })

  it('is read as the official server declares a tool', () => {
    const declared = declareDiscoveryExtension({
      toolName: 'weather',
      description: 'Skies by the city',
      inputSchema: tool.inputSchema,
      example: { city: 'Lisbon' },
    })
    expect(resourceOf(aPayload(declared.bazaar))).toMatchObject({
      method: 'MCP',
      toolName: 'weather',
    })
  })

  it('needs no example and no body type', () => {
    expect(reasonOf(aPayload(withInput({ queryParams: undefined })))).toBe('accepted')
    expect(reasonOf(aPayload(withInput({ method: 'POST', body: 7 })))).toBe('accepted')
  })
})

describe('its schema', () => {
  it.each(['$ref', '$id', '$dynamicRef', '$recursiveRef'])(
    'must not reach outside by %s',
    (name) => {
      for (const value of [
        'https://evil.example/x',
        'file:///etc/passwd',
        'defs.json',
        '',
        ' #',
        7,
        null,
        {},
      ]) {
        const schema = { properties: { input: { anyOf: [{ items: { [name]: value } }] } } }
        expect(reasonOf(aPayload(withSchema(schema)))).toBe(
          `schema must not refer outside itself by ${name}.`,
        )
      }
      const inside = { properties: { input: { [name]: '#/$defs/city' } } }
      expect(reasonOf(aPayload(withSchema(inside)))).toBe('accepted')
    },
  )

  it('may be as deep as the limit and no deeper', () => {
    const nested = (levels: number): object => (levels === 0 ? {} : { not: nested(levels - 1) })
    // The extension and the schema itself are levels too.
    expect(reasonOf(aPayload(withSchema(nested(bazaarLimits.maxDepth - 3))))).toBe('accepted')
    expect(reasonOf(aPayload(withSchema(nested(bazaarLimits.maxDepth - 2))))).toMatch(/nest deeper/)
  })

  it('may be 100,000 levels deep without harm', () => {
    let schema: object = {}
    for (let level = 0; level < 100_000; level++) schema = { not: schema }
    expect(reasonOf(aPayload(withSchema(schema)))).toMatch(/nest deeper than 24 levels/)
  })

  it('may have as many values and bytes as the limits and no more', () => {
    const { maxNodes, maxBytes } = bazaarLimits
    expect(reasonOf(aPayload(withSchema({ enum: Array(maxNodes - 50).fill(1) })))).toBe('accepted')
    expect(reasonOf(aPayload(withSchema({ enum: Array(maxNodes).fill(1) })))).toMatch(/2000 values/)
    expect(reasonOf(aPayload(withSchema({ enum: Array(1_000_000).fill(1) })))).toMatch(
      /2000 values/,
    )
    const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`k${n}`, 1]))
    expect(reasonOf(aPayload(withSchema(wide)))).toMatch(/2000 values/)
    expect(reasonOf(aPayload(withSchema({ title: 'a'.repeat(maxBytes - 500) })))).toBe('accepted')
    expect(reasonOf(aPayload(withSchema({ title: 'a'.repeat(maxBytes) })))).toMatch(/32768 bytes/)
    expect(reasonOf(aPayload(withSchema({ ['k'.repeat(maxBytes)]: 1 })))).toMatch(/32768 bytes/)
  })

  it('counts bytes, not characters', () => {
    const title = '\u{1f980}'.repeat(bazaarLimits.maxBytes / 4)
    expect(title.length).toBeLessThan(bazaarLimits.maxBytes)
    expect(reasonOf(aPayload(withSchema({ title })))).toMatch(/32768 bytes/)
  })
})

describe('what the payload says of the service', () => {
  it('is kept where it keeps its rules, and left out where not', () => {
    const good = {
      serviceName: 'Weather (EU)',
      tags: ['Weather', 'weather', 'eu', 'x'.repeat(33), 7, 'a', 'b', 'c', 'd'],
      iconUrl: 'https://cdn.example.com/icon.png',
      mimeType: 'application/json; charset=utf-8',
      description: 'By city',
    }
    expect(resourceOf(aPayload(get, good))).toMatchObject({
      ...good,
      tags: ['Weather', 'eu', 'a', 'b', 'c'],
    })
    const bad = {
      serviceName: 'W\u0000',
      tags: 'weather',
      iconUrl: 'http://127.0.0.1/i.png',
      mimeType: 'json\n',
      description: 7,
    }
    const resource = resourceOf(aPayload(get, bad))
    expect(Object.keys(resource).sort()).toEqual(['dropped', 'info', 'method', 'schema', 'url'])
    expect(resource.dropped).toEqual(['serviceName', 'tags', 'iconUrl', 'mimeType'])
    const tags = ['one', 'two', 'thr\u00e9e', 'four', 'five', 'six', 'seven']
    expect(resourceOf(aPayload({ ...get, routeTemplate: '/../x' }, { tags }))).toMatchObject({
      tags: ['one', 'two', 'four', 'five', 'six'],
      dropped: ['tags', 'routeTemplate'],
    })
  })

  it.each([
    undefined,
    '',
    'weather',
    '/v1',
    'ftp://a.example/',
    'javascript:alert(1)',
    'https://',
    7,
  ])('is nothing without an http URL, such as %j', (url) => {
    expect(reasonOf(aPayload(get, { url }))).toMatch(/resource.url must be an http or https URL/)
  })

  it('does not need more URL than 2,048 characters', () => {
    const base = 'https://api.example.com/'
    expect(reasonOf(aPayload(get, { url: base + 'a'.repeat(2_048 - base.length) }))).toBe(
      'accepted',
    )
    expect(reasonOf(aPayload(get, { url: base + 'a'.repeat(2_049 - base.length) }))).toMatch(/2048/)
    expect(reasonOf(aPayload(get, { url: base + 'ä'.repeat(1_000) }))).toMatch(/2048/)
  })
})

describe('an icon', () => {
  it.each([
    'https://cdn.example.com/icon.png',
    'http://cdn.example.com:8080/i.svg?v=2#x',
    'https://bücher.example/i.png',
    'https://127.example.com/i.png',
    'https://0xcafe.example/i.png',
  ])('may come from %s', (url) => {
    expect(isIconUrl(url)).toBe(true)
  })

  it.each([
    'http://127.0.0.1/i.png',
    'http://2130706433/i.png',
    'http://0x7f000001/i.png',
    'http://8.8.8.8/i.png',
    'http://[::1]/i.png',
    'http://localhost/i.png',
    'http://LOCALHOST./i.png',
    'http://a.localhost/i.png',
    'http://localhost.localdomain/i.png',
    'http://ip6-localhost/i.png',
    'http://ｌｏｃａｌｈｏｓｔ/i.png',
    'http://127。0。0。1/i.png',
    'https://user@cdn.example.com/i.png',
    'https://:secret@cdn.example.com/i.png',
    'ftp://cdn.example.com/i.png',
    'javascript:alert(1)',
    '//cdn.example.com/i.png',
    'https://cdn.example.com/i\u0000.png',
    'https://cdn.example.com/i\n.png',
    ' https://cdn.example.com/i.png',
    'https://cdn.example.com\\@evil.example/i.png',
    `https://cdn.example.com/${'i'.repeat(2_025)}`,
    '',
    7,
    null,
  ])('does not come from %j', (url) => {
    expect(isIconUrl(url)).toBe(false)
  })

  it('may have an address of 2,048 characters', () => {
    expect(isIconUrl(`https://cdn.example.com/${'i'.repeat(2_024)}`)).toBe(true)
  })
})

describe('name and tags', () => {
  it.each([
    { serviceName: 'A' },
    { serviceName: 'x'.repeat(32) },
    { serviceName: 'x'.repeat(33) },
    { serviceName: '' },
    { serviceName: 'Wetter für alle' },
    { serviceName: 'a\tb' },
    { serviceName: ['Weather'] },
    { tags: ['a', 'A', 'b'] },
    { tags: ['a', '', 'é', 'x'.repeat(33), 'b', 'c', 'd', 'e', 'f'] },
    { tags: { 0: 'a', length: 1 } },
    { tags: [] },
    { tags: ['toString', '__proto__'] },
  ])('of %j are those the reference keeps', (resource) => {
    const reference = sanitizeResourceServiceMetadata(resource as never)
    expect(readServiceMetadata(resource)).toEqual(reference)
  })

  it('are no blanks, which nobody could see', () => {
    expect(readServiceMetadata({ serviceName: '   ', tags: [' '] })).toEqual({})
  })
})

const decode = (header: string) => JSON.parse(Buffer.from(header, 'base64').toString())

it('is base64 of JSON keyed by extension', () => {
  const header = encodeExtensionResponses({ bazaar: { status: 'processing' } })
  expect(header).toBe('eyJiYXphYXIiOnsic3RhdHVzIjoicHJvY2Vzc2luZyJ9fQ==')
  expect(decode(header)).toEqual({ bazaar: { status: 'processing' } })
})

it('gives a reason, short and printable whatever a stranger put into it', () => {
  const rejectedReason = `got "\u202e\u0007ä"${'x'.repeat(1_000)}`
  const header = encodeExtensionResponses({ bazaar: { status: 'rejected', rejectedReason } })
  const { bazaar } = decode(header)
  expect(bazaar.status).toBe('rejected')
  expect(bazaar.rejectedReason).toMatch(/^got "\?\?\?"x+$/)
  expect(bazaar.rejectedReason).toHaveLength(300)
  expect(header).toMatch(/^[A-Za-z0-9+/]+=*$/)
})
