import { type Listing, type ListingEndpoint, listingLimits } from '@arcus/protocol/listing/listing'
import { type CallMethod, isBodyMethod, parametersIn } from '@arcus/protocol/x402/calls'
import type { Address } from 'viem'

export interface OpenApiOptions {
  /** The address that every endpoint asks its payment for. */
  payTo: Address
  /** Atomic units, as in a listing. A function prices each operation by `GET /path`, and leaves it out with `undefined`. */
  price: string | ((operation: string) => string | undefined)
  /** The address of the API where the document names none, or a part of one. */
  server?: string
}

export interface OpenApiListing {
  /** The argument of `save`. The service checks it. */
  listing: Listing
  /** Operations that are not in it, such as `TRACE /things`, with the reason. */
  skipped: { what: string; why: string }[]
}

/** The reason why a document cannot be read at all. */
export class OpenApiError extends Error {
  override readonly name = 'OpenApiError'
}

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'trace'] as const
const UNLISTED: readonly string[] = ['options', 'trace']
const LIST_MAX = listingLimits.endpoints.max
const tagLimits = listingLimits.tags

/**
 * Makes a listing of a parsed OpenAPI 3 document. Throws `OpenApiError` for anything else. Texts of the document stay
 * texts, and references stay inside it.
 */
export function listingFromOpenApi(document: unknown, options: OpenApiOptions): OpenApiListing {
  if (!isRecord(document) || !isRecord(document.paths)) {
    throw new OpenApiError('This is not an OpenAPI document: it has no paths.')
  }
  if (typeof document.openapi !== 'string' || !document.openapi.startsWith('3.')) {
    throw new OpenApiError('Only OpenAPI 3 can be read. Convert the document first.')
  }
  const { payTo, price, server: base = '' } = options
  const info = isRecord(document.info) ? document.info : {}
  const unfold = createUnfold(document)
  const endpoints: ListingEndpoint[] = []
  const skipped: OpenApiListing['skipped'] = []
  for (const [path, item] of Object.entries(document.paths)) {
    if (!isRecord(item)) continue
    for (const method of METHODS) {
      const operation = item[method]
      if (!isRecord(operation)) continue
      const what = `${method.toUpperCase()} ${path}`
      const server = serverOf(operation, item, document, base)
      const read = readUnfolded({ method, path, operation, item, server }, unfold)
      const asked = typeof price === 'string' ? price : price(what)
      if (typeof read === 'string') skipped.push({ what, why: read })
      else if (asked === undefined) skipped.push({ what, why: 'It has no price.' })
      else if (endpoints.length < LIST_MAX)
        endpoints.push({ ...read, price: asked } as ListingEndpoint)
      else skipped.push({ what, why: `A listing has at most ${LIST_MAX} endpoints.` })
    }
  }
  const name = text(info.title, listingLimits.name.maxChars)
  const description = text(info.description ?? info.summary, listingLimits.description.maxChars)
  return { listing: { name, description, payTo, endpoints }, skipped }
}

interface OperationSource {
  method: (typeof METHODS)[number]
  path: string
  operation: Json
  item: Json
  server: string | undefined
}

/** Follows the references of requests, because those of answers can be endless, and reads the operation. */
function readUnfolded(source: OperationSource, unfold: Unfold) {
  const { item, operation } = source
  try {
    const [ofAll, own, requestBody] = unfold(
      item.parameters,
      operation.parameters,
      operation.requestBody,
    )
    return readOperation({
      ...source,
      item: { ...item, parameters: ofAll },
      operation: { ...operation, parameters: own, requestBody },
    })
  } catch (error) {
    if (!(error instanceof UnfoldedTooFar)) throw error
    return `Its references unfold to more than ${MAX_VALUES} values.`
  }
}

/** Returns the endpoint without its price, or the reason why it cannot be listed. */
function readOperation({ method, path, operation, item, server }: OperationSource) {
  if (UNLISTED.includes(method)) return 'OPTIONS and TRACE cannot be listed.'
  if (server === undefined) return 'The document names no server for it.'
  const parameters = [...list(item.parameters), ...list(operation.parameters)].filter(isRecord)
  const filled = fillPath(path, parameters)
  if (filled === undefined) return 'Its path has a parameter without an example.'
  const url = server.replace(/\/+$/, '') + filled
  if (!URL.canParse(url)) return 'Its address is not a URL.'
  const called = method.toUpperCase() as CallMethod
  const query = readQuery(parameters)
  const input = isBodyMethod(called) ? readBody(operation.requestBody, query.example) : query
  if (typeof input === 'string') return input
  const { example, beside, inputSchema } = input
  return {
    url,
    method: called,
    title: text(
      operation.summary ?? operation.operationId ?? `${called} ${path}`,
      listingLimits.title.maxChars,
    ),
    description: text(operation.description, listingLimits.endpointDescription.maxChars),
    tags: list(operation.tags)
      .map((tag) => text(tag, tagLimits.maxChars).replaceAll(',', ' '))
      .filter((tag) => tag !== '' && new RegExp(tagLimits.pattern).test(tag))
      .slice(0, tagLimits.max),
    example: { ...beside, [parametersIn(called)]: example },
    inputSchema,
  }
}

interface Parameters {
  /** Query parameters, or the body where the method has one. */
  example: unknown
  /** The form of a body that is not JSON, and query parameters next to a body. */
  beside: { bodyType?: string; queryParams?: Json }
  inputSchema: Json | null
}

function readQuery(parameters: Json[]): Parameters & { example: Json } {
  const query = parameters.filter((it) => it.in === 'query' && typeof it.name === 'string')
  const example: Json = {}
  const properties: Json = {}
  for (const parameter of query) {
    const name = parameter.name as string
    const value = exampleOf(parameter)
    if (value !== undefined) example[name] = value
    const schema = isRecord(parameter.schema) ? parameter.schema : {}
    const description = text(parameter.description, 300)
    properties[name] = description === '' ? schema : { description, ...schema }
  }
  const beside = {}
  if (query.length === 0) return { example, beside, inputSchema: null }
  const required = query.filter((it) => it.required === true).map(({ name }) => name)
  return { example, beside, inputSchema: { type: 'object', properties, required } }
}

/** The media types of the bodies that a listing has, by the first of which a file is read. */
const medias = [
  ['application/json', 'json'],
  ['multipart/form-data', 'form-data'],
  ['text/plain', 'text'],
] as const

/** Returns the body with the query parameters next to it, or the reason why it cannot be listed. */
function readBody(body: unknown, queryParams: Json): Parameters | string {
  const content = isRecord(body) && isRecord(body.content) ? body.content : {}
  const known = medias.find(([name]) => isRecord(content[name]))
  if (known === undefined && Object.keys(content).length > 0) {
    return 'Its body is neither JSON nor form-data nor text.'
  }
  const [name = '', bodyType = 'json'] = known ?? []
  const media = content[name] as Json | undefined
  const schema = media?.schema
  const isObject = isRecord(schema) && schema.type === 'object'
  const example = media && exampleOf(media)
  const empty = bodyType === 'text' ? '' : {}
  return {
    example: bodyType === 'form-data' && !isRecord(example) ? empty : (example ?? empty),
    beside: {
      ...(bodyType === 'json' ? {} : { bodyType }),
      ...(Object.keys(queryParams).length === 0 ? {} : { queryParams }),
    },
    inputSchema: isObject ? schema : null,
  }
}

/** Finds the first example: of the value itself, of its schema, or of the properties of its schema. */
function exampleOf(thing: Json): unknown {
  if (thing.example !== undefined) return thing.example
  const [named] = isRecord(thing.examples) ? Object.values(thing.examples) : []
  if (isRecord(named) && named.value !== undefined) return named.value
  return isRecord(thing.schema) ? exampleOfSchema(thing.schema) : undefined
}

function exampleOfSchema(schema: Json): unknown {
  const [first] = [
    schema.example,
    ...list(schema.examples),
    schema.default,
    ...list(schema.enum),
  ].filter((value) => value !== undefined)
  if (first !== undefined || !isRecord(schema.properties)) return first
  const parts = Object.entries(schema.properties).flatMap(([name, part]) => {
    const value = isRecord(part) ? exampleOfSchema(part) : undefined
    return value === undefined ? [] : [[name, value] as const]
  })
  return parts.length === 0 ? undefined : Object.fromEntries(parts)
}

/** Replaces each `{parameter}` of the path by its example; `undefined` where one has none. */
function fillPath(path: string, parameters: Json[]): string | undefined {
  let isWhole = true
  const filled = path.replace(/\{([^}]+)\}/g, (_all, name) => {
    const parameter = parameters.find((it) => it.in === 'path' && it.name === name)
    const value = parameter === undefined ? undefined : exampleOf(parameter)
    if (value === undefined || typeof value === 'object') isWhole = false
    return encodeURIComponent(String(value))
  })
  return isWhole ? filled : undefined
}

function serverOf(operation: Json, item: Json, document: Json, base: string): string | undefined {
  const [server] = [operation, item, document].flatMap(({ servers }) => list(servers))
  const url = isRecord(server) && typeof server.url === 'string' ? server.url : base
  const variables = isRecord(server) && isRecord(server.variables) ? server.variables : {}
  const filled = url.replace(/\{([^}]+)\}/g, (all, name) => {
    const variable = variables[name]
    return isRecord(variable) ? String(variable.default ?? all) : all
  })
  if (base !== '' && URL.canParse(filled, base)) return new URL(filled, base).href
  return URL.canParse(filled) ? filled : undefined
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function text(value: unknown, max: number): string {
  return typeof value === 'string' ? [...value.trim()].slice(0, max).join('') : ''
}

type Json = Record<string, unknown>

/** The bound for references within references. */
const MAX_DEPTH = 6
/** Values that the references of one operation may unfold to: a listing holds far less. */
const MAX_VALUES = 5_000
/** Values that all operations of a document may unfold to. */
const MAX_ALL_VALUES = 500_000

/** The references of an operation unfold to more than a listing can hold. */
class UnfoldedTooFar extends Error {}

type Unfold = (...nodes: readonly unknown[]) => unknown[]

/**
 * Makes the function that copies the parts of an operation and replaces every `$ref` by its target in the document. A
 * reference to itself or to nothing becomes `{}`. The values are counted, because a few references that fan out unfold to
 * millions. Throws `UnfoldedTooFar`.
 */
function createUnfold(document: Json): Unfold {
  let all = 0
  return (...nodes) => {
    let own = 0
    function unfold(node: unknown, within: readonly string[]): unknown {
      if (++own > MAX_VALUES || ++all > MAX_ALL_VALUES) throw new UnfoldedTooFar()
      if (Array.isArray(node)) return node.map((each) => unfold(each, within))
      if (!isRecord(node)) return node
      const { $ref } = node
      if (typeof $ref === 'string') {
        if (within.includes($ref) || within.length === MAX_DEPTH) return {}
        return unfold(find($ref, document) ?? {}, [...within, $ref])
      }
      const entries = Object.entries(node).map(([name, it]) => [name, unfold(it, within)] as const)
      return Object.fromEntries(entries)
    }
    return nodes.map((node) => unfold(node, []))
  }
}

/** Finds the target of a reference such as `#/components/schemas/Quote` (RFC 6901). */
function find(ref: string, document: Json): unknown {
  if (!ref.startsWith('#/')) return undefined
  let at: unknown = document
  for (const token of ref.slice(2).split('/')) {
    const name = decoded(token).replaceAll('~1', '/').replaceAll('~0', '~')
    if (!isRecord(at) || !Object.hasOwn(at, name)) return undefined
    at = at[name]
  }
  return at
}

/** Reads a token of a reference. One that is badly escaped stays as it is. */
function decoded(token: string): string {
  try {
    return decodeURIComponent(token)
  } catch {
    return token
  }
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
