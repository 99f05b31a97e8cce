import type { Endpoint, Merchant } from '../../store/listings.js'
import { livePriceOf } from '../../store/live-price.js'
import { formatAtomic } from '../../x402/amounts.js'
import { isObject } from '../../x402/json-walk.js'
import { parseUrl } from '../../x402/parse-url.js'
import { propertiesOf } from './published.js'
import { rebaseSchema } from './rebase-schema.js'

const contentTypes: Readonly<Record<string, string>> = {
  json: 'application/json',
  text: 'text/plain',
  html: 'text/html',
  csv: 'text/csv',
  xml: 'application/xml',
}
const MEDIA_TYPE = /^[a-z0-9][a-z0-9.+-]*\/[a-z0-9*][a-z0-9.+-]*$/

/** What calling an endpoint is like, as an Operation of OpenAPI 3.1. `base` is where its input schema stands. */
export function toOperation(
  endpoint: Endpoint,
  merchant: Merchant,
  operationId: string,
  base: string,
): Record<string, unknown> {
  const { title, description, tags, method } = endpoint
  return {
    operationId,
    summary: title,
    ...(description === '' ? {} : { description }),
    ...(tags.length === 0 ? {} : { tags }),
    parameters: [
      ...fixedParameters(endpoint),
      ...(method === 'GET' ? queryParameters(endpoint, base) : []),
    ],
    ...(method === 'POST' ? { requestBody: requestBody(endpoint, base) } : {}),
    responses: {
      '200': success(endpoint),
      '402': { $ref: '#/components/responses/PaymentRequired' },
    },
    'x-payment-info': paymentInfo(endpoint, merchant),
  }
}

/**
 * Whether the input schema must stand in the document as a whole: as a body it does; the parameters of a GET stand
 * for themselves unless they refer to one another.
 */
export function needsComponent({ method, inputSchema }: Endpoint): boolean {
  if (inputSchema === null) return false
  return method === 'POST' || /"\$(ref|dynamicRef|recursiveRef)":/.test(JSON.stringify(inputSchema))
}

/** The parameters of a GET, each with its part of the schema and the example. */
function queryParameters({ inputSchema, example, url }: Endpoint, base: string) {
  const values = 'queryParams' in example ? example.queryParams : {}
  const schemas = propertiesOf(inputSchema)
  const required = Array.isArray(inputSchema?.required) ? inputSchema.required : []
  const fixed = parseUrl(url)?.searchParams ?? new URLSearchParams()
  const names = [...new Set([...Object.keys(schemas), ...Object.keys(values)])]
  return names
    .filter((name) => name !== '' && !fixed.has(name))
    .map((name) => {
      const schema = Object.hasOwn(schemas, name) ? schemas[name] : typeOf(values[name])
      const about = isObject(schema) ? schema.description : undefined
      return {
        name,
        in: 'query',
        required: required.includes(name),
        ...(typeof about === 'string' ? { description: about } : {}),
        schema: rebaseSchema(schema, base),
        ...(Object.hasOwn(values, name) ? { example: values[name] } : {}),
      }
    })
}

/** A path of OpenAPI has no query, so what stands in the URL itself is a parameter with one value. */
function fixedParameters({ url }: Endpoint) {
  const query = parseUrl(url)?.searchParams ?? new URLSearchParams()
  return [...new Set(query.keys())].map((name) => {
    const values = query.getAll(name)
    const schema =
      values.length === 1 ? { type: 'string', const: values[0] } : { type: 'array', const: values }
    return { name, in: 'query', required: true, schema }
  })
}

function requestBody({ inputSchema, example }: Endpoint, base: string) {
  const body = 'body' in example ? example.body : undefined
  const schema = inputSchema === null ? typeOf(body) : { $ref: base }
  return {
    required: true,
    content: {
      'application/json': { schema, ...(body === undefined ? {} : { example: body }) },
    },
  }
}

function success({ output, extras }: Endpoint) {
  const type = output?.type ?? ''
  const said = typeof extras.mimeType === 'string' ? extras.mimeType : type
  const contentType = MEDIA_TYPE.test(said) ? said : contentTypes[type]
  const example = output !== null && 'example' in output ? { example: output.example } : {}
  return {
    description: 'What was paid for.',
    headers: {
      'PAYMENT-RESPONSE': {
        description: 'Base64 of the settlement as JSON, with the hash of its transaction.',
        schema: { type: 'string' },
      },
    },
    content: { [contentType ?? '*/*']: example },
  }
}

/** The price, live before listed, in the form other directories read, and the requirements as the endpoint quoted them. */
function paymentInfo(endpoint: Endpoint, merchant: Merchant) {
  const { pricing, price, accepts } = endpoint
  const amount = formatAtomic(livePriceOf(endpoint, merchant) ?? price)
  return {
    price:
      pricing === 'fixed'
        ? { mode: 'fixed', currency: 'USD', amount }
        : { mode: 'dynamic', currency: 'USD', min: '0', max: amount },
    protocols: [{ x402: { x402Version: 2, accepts } }],
  }
}

function typeOf(value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return {}
  if (Array.isArray(value)) return { type: 'array' }
  return { type: typeof value }
}
