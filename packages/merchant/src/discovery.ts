import { isRouteTemplate } from '@arcus/protocol/x402/bazaar'
import type { RoutePrice } from './options.js'

type SchemaObject = Record<string, unknown>

/** A route as the plugin knows it, for one of its methods. */
export interface PricedRoute {
  method: string
  /** As declared, with prefixes: `/weather/:city`. */
  url: string
  /** The route's own schemas, as Fastify was given them. */
  schema: { querystring?: unknown; body?: unknown; params?: unknown } | undefined
  /** Schemas of `addSchema`, by `$id`. */
  sharedSchemas: Record<string, unknown>
  /** Conditions under which Fastify chooses the route, such as a version. */
  constraints?: object | undefined
}

/**
 * Size limit of the extension as JSON. A buyer sends it back inside `PAYMENT-SIGNATURE`, and common proxies accept
 * headers up to 8 KiB.
 */
const MAX_DECLARATION_BYTES = 4_096

const bodyMethods = ['POST', 'PUT', 'PATCH']

/**
 * Returns the bazaar extension of a route: a JSON Schema of its parameters with an example that fits it. Catalogs make
 * their entries from it. A declaration that is too long is cut down, first by the output example, then by the schema;
 * `undefined` when even the rest is too long.
 */
export function declareDiscovery(route: PricedRoute, price: RoutePrice): SchemaObject | undefined {
  const { outputExample: _, ...withoutOutput } = price
  const attempts = [
    () => declare(route, price),
    () => declare(route, withoutOutput),
    () => declare({ ...route, schema: undefined }, {}),
  ]
  return attempts.map((attempt) => attempt()).find(isShort)
}

function isShort(declaration: SchemaObject): boolean {
  return Buffer.byteLength(JSON.stringify(declaration)) <= MAX_DECLARATION_BYTES
}

function declare(route: PricedRoute, price: RoutePrice): SchemaObject {
  const { method } = route
  const takesBody = bodyMethods.includes(method)
  const parameters = describeParameters(route, price, takesBody)
  const path = describePath(route)
  const output = price.outputExample
  return {
    info: {
      input: {
        type: 'http',
        method,
        ...(takesBody ? { bodyType: 'json' } : {}),
        ...parameters.info,
        ...path.info,
      },
      ...(output === undefined ? {} : { output: { type: 'json', example: output } }),
    },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        input: {
          type: 'object',
          properties: {
            type: { type: 'string', const: 'http' },
            method: { type: 'string', enum: [method] },
            ...(takesBody ? { bodyType: { type: 'string', enum: ['json'] } } : {}),
            ...parameters.schema,
            ...path.schema,
          },
          required: ['type', 'method', ...(takesBody ? ['bodyType', 'body'] : [])],
          additionalProperties: false,
        },
        ...(output === undefined ? {} : { output: { type: 'object' } }),
      },
      required: ['input'],
    },
    ...(path.template === undefined ? {} : { routeTemplate: path.template }),
  }
}

interface DeclaredPart {
  info: SchemaObject
  schema: SchemaObject
}

/** Leaves a schema out unless there is an example that fits it: catalogs check the one against the other. */
function describeParameters(
  route: PricedRoute,
  price: RoutePrice,
  takesBody: boolean,
): DeclaredPart {
  const name = takesBody ? 'body' : 'queryParams'
  const own = takesBody ? route.schema?.body : route.schema?.querystring
  const schema = inlineSchema(price.inputSchema ?? own, route.sharedSchemas)
  const example = price.example ?? exampleOf(schema)
  if (schema !== undefined && example !== undefined) {
    return { info: { [name]: example }, schema: { [name]: { type: 'object', ...schema } } }
  }
  if (example !== undefined || takesBody) {
    return { info: { [name]: example ?? {} }, schema: { [name]: { type: 'object' } } }
  }
  return { info: {}, schema: {} }
}

/** Declares plain `:name` parameters that fill a whole segment of the path. Templates of catalogs know no others. */
function describePath(route: PricedRoute): DeclaredPart & { template?: string } {
  const names = [...route.url.matchAll(/\/:([A-Za-z_]\w*)(?=\/|$)/g)].map((match) => match[1])
  if (names.length === 0 || !isRouteTemplate(route.url)) return { info: {}, schema: {} }
  const schema = inlineSchema(route.schema?.params, route.sharedSchemas)
  const example = exampleOf(schema)
  return {
    template: route.url,
    info: { pathParams: example ?? Object.fromEntries(names.map((name) => [name, name])) },
    schema: {
      pathParams: example === undefined ? { type: 'object' } : { type: 'object', ...schema },
    },
  }
}

/** A schema nested deeper than this refers to itself or does not describe parameters. */
const MAX_DEPTH = 16
/** Members below these are values, not schemas. */
const dataKeywords = ['const', 'enum', 'default', 'example', 'examples']
/** Members below these have names that the merchant chose. */
const mapKeywords = ['properties', 'patternProperties', 'dependentSchemas']

/**
 * Returns a route's schema as one plain JSON Schema without references: catalogs follow no references out of a payment.
 * `shared` holds the schemas of `addSchema`, by `$id`. Returns `undefined` for an object of another validator, and for a
 * schema that refers to itself or to something that does not exist.
 */
function inlineSchema(schema: unknown, shared: Record<string, unknown>): SchemaObject | undefined {
  const root = jsonOf(schema)
  if (!isPlainObject(root)) return undefined
  try {
    return inline(root, { root, shared }, 0) as SchemaObject
  } catch {
    return undefined
  }
}

/** Unwraps a fluent schema, whose builder keeps the JSON inside. */
function jsonOf(schema: unknown): unknown {
  const { isFluentSchema } = (schema ?? {}) as { isFluentSchema?: boolean }
  return isFluentSchema === true ? (schema as object).valueOf() : schema
}

interface Scope {
  root: SchemaObject
  shared: Record<string, unknown>
}

function inline(value: unknown, scope: Scope, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new Error('too deep')
  if (Array.isArray(value)) return value.map((item) => inline(item, scope, depth + 1))
  if (typeof value !== 'object' || value === null) return value
  if (!isPlainObject(value)) throw new Error('not JSON')
  if (typeof value.$ref === 'string') {
    const { target, scope: inner } = resolve(value.$ref, scope)
    return inline(target, inner, depth + 1)
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !key.startsWith('$') && key !== 'definitions')
      .map(([key, item]) => [key, inlineMember(key, item, scope, depth + 1)]),
  )
}

function inlineMember(key: string, item: unknown, scope: Scope, depth: number): unknown {
  if (dataKeywords.includes(key)) return item
  if (!mapKeywords.includes(key) || !isPlainObject(item)) return inline(item, scope, depth)
  return Object.fromEntries(
    Object.entries(item).map(([name, schema]) => [name, inline(schema, scope, depth + 1)]),
  )
}

function resolve(reference: string, scope: Scope): { target: unknown; scope: Scope } {
  const [id = '', pointer = ''] = reference.split('#')
  const root = id === '' ? scope.root : jsonOf(scope.shared[id])
  if (!isPlainObject(root)) throw new Error(`no schema ${id}`)
  const keys = pointer.split('/').slice(1)
  const target = keys.reduce<unknown>((from, key) => {
    const name = decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')
    return isPlainObject(from) && Object.hasOwn(from, name) ? from[name] : undefined
  }, root)
  if (target === undefined) throw new Error(`nothing at ${reference}`)
  return { target, scope: { ...scope, root } }
}

/** Returns whether a value is a plain JSON object. Instances of classes are schemas of other validators. */
function isPlainObject(value: unknown): value is SchemaObject {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const textByFormat: Record<string, string> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  time: '12:00:00Z',
  email: 'name@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
}

/**
 * Returns a value that the schema describes, from its own examples and defaults where it has them. Returns `undefined`
 * when the schema asks for something that cannot be made up, such as a pattern. Optional members appear only with an
 * example of their own.
 */
function exampleOf(schema: unknown): unknown {
  if (!isPlainObject(schema)) return undefined
  const stated = statedExample(schema)
  if (stated !== undefined) return stated
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'object' || isPlainObject(schema.properties)) return objectExample(schema)
  if (type === 'array') return arrayExample(schema)
  if (type === 'string') return textExample(schema)
  if (type === 'integer' || type === 'number') return numberExample(schema)
  if (type === 'boolean') return true
  return undefined
}

function statedExample(schema: Record<string, unknown>): unknown {
  const [first] = [schema.examples, schema.enum].filter(Array.isArray).flat()
  return schema.const ?? schema.example ?? first ?? schema.default
}

function objectExample(schema: Record<string, unknown>): unknown {
  const properties = isPlainObject(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? schema.required : []
  const example: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(properties)) {
    const isRequired = required.includes(name)
    const value = isRequired
      ? exampleOf(property)
      : statedExample(isPlainObject(property) ? property : {})
    if (value !== undefined) example[name] = value
    else if (isRequired) return undefined
  }
  return required.every((name) => Object.hasOwn(example, String(name))) ? example : undefined
}

function arrayExample(schema: Record<string, unknown>): unknown {
  const count = typeof schema.minItems === 'number' ? schema.minItems : 0
  if (count === 0) return []
  const item = exampleOf(schema.items)
  return count === 1 && item !== undefined ? [item] : undefined
}

function textExample({ format, pattern, minLength, maxLength }: Record<string, unknown>): unknown {
  if (pattern !== undefined) return undefined
  if (format !== undefined) return textByFormat[String(format)]
  const text = 'text'.padEnd(typeof minLength === 'number' ? minLength : 0, '.')
  return typeof maxLength === 'number' ? text.slice(0, maxLength) : text
}

function numberExample(schema: Record<string, unknown>): unknown {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  if (typeof multipleOf === 'number') return undefined
  const least = typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : minimum
  const most = typeof exclusiveMaximum === 'number' ? exclusiveMaximum - 1 : maximum
  if (typeof least === 'number') return least
  return typeof most === 'number' ? Math.min(1, most) : 1
}
