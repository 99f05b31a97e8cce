import { listingFromOpenApi, OpenApiError } from '@arcus/client/open-api'
import { listingBody } from '@arcus/protocol/listing/listing'
import { describe, expect, it } from 'vitest'

const options = { payTo: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65', price: '10000' } as const

const document = {
  openapi: '3.1.0',
  info: { title: 'Weather house', description: 'Skies by the city' },
  servers: [{ url: 'https://api.example.com/v1/' }],
  components: {
    parameters: {
      City: {
        name: 'city',
        in: 'query',
        required: true,
        schema: { $ref: '#/components/schemas/City' },
      },
    },
    schemas: {
      City: { type: 'string', example: 'Lisbon' },
      Tree: { type: 'object', properties: { child: { $ref: '#/components/schemas/Tree' } } },
      Route: {
        type: 'object',
        properties: {
          from: { $ref: '#/components/schemas/City' },
          tree: { $ref: '#/components/schemas/Tree' },
        },
      },
    },
  },
  paths: {
    '/weather': {
      parameters: [{ $ref: '#/components/parameters/City' }],
      get: {
        summary: 'Weather',
        description: 'Now',
        tags: ['weather', 'a,b', 'Zürich', '3', '4', '5', '6'],
      },
      delete: { summary: 'Forget' },
      trace: { summary: 'Trace' },
    },
    '/air/{zone}': {
      get: {
        operationId: 'air',
        parameters: [{ name: 'zone', in: 'path', schema: { type: 'string', default: 'a b' } }],
      },
    },
    '/by/{unknown}': { get: { parameters: [{ name: 'unknown', in: 'path', schema: {} }] } },
    '/route': {
      post: {
        requestBody: {
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Route' } } },
        },
      },
    },
  },
}

describe('an OpenAPI document', () => {
  it('becomes a listing that the service accepts', () => {
    const { listing } = listingFromOpenApi(document, options)
    expect(listingBody.safeParse(listing).error).toBeUndefined()
    const { name, description, payTo, endpoints } = listing
    expect({ name, description, payTo }).toEqual({
      name: 'Weather house',
      description: 'Skies by the city',
      payTo: options.payTo,
    })
    expect(endpoints).toEqual([
      {
        method: 'GET',
        url: 'https://api.example.com/v1/weather',
        title: 'Weather',
        description: 'Now',
        price: '10000',
        tags: ['weather', 'a b', '3', '4', '5'],
        example: { queryParams: { city: 'Lisbon' } },
        inputSchema: {
          type: 'object',
          properties: { city: { type: 'string', example: 'Lisbon' } },
          required: ['city'],
        },
      },
      expect.objectContaining({
        method: 'DELETE',
        title: 'Forget',
        example: { queryParams: { city: 'Lisbon' } },
      }),
      {
        method: 'GET',
        url: 'https://api.example.com/v1/air/a%20b',
        title: 'air',
        description: '',
        price: '10000',
        tags: [],
        example: { queryParams: {} },
        inputSchema: null,
      },
      {
        method: 'POST',
        url: 'https://api.example.com/v1/route',
        title: 'POST /route',
        description: '',
        price: '10000',
        tags: [],
        example: { body: { from: 'Lisbon' } },
        inputSchema: {
          type: 'object',
          properties: {
            from: { type: 'string', example: 'Lisbon' },
            tree: { type: 'object', properties: { child: {} } },
          },
        },
      },
    ])
  })

  it('is read with every method and body that a listing takes', () => {
    const content = (type: string, media: object) => ({
      requestBody: { content: { [type]: media } },
    })
    const parameters = [{ name: 'lang', in: 'query', example: 'pt' }]
    const form = { type: 'object', properties: { photo: { type: 'string', example: 'x' } } }
    const scan = {
      head: { parameters },
      put: { ...content('multipart/form-data', { schema: form }), parameters },
      patch: content('text/plain', { example: 'a b' }),
      post: content('application/xml', { example: '<a/>' }),
    }
    const { listing, skipped } = listingFromOpenApi(
      { ...document, paths: { '/scan': scan } },
      options,
    )
    expect(listing.endpoints).toMatchObject([
      {
        method: 'HEAD',
        example: { queryParams: { lang: 'pt' } },
        inputSchema: { type: 'object', properties: { lang: {} }, required: [] },
      },
      {
        method: 'PUT',
        example: { body: { photo: 'x' }, bodyType: 'form-data', queryParams: { lang: 'pt' } },
        inputSchema: form,
      },
      { method: 'PATCH', example: { body: 'a b', bodyType: 'text' }, inputSchema: null },
    ])
    expect(skipped).toEqual([
      { what: 'POST /scan', why: 'Its body is neither JSON nor form-data nor text.' },
    ])
  })

  it('names the reason for each operation that cannot be listed, or has no price', () => {
    const price = (operation: string) => (operation.startsWith('DELETE') ? undefined : '20000')
    const { listing, skipped } = listingFromOpenApi(document, { ...options, price })
    expect(listing.endpoints.map((it) => it.price)).toEqual(['20000', '20000', '20000'])
    expect(skipped).toEqual([
      { what: 'DELETE /weather', why: 'It has no price.' },
      { what: 'TRACE /weather', why: 'OPTIONS and TRACE cannot be listed.' },
      { what: 'GET /by/{unknown}', why: 'Its path has a parameter without an example.' },
    ])
  })

  it('has at most as many endpoints as a listing', () => {
    const paths = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`/${i}`, { get: {} }]))
    const { listing, skipped } = listingFromOpenApi({ ...document, paths }, options)
    expect(listing.endpoints).toHaveLength(100)
    expect(skipped).toEqual([{ what: 'GET /100', why: 'A listing has at most 100 endpoints.' }])
  })

  it.each([
    [undefined, '', undefined],
    [undefined, 'https://other.example/base/', 'https://other.example/base/weather'],
    [[{ url: '/v2' }], 'https://other.example/base/', 'https://other.example/v2/weather'],
    [[{ url: '/v2' }], '', undefined],
    [
      [{ url: 'https://{zone}.example.com', variables: { zone: { default: 'eu' } } }],
      '',
      'https://eu.example.com/weather',
    ],
    [[{ url: 'https://a.example/{zone}' }], '', 'https://a.example/{zone}/weather'],
    [
      [{ url: 'https://a.example/{zone}', variables: 'eu' }],
      '',
      'https://a.example/{zone}/weather',
    ],
    [
      [{ url: 'https://a.example/{zone}', variables: { zone: {} } }],
      '',
      'https://a.example/{zone}/weather',
    ],
    [[{}, { url: 'https://b.example' }], '', undefined],
  ])('with the servers %j and the server %j calls %s', (servers, server, url) => {
    const { listing, skipped } = listingFromOpenApi(
      { ...document, servers },
      { ...options, server },
    )
    expect(listing.endpoints[0]?.url).toBe(url)
    if (url === undefined) expect(skipped[0]?.why).toBe('The document names no server for it.')
  })

  it.each([
    [{}, 'it has no paths'],
    [[], 'it has no paths'],
    [{ swagger: '2.0', paths: {} }, 'Only OpenAPI 3'],
  ])('is refused if it is not OpenAPI 3: %j', (wrong, words) => {
    expect(() => listingFromOpenApi(wrong, options)).toThrow(OpenApiError)
    expect(() => listingFromOpenApi(wrong, options)).toThrow(words)
  })
})

it('leaves out an operation whose references fan out, without unfolding them all', () => {
  const part = (depth: number): object =>
    depth === 7 ? { type: 'string' } : { $ref: `#/components/schemas/L${depth + 1}` }
  const schemas = Object.fromEntries(
    Array.from({ length: 8 }, (_, depth) => {
      const names = Array.from({ length: 14 }, (_, i) => [`p${i}`, part(depth)])
      return [`L${depth}`, { type: 'object', properties: Object.fromEntries(names) }]
    }),
  )
  const schema = { $ref: '#/components/schemas/L0' }
  const post = { requestBody: { content: { 'application/json': { schema } } } }
  const paths = { '/wide': { post }, '/plain': { get: { summary: 'Plain' } } }
  const servers = [{ url: 'https://a.example' }]
  const document = { openapi: '3.1.0', info: {}, servers, components: { schemas }, paths }
  const started = performance.now()
  const { listing, skipped } = listingFromOpenApi(document, options)
  expect(performance.now() - started).toBeLessThan(500)
  expect(listing.endpoints.map(({ url }) => url)).toEqual(['https://a.example/plain'])
  expect(skipped).toEqual([
    { what: 'POST /wide', why: 'Its references unfold to more than 5000 values.' },
  ])
})
