import { describe, expect, it } from 'vitest'
import {
  OpenApiError,
  parseFile,
  readOpenApi,
} from '../../../src/dashboard/pages/console/editor/read-openapi.js'

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

describe('an OpenAPI file', () => {
  it('becomes the operations of the form', () => {
    const { name, description, operations } = readOpenApi(document, '')
    expect({ name, description }).toEqual({
      name: 'Weather house',
      description: 'Skies by the city',
    })
    expect(operations).toEqual([
      {
        method: 'GET',
        url: 'https://api.example.com/v1/weather',
        title: 'Weather',
        description: 'Now',
        tags: ['weather', 'a b', '3', '4', '5'],
        example: { city: 'Lisbon' },
        beside: {},
        inputSchema: {
          type: 'object',
          properties: { city: { type: 'string', example: 'Lisbon' } },
          required: ['city'],
        },
      },
      expect.objectContaining({ method: 'DELETE', title: 'Forget', example: { city: 'Lisbon' } }),
      {
        method: 'GET',
        url: 'https://api.example.com/v1/air/a%20b',
        title: 'air',
        description: '',
        tags: [],
        example: {},
        beside: {},
        inputSchema: null,
      },
      {
        method: 'POST',
        url: 'https://api.example.com/v1/route',
        title: 'POST /route',
        description: '',
        tags: [],
        example: { from: 'Lisbon' },
        beside: {},
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
    const { operations, skipped } = readOpenApi({ ...document, paths: { '/scan': scan } }, '')
    expect(operations.map(({ url: _, title: _t, description: _d, tags: _g, ...it }) => it)).toEqual(
      [
        {
          method: 'HEAD',
          example: { lang: 'pt' },
          beside: {},
          inputSchema: { type: 'object', properties: { lang: {} }, required: [] },
        },
        {
          method: 'PUT',
          example: { photo: 'x' },
          beside: { bodyType: 'form-data', queryParams: { lang: 'pt' } },
          inputSchema: form,
        },
        { method: 'PATCH', example: 'a b', beside: { bodyType: 'text' }, inputSchema: null },
      ],
    )
    expect(skipped).toEqual([
      { what: 'POST /scan', why: 'Its body is neither JSON nor form-data nor text.' },
    ])
  })

  it('names the reason for each operation that cannot be listed', () => {
    expect(readOpenApi(document, '').skipped).toEqual([
      { what: 'TRACE /weather', why: 'OPTIONS and TRACE cannot be listed.' },
      { what: 'GET /by/{unknown}', why: 'Its path has a parameter without an example.' },
    ])
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
  ])('with the servers %j and the base %j calls %s', (servers, base, url) => {
    const { operations, skipped } = readOpenApi({ ...document, servers }, base)
    expect(operations[0]?.url).toBe(url)
    if (url === undefined) expect(skipped[0]?.why).toBe('The file names no server for it.')
  })

  it.each([
    [{}, 'it has no paths'],
    [[], 'it has no paths'],
    [{ swagger: '2.0', paths: {} }, 'Only OpenAPI 3'],
  ])('is refused if it is not OpenAPI 3: %j', (wrong, words) => {
    expect(() => readOpenApi(wrong, '')).toThrow(OpenApiError)
    expect(() => readOpenApi(wrong, '')).toThrow(words)
  })

  it('is JSON or YAML, at most 4 MB', async () => {
    expect(await parseFile(new Blob(['{"openapi":"3.1.0"}']))).toEqual({ openapi: '3.1.0' })
    expect(await parseFile(new Blob(['openapi: 3.1.0\npaths: {}']))).toEqual({
      openapi: '3.1.0',
      paths: {},
    })
    await expect(parseFile(new Blob(['{nope']))).rejects.toThrow('not JSON')
    await expect(parseFile(new Blob(['a: b: c']))).rejects.toThrow('neither JSON nor YAML')
    await expect(parseFile(new Blob([' '.repeat(4_000_001)]))).rejects.toThrow('4 MB')
  })
})
