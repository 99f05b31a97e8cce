import { parseBazaar } from '@arcus/protocol/x402/bazaar'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { FastifyInstance } from 'fastify'
import { describe, expect, it } from 'vitest'
import { aPayload, aShop, buy, readRequired } from './a-shop.js'

const priced = { config: { x402: '$0.01' } } as const
const ajv = new Ajv2020({ strict: false })

/** Returns the declaration in the 402 of a route, as a catalog reads it from a payment. */
async function declared(
  routes: (app: FastifyInstance) => unknown,
  method: 'GET' | 'POST',
  url: string,
) {
  const { app } = await aShop(routes)
  const required = readRequired(await app.inject({ method, url }))
  const parsed = parseBazaar(aPayload(required))
  if (parsed === undefined) return undefined
  if (!parsed.ok) throw new Error(parsed.rejectedReason)
  const { info, schema } = parsed.resource
  if (!ajv.validate(schema, info)) throw new Error(ajv.errorsText())
  return parsed.resource
}

const inputOf = (resource: { info: Record<string, unknown> } | undefined) =>
  resource?.info.input as Record<string, unknown>
const propertiesOf = (schema: unknown) =>
  (schema as { properties: { input: { properties: Record<string, unknown> } } }).properties.input
    .properties

describe('the declaration of a priced route', () => {
  it('describes the schema of its query', async () => {
    const querystring = {
      type: 'object',
      properties: {
        city: { type: 'string', examples: ['Lisbon'] },
        days: { type: 'integer', minimum: 1, maximum: 7 },
      },
      required: ['city'],
      additionalProperties: false,
    }
    const resource = await declared(
      (it) => it.get('/weather', { ...priced, schema: { querystring } }, () => 'goods'),
      'GET',
      '/weather?city=Rome',
    )
    expect(resource).toMatchObject({
      url: 'http://localhost/weather',
      method: 'GET',
      info: { input: { queryParams: { city: 'Lisbon' } } },
    })
    expect(propertiesOf(resource?.schema).queryParams).toEqual(querystring)
  })

  it('describes the schema of its body', async () => {
    const body = {
      type: 'object',
      properties: { text: { type: 'string', minLength: 6 }, mode: { enum: ['short', 'long'] } },
      required: ['text', 'mode'],
    }
    const resource = await declared(
      (it) => it.post('/sum', { ...priced, schema: { body } }, () => 'goods'),
      'POST',
      '/sum',
    )
    expect(resource).toMatchObject({
      method: 'POST',
      info: { input: { body: { text: 'text..', mode: 'short' } } },
    })
    expect(propertiesOf(resource?.schema).body).toEqual(body)
  })

  it('includes shared schemas', async () => {
    const resource = await declared(
      (it) => {
        it.addSchema({
          $id: 'place',
          type: 'object',
          properties: { city: { $ref: '#/definitions/name' }, $top: { type: 'integer' } },
          required: ['city'],
          definitions: { name: { type: 'string', default: 'Lisbon' } },
        })
        it.get(
          '/weather',
          { ...priced, schema: { querystring: { $ref: 'place#' } } },
          () => 'goods',
        )
      },
      'GET',
      '/weather',
    )
    expect(inputOf(resource).queryParams).toEqual({ city: 'Lisbon' })
    expect(propertiesOf(resource?.schema).queryParams).toEqual({
      type: 'object',
      properties: { city: { type: 'string', default: 'Lisbon' }, $top: { type: 'integer' } },
      required: ['city'],
    })
  })

  it('has a template for its path', async () => {
    const params = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const resource = await declared(
      (it) => it.get('/weather/:city/now', { ...priced, schema: { params } }, () => 'goods'),
      'GET',
      '/weather/Rome/now',
    )
    expect(resource).toMatchObject({
      url: 'http://localhost/weather/:city/now',
      routeTemplate: '/weather/:city/now',
      info: { input: { pathParams: { city: 'text' } } },
    })
  })

  it('has no template where the path has more than plain names', async () => {
    const resource = await declared(
      (it) => it.get('/weather/:id(^\\d+$)', priced, () => 'goods'),
      'GET',
      '/weather/7',
    )
    expect(resource?.routeTemplate).toBeUndefined()
  })

  it('uses the schema of the price where the route has no JSON Schema', async () => {
    const config = {
      x402: {
        price: '$0.01',
        description: 'What the weather is.',
        example: { city: 'Lisbon' },
        inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
        outputExample: { degrees: 21 },
      },
    } as const
    class OtherSchema {}
    const resource = await declared(
      (it) =>
        it.get(
          '/weather',
          {
            config,
            schema: { querystring: new OtherSchema() },
            validatorCompiler: () => () => true,
          },
          () => 'goods',
        ),
      'GET',
      '/weather',
    )
    expect(resource).toMatchObject({
      description: 'What the weather is.',
      info: {
        input: { queryParams: { city: 'Lisbon' } },
        output: { type: 'json', example: { degrees: 21 } },
      },
    })
  })

  it.each([
    ['a pattern', { type: 'string', pattern: '^[A-Z]{3}$' }],
    ['an unknown format', { type: 'string', format: 'own' }],
    ['a multiple', { type: 'number', multipleOf: 0.3 }],
    ['nothing known', {}],
  ])('leaves the schema out when no example of %s can be made up', async (_, property) => {
    const querystring = { type: 'object', properties: { code: property }, required: ['code'] }
    const resource = await declared(
      (it) =>
        it.get(
          '/quote',
          { ...priced, schema: { querystring }, validatorCompiler: () => () => true },
          () => 'goods',
        ),
      'GET',
      '/quote',
    )
    expect(inputOf(resource).queryParams).toBeUndefined()
    expect(propertiesOf(resource?.schema).queryParams).toBeUndefined()
  })

  it('is missing when the route is not discoverable', async () => {
    const config = { x402: { price: '$0.01', discoverable: false } } as const
    const { app } = await aShop((it) => it.get('/quote', { config }, () => 'goods'))
    expect(readRequired(await app.inject('/quote')).extensions).toBeUndefined()
    expect((await buy(app, { url: '/quote' })).statusCode).toBe(200)
  })
})

describe('a declaration that is too long', () => {
  const long = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`member${index}`, { type: 'string' }]),
    )

  it('leaves out the output example, then the schema', async () => {
    const outputExample = 'x'.repeat(4_000)
    const { app } = await aShop((it) => {
      const config = { x402: { price: '$0.01', outputExample } } as const
      const querystring = { type: 'object', properties: { city: { type: 'string' } } }
      it.get('/output', { config, schema: { querystring } }, () => 'goods')
      const wide = { type: 'object', properties: long(300) }
      it.get('/wide', { ...priced, schema: { querystring: wide } }, () => 'goods')
    })
    const inputs = await Promise.all(
      ['/output', '/wide'].map(async (url) => {
        const { extensions = {} } = readRequired(await app.inject(url))
        const { schema, info } = extensions.bazaar as { schema: unknown; info: object }
        expect(info).not.toHaveProperty('output')
        return Object.keys(propertiesOf(schema))
      }),
    )
    expect(inputs).toEqual([
      ['type', 'method', 'queryParams'],
      ['type', 'method'],
    ])
  })

  it('keeps the header of the buyer below the limit of proxies', async () => {
    const { app } = await aShop((it) => {
      const querystring = { type: 'object', properties: long(100) }
      const config = { x402: { price: '$0.01', description: 'x'.repeat(300) } } as const
      it.get('/quote', { config, schema: { querystring } }, () => 'goods')
    })
    const payload = aPayload(readRequired(await app.inject('/quote')))
    const signed = {
      ...payload,
      payload: { ...payload.payload, signature: `0x${'1'.repeat(130)}` },
    }
    expect(Buffer.from(JSON.stringify(signed)).toString('base64').length).toBeLessThan(8_192)
  })
})

it('a payment with another extension than the declared one is answered 402', async () => {
  const { app } = await aShop((it) => it.get('/quote', priced, () => 'goods'))
  const payload = aPayload(readRequired(await app.inject('/quote')))
  const header = (extensions: object) =>
    Buffer.from(JSON.stringify({ ...payload, extensions })).toString('base64')
  const ask = (extensions: object) =>
    app.inject({ url: '/quote', headers: { 'payment-signature': header(extensions) } })
  const other = await ask({ bazaar: { info: { input: { type: 'http', method: 'POST' } } } })
  expect(readRequired(other).error).toBe('extension_echo_mismatch')
  expect((await ask({})).statusCode).toBe(200)
})
