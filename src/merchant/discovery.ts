import { isRouteTemplate } from '../x402/bazaar.js'
import { inlineSchema } from './inline-schema.js'
import { exampleOf } from './schema-example.js'
import type { RoutePrice } from './x402.js'

type JsonObject = Record<string, unknown>

/** What the plugin knows of a route, for one of its methods. */
export interface PricedRoute {
  method: string
  /** As declared, with prefixes: `/weather/:city`. */
  url: string
  /** The route's own schemas, as Fastify was given them. */
  schema: { querystring?: unknown; body?: unknown; params?: unknown } | undefined
  /** Those of `addSchema`, by `$id`. */
  sharedSchemas: Record<string, unknown>
}

/**
 * The longest JSON of the extension. A buyer sends it back inside `PAYMENT-SIGNATURE`, which common proxies take up
 * to 8 KiB long.
 */
export const MAX_DECLARATION_BYTES = 4_096

const bodyMethods = ['POST', 'PUT', 'PATCH']

/**
 * The bazaar extension of a route: how to call it, as a JSON Schema with an example that fits it, from which catalogs
 * make their entries. Falls back to less when it would be too long, and to `undefined` when even the least is.
 */
export function declareDiscovery(route: PricedRoute, price: RoutePrice): JsonObject | undefined {
  const { outputExample: _, ...withoutOutput } = price
  const attempts = [
    () => declare(route, price),
    () => declare(route, withoutOutput),
    () => declare({ ...route, schema: undefined }, { price: price.price }),
  ]
  return attempts.map((attempt) => attempt()).find(isShort)
}

function isShort(declaration: JsonObject): boolean {
  return Buffer.byteLength(JSON.stringify(declaration)) <= MAX_DECLARATION_BYTES
}

function declare(route: PricedRoute, price: RoutePrice): JsonObject {
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

interface Part {
  info: JsonObject
  schema: JsonObject
}

/** A schema is only told with an example that fits it: catalogs check the one against the other. */
function describeParameters(route: PricedRoute, price: RoutePrice, takesBody: boolean): Part {
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

/** The catalogs' templates know plain `:name` only, as long as it is a whole step of the path. */
function describePath(route: PricedRoute): Part & { template?: string } {
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
