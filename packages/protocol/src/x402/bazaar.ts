import {
  bodyTypes,
  type CallMethod,
  callMethods,
  fillPath,
  isBodyMethod,
  isOneOf,
  mcpTransports,
  pathParamsOf,
  TOOL_NAME,
} from './calls.js'
import { isObject, type JsonLimits, memberOf, quote, sizeProblem } from './json.js'
import { findOutsideReference } from './json-schema.js'
import { parseUrl } from './parse-url.js'

/** A resource as a payment's bazaar extension describes it: bounded in size, its texts written by a stranger. */
export interface BazaarResource extends ServiceMetadata {
  /** Origin and path, or valid route template, of the paid URL; without query and fragment. */
  url: string
  method: CallMethod
  /** With `MCP`: a resource is one tool of the server at the URL. */
  toolName?: string
  transport?: (typeof mcpTransports)[number]
  routeTemplate?: string
  /** The values of the template's parameters in the paid URL. */
  pathParams?: Record<string, string>
  description?: string
  /** Members that break a rule and are left out. */
  dropped?: string[]
  info: Record<string, unknown>
  /** JSON Schema of `info`. It refers to nothing outside itself and is not compiled yet. */
  schema: Record<string, unknown>
}

type ParsedBazaar = { ok: true; resource: BazaarResource } | { ok: false; rejectedReason: string }

/** The limits of `info`, `schema` and `routeTemplate` together. */
export const bazaarLimits: JsonLimits = { maxBytes: 32_768, maxDepth: 24, maxNodes: 2_000 }
const MAX_URL_CHARS = 2_048
const MAX_DESCRIPTION_CHARS = 4_096

/** Returns the extension of a payload as it came; `undefined` when there is none. */
function bazaarOf(payload: unknown): unknown {
  return memberOf(memberOf(payload, 'extensions'), 'bazaar') ?? undefined
}

/** Reads the name of the tool that a payload is for; `undefined` when it names none that a catalog could hold. */
export function toolNameOf(payload: unknown): string | undefined {
  const input = memberOf(memberOf(bazaarOf(payload), 'info'), 'input')
  const name = memberOf(input, 'type') === 'mcp' ? memberOf(input, 'toolName') : undefined
  return isToolName(name) ? name : undefined
}

/**
 * Reads the bazaar extension of a v2 payment payload; `undefined` when it carries none. A fault in it is reported to the
 * merchant and never makes the payment fail.
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

type BazaarInput = Pick<BazaarResource, 'method' | 'toolName' | 'transport'>

function readResource(
  payload: unknown,
  parts: {
    bazaar: unknown
    info: Record<string, unknown>
    schema: Record<string, unknown>
    input: BazaarInput
  },
): ParsedBazaar {
  const resource = memberOf(payload, 'resource')
  const template = memberOf(parts.bazaar, 'routeTemplate')
  const paid = memberOf(resource, 'url')
  const pathParams = pathParamsIn(paid, template, memberOf(parts.info.input, 'pathParams'))
  const routeTemplate = pathParams === undefined ? undefined : (template as string)
  const url = canonicalUrl(paid, routeTemplate)
  if (url === undefined) {
    const what = parts.input.method === 'MCP' ? ', that of the MCP server' : ''
    return rejected(
      `resource.url must be an http or https URL of at most ${MAX_URL_CHARS} characters${what}`,
    )
  }
  const description = memberOf(resource, 'description')
  const metadata = readServiceMetadata(resource)
  const dropped = droppedFrom(resource, metadata)
  if (template !== undefined && routeTemplate === undefined) dropped.push('routeTemplate')
  return {
    ok: true,
    resource: {
      ...metadata,
      ...(dropped.length === 0 ? {} : { dropped }),
      url,
      ...parts.input,
      ...(routeTemplate === undefined ? {} : { routeTemplate }),
      ...(pathParams === undefined ? {} : { pathParams }),
      ...(typeof description === 'string'
        ? { description: description.slice(0, MAX_DESCRIPTION_CHARS) }
        : {}),
      info: parts.info,
      schema: parts.schema,
    },
  }
}

/**
 * Reads the values of a template's parameters from the paid URL, or those next to it where a server names the template itself;
 * `undefined` unless it is a template of that URL.
 */
function pathParamsIn(
  url: unknown,
  template: unknown,
  said: unknown,
): Record<string, string> | undefined {
  const paid = canonicalUrl(url)
  if (paid === undefined || !isRouteTemplate(template)) return undefined
  const { origin, pathname } = new URL(paid)
  const form = new URL(origin + template).pathname
  if (form !== pathname || !isObject(said)) return pathParamsOf(form, pathname)
  const filled = new URL(fillPath(origin + form, textsOf(said)))
  return pathParamsOf(form, filled.pathname)
}

function textsOf(members: Record<string, unknown>): Record<string, string> {
  const texts = Object.entries(members).filter(([, value]) => typeof value === 'string')
  return Object.fromEntries(texts) as Record<string, string>
}

/** Returns the URL under which a resource is listed, the same for all calls of one route; `undefined` if there is none. */
export function canonicalUrl(url: unknown, routeTemplate?: string): string | undefined {
  if (typeof url !== 'string' || url.length > MAX_URL_CHARS) return undefined
  const parsed = parseUrl(url)
  if (parsed === undefined) return undefined
  const { protocol, origin, pathname } = parsed
  if (protocol !== 'https:' && protocol !== 'http:') return undefined
  // The URL is parsed again, so that it is spelled like an owner's entry of the same URL.
  const { href } = new URL(origin + (routeTemplate ?? pathname))
  return href.length > MAX_URL_CHARS ? undefined : href
}

function readInput(input: unknown): BazaarInput | { rejectedReason: string } {
  const type = memberOf(input, 'type')
  if (type === 'mcp') return readTool(input)
  if (type !== 'http')
    return rejected(`info.input.type must be "http" or "mcp", got ${quote(type)}`)
  const method = memberOf(input, 'method')
  const bodyType = memberOf(input, 'bodyType')
  const queryParams = memberOf(input, 'queryParams')
  if (!isHttpMethod(method)) {
    const known = callMethods.filter((it) => it !== 'MCP').join(', ')
    return rejected(`info.input.method must be one of ${known}, got ${quote(method)}`)
  }
  if (bodyType !== undefined && !(isBodyMethod(method) && isOneOf(bodyTypes, bodyType))) {
    const message = isBodyMethod(method)
      ? `must be one of ${bodyTypes.join(', ')}`
      : 'is for methods with a body'
    return rejected(`info.input.bodyType ${message}, got ${quote(bodyType)}`)
  }
  if (queryParams !== undefined && !isObject(queryParams)) {
    return rejected('info.input.queryParams must be an object')
  }
  return { method }
}

/** Reads a tool of an MCP server. Its key in the catalog is the URL of the server with the name of the tool. */
function readTool(input: unknown): BazaarInput | { rejectedReason: string } {
  const toolName = memberOf(input, 'toolName')
  const transport = memberOf(input, 'transport')
  const example = memberOf(input, 'example')
  if (!isToolName(toolName)) {
    return rejected('info.input.toolName must be 1 to 128 visible ASCII characters')
  }
  if (!isObject(memberOf(input, 'inputSchema'))) {
    return rejected('info.input.inputSchema must be an object')
  }
  if (transport !== undefined && !isOneOf(mcpTransports, transport)) {
    const known = mcpTransports.join(' or ')
    return rejected(`info.input.transport must be ${known}, got ${quote(transport)}`)
  }
  if (example !== undefined && !isObject(example)) {
    return rejected('info.input.example must be an object')
  }
  return { method: 'MCP', toolName, ...(transport === undefined ? {} : { transport }) }
}

function isToolName(name: unknown): name is string {
  return typeof name === 'string' && TOOL_NAME.test(name)
}

function isHttpMethod(method: unknown): method is Exclude<CallMethod, 'MCP'> {
  return method !== 'MCP' && isOneOf(callMethods, method)
}

function rejected(rejectedReason: string): { ok: false; rejectedReason: string } {
  return { ok: false, rejectedReason: `${rejectedReason}.` }
}

const template = /^\/[a-zA-Z0-9_/:.\-~%]+$/
/** An honest template needs one pass; each further pass uncovers one more layer of escapes. */
const MAX_DECODE_PASSES = 5
const MAX_TEMPLATE_CHARS = 1_024

/**
 * Returns whether a route template such as `/weather/:city` may be the form of a path. A buyer could have altered it, so the
 * fully decoded text must neither climb (`..`) nor lead to another host (`://`). Source: bazaar extension.
 */
export function isRouteTemplate(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > MAX_TEMPLATE_CHARS || !template.test(value))
    return false
  const decoded = decodeToFixedPoint(value)
  return decoded !== undefined && !decoded.includes('..') && !decoded.includes('://')
}

/** Decodes until nothing changes; `undefined` when an escape is malformed or five passes are not enough. */
function decodeToFixedPoint(value: string): string | undefined {
  let decoded = value
  for (let pass = 0; pass < MAX_DECODE_PASSES; pass++) {
    let next: string
    try {
      next = decodeURIComponent(decoded)
    } catch {
      return undefined
    }
    if (next === decoded) return decoded
    decoded = next
  }
  return undefined
}

/** The members of a resource that describe the service behind it; only those that keep their rules. */
export interface ServiceMetadata {
  serviceName?: string
  tags?: string[]
  iconUrl?: string
  mimeType?: string
}

/** ASCII only: its characters count the same in every programming language. */
const printable = /^[\x20-\x7e]{1,32}$/
const mimeType = /^[\w.+-]{1,64}\/[\w.+-]{1,64}(; ?[\w-]{1,32}=[\w.-]{1,32})?$/
const MAX_TAGS = 5
/** The most entries that are read to find those tags. */
const MAX_TAGS_READ = 100
const MAX_ICON_URL_CHARS = 2_048
const loopbackHosts = ['localhost', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback']

/** Reads `resource` of a payload and leaves out every member that breaks its rule. Source: bazaar extension. */
export function readServiceMetadata(resource: unknown): ServiceMetadata {
  const serviceName = memberOf(resource, 'serviceName')
  const iconUrl = memberOf(resource, 'iconUrl')
  const mime = memberOf(resource, 'mimeType')
  const tags = readTags(memberOf(resource, 'tags'))
  return {
    ...(isPrintable(serviceName) ? { serviceName } : {}),
    ...(tags.length > 0 ? { tags } : {}),
    ...(isIconUrl(iconUrl) ? { iconUrl } : {}),
    ...(typeof mime === 'string' && mimeType.test(mime) ? { mimeType: mime } : {}),
  }
}

/** Names the members of `resource` that were left out, as a whole or in part. */
function droppedFrom(resource: unknown, kept: ServiceMetadata): string[] {
  return (['serviceName', 'tags', 'iconUrl', 'mimeType'] as const).filter((name) => {
    const given = memberOf(resource, name)
    if (given === undefined || given === null || given === '') return false
    const isCut = Array.isArray(given) && given.length !== kept.tags?.length
    return kept[name] === undefined || isCut
  })
}

/** Returns the first five good tags; of tags that differ in case only, the first. */
function readTags(value: unknown): string[] {
  if (!Array.isArray(value)) return []
  const tags = new Map<string, string>()
  for (const tag of value.slice(0, MAX_TAGS_READ)) {
    if (!isPrintable(tag) || tags.has(tag.toLowerCase())) continue
    tags.set(tag.toLowerCase(), tag)
    if (tags.size === MAX_TAGS) break
  }
  return [...tags.values()]
}

function isPrintable(value: unknown): value is string {
  return typeof value === 'string' && printable.test(value) && value.trim() !== ''
}

/**
 * Returns whether a page may load an icon from this URL: http or https, without a login, from a host with a name. The URL
 * parser decodes the host first, so full-width, octal, hexadecimal and short spellings of an IP address are recognised.
 */
export function isIconUrl(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > MAX_ICON_URL_CHARS) return false
  if (!/^[^\p{Cc}\p{Cs}\s\\]+$/u.test(value)) return false
  const url = parseUrl(value)
  if (url === undefined) return false
  const { protocol, username, password, hostname } = url
  if (protocol !== 'https:' && protocol !== 'http:') return false
  if (username !== '' || password !== '') return false
  const host = hostname.toLowerCase().replace(/\.$/, '')
  if (host === '' || host.startsWith('[')) return false
  if (loopbackHosts.includes(host) || host.endsWith('.localhost')) return false
  return !/^(\d+\.){0,3}\d+$/.test(host) && !/^0x[0-9a-f]*$/.test(host)
}

/** The outcome of listing a payment's bazaar extension. */
export type BazaarStatus =
  /** `success`: the catalog has this description; `processing`: it is being checked. `reason` says what was left out. */
  | { status: 'success' | 'processing'; reason?: string }
  | { status: 'rejected'; rejectedReason: string }

/** Longer ones would not fit next to other headers in what proxies take. */
const MAX_REASON_CHARS = 300

/** Encodes the header `EXTENSION-RESPONSES`: base64 of JSON, keyed by extension. It is for the merchant, not the buyer. */
export function encodeExtensionResponses(responses: { bazaar: BazaarStatus }): string {
  const { bazaar } = responses
  const shown = Object.fromEntries(
    Object.entries(bazaar).map(([name, text]) => [name, toAscii(text)]),
  )
  return btoa(JSON.stringify({ bazaar: shown }))
}

/** Replaces all but printable ASCII: merchants log this text, and a stranger wrote parts of it. */
function toAscii(reason: string): string {
  return reason.slice(0, MAX_REASON_CHARS).replace(/[^\x20-\x7e]/g, '?')
}
