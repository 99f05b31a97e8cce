import { findOutsideReference } from './json-schema.js'
import { isObject, type JsonLimits, memberOf, sizeProblem } from './json-walk.js'
import { quote } from './parse-request.js'
import { parseUrl } from './parse-url.js'
import { isRouteTemplate } from './route-template.js'
import { readServiceMetadata, type ServiceMetadata } from './service-metadata.js'

/** A resource as a payment's bazaar extension describes it: bounded, its words still a stranger's. */
export interface BazaarResource extends ServiceMetadata {
  /** Origin and path, or valid route template, of the paid URL; neither query nor fragment. */
  url: string
  method: 'GET' | 'POST'
  routeTemplate?: string
  description?: string
  /** `queryParams` of a GET, body of a POST; `undefined` when the extension has none. */
  example: unknown
  info: Record<string, unknown>
  /** JSON Schema of `info`; refers to nothing outside itself, and is not yet compiled. */
  schema: Record<string, unknown>
}

export type ParsedBazaar =
  | { ok: true; resource: BazaarResource }
  | { ok: false; rejectedReason: string }

/** Of `info`, `schema` and `routeTemplate` together: a description, not a document. */
export const bazaarLimits: JsonLimits = { maxBytes: 32_768, maxDepth: 24, maxNodes: 2_000 }
const MAX_URL_CHARS = 2_048
const MAX_DESCRIPTION_CHARS = 4_096

const queryMethods = ['GET', 'HEAD', 'DELETE']
const bodyMethods = ['POST', 'PUT', 'PATCH']
const bodyTypes = ['json', 'form-data', 'text']

/** The extension of a payload as it came; `undefined` when there is none. */
export function bazaarOf(payload: unknown): unknown {
  return memberOf(memberOf(payload, 'extensions'), 'bazaar') ?? undefined
}

/**
 * Reads the bazaar extension of a v2 payment payload; `undefined` when it carries none. Whatever is wrong with it is
 * a reason for the merchant, never for the payment.
 */
export function parseBazaar(payload: unknown): ParsedBazaar | undefined {
  const bazaar = bazaarOf(payload)
  if (bazaar === undefined) return undefined
  if (memberOf(payload, 'x402Version') !== 2) return rejected('only payloads of x402 v2 are listed')
  const problem = isObject(bazaar) ? sizeProblem(bazaar, bazaarLimits) : 'must be an object'
  if (problem !== undefined) return rejected(`extensions.bazaar ${problem}`)
  const info = memberOf(bazaar, 'info')
  const schema = memberOf(bazaar, 'schema')
  if (!isObject(info)) return rejected('info must be an object')
  if (!isObject(schema)) return rejected('schema must be an object')
  const outside = findOutsideReference(schema)
  if (outside !== undefined) return rejected(`schema must not refer outside itself by ${outside}`)
  const input = readInput(memberOf(info, 'input'))
  if ('rejectedReason' in input) return rejected(input.rejectedReason)
  return readResource(payload, { bazaar, info, schema, input })
}

interface Input {
  method: 'GET' | 'POST'
  example: unknown
}

function readResource(
  payload: unknown,
  parts: {
    bazaar: unknown
    info: Record<string, unknown>
    schema: Record<string, unknown>
    input: Input
  },
): ParsedBazaar {
  const resource = memberOf(payload, 'resource')
  const template = memberOf(parts.bazaar, 'routeTemplate')
  const routeTemplate = isRouteTemplate(template) ? template : undefined
  const url = canonicalUrl(memberOf(resource, 'url'), routeTemplate)
  if (url === undefined) {
    return rejected(
      `resource.url must be an http or https URL of at most ${MAX_URL_CHARS} characters`,
    )
  }
  const description = memberOf(resource, 'description')
  return {
    ok: true,
    resource: {
      ...readServiceMetadata(resource),
      url,
      ...parts.input,
      ...(routeTemplate === undefined ? {} : { routeTemplate }),
      ...(typeof description === 'string'
        ? { description: description.slice(0, MAX_DESCRIPTION_CHARS) }
        : {}),
      info: parts.info,
      schema: parts.schema,
    },
  }
}

/** Under which URL a resource is kept: of all calls of one route the same; `undefined` when there can be none. */
export function canonicalUrl(url: unknown, routeTemplate?: string): string | undefined {
  if (typeof url !== 'string' || url.length > MAX_URL_CHARS) return undefined
  const parsed = parseUrl(url)
  if (parsed === undefined) return undefined
  const { protocol, origin, pathname } = parsed
  if (protocol !== 'https:' && protocol !== 'http:') return undefined
  // Parsed again, so that it reads as an owner's spelling of the same URL would.
  const { href } = new URL(origin + (routeTemplate ?? pathname))
  return href.length > MAX_URL_CHARS ? undefined : href
}

function readInput(input: unknown): Input | { rejectedReason: string } {
  const type = memberOf(input, 'type')
  if (type === 'mcp') return rejected('MCP tools are not listed here yet, HTTP endpoints are')
  if (type !== 'http') return rejected(`info.input.type must be "http", got ${quote(type)}`)
  const method = memberOf(input, 'method')
  const bodyType = memberOf(input, 'bodyType')
  const takesBody = bodyMethods.includes(method as string)
  if (!takesBody && !queryMethods.includes(method as string)) {
    const known = [...queryMethods, ...bodyMethods].join(', ')
    return rejected(`info.input.method must be one of ${known}, got ${quote(method)}`)
  }
  if (bodyType !== undefined && !(takesBody && bodyTypes.includes(bodyType as string))) {
    const message = takesBody
      ? `must be one of ${bodyTypes.join(', ')}`
      : 'is for methods with a body'
    return rejected(`info.input.bodyType ${message}, got ${quote(bodyType)}`)
  }
  if (method !== 'GET' && method !== 'POST') {
    return rejected(`only GET and POST are listed here, got ${quote(method)}`)
  }
  if (bodyType !== undefined && bodyType !== 'json') {
    return rejected(`only JSON bodies are listed here, got ${quote(bodyType)}`)
  }
  const example = memberOf(input, takesBody ? 'body' : 'queryParams')
  if (method === 'GET' && example !== undefined && !isObject(example)) {
    return rejected('info.input.queryParams must be an object')
  }
  return { method, example }
}

function rejected(rejectedReason: string): { ok: false; rejectedReason: string } {
  return { ok: false, rejectedReason: `${rejectedReason}.` }
}
