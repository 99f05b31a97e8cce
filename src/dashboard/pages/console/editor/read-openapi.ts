import '../zod-without-eval.js'
import { listingLimits } from 'arcus-client/listing'
import { isBodyMethod } from '../../../../x402/calls.js'
import type { EndpointDraft, Method } from './draft.js'
import { words as all } from './words.js'

const words = all.openApi

/** One operation of an OpenAPI file that can be listed. */
export interface Operation {
  method: Method
  url: string
  title: string
  description: string
  tags: string[]
  /** Examples from the file: query parameters, or the body where the method has one. */
  example: unknown
  /** The form of a body that is no JSON, and query parameters beside a body. */
  beside: EndpointDraft['beside']
  /** The schema of the query parameters or the body; `null` where the file has none. */
  inputSchema: Json | null
}

export interface ReadOpenApi {
  name: string
  description: string
  operations: Operation[]
  /** Operations that cannot be listed, such as `TRACE /things`, with the reason. */
  skipped: { what: string; why: string }[]
}

/** The reason why a file cannot be read at all. */
export class OpenApiError extends Error {
  override readonly name = 'OpenApiError'
}

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options', 'trace'] as const
const UNLISTED: readonly string[] = ['options', 'trace']
const LIST_MAX = listingLimits.endpoints.max
const tagLimits = listingLimits.tags

/**
 * Reads a parsed OpenAPI 3 document. `base` is the address of the servers where the document names none. Throws
 * `OpenApiError` for anything else. Nothing in it is trusted: texts stay texts, and references stay inside the file.
 */
export function readOpenApi(document: unknown, base: string): ReadOpenApi {
  if (!isRecord(document) || !isRecord(document.paths)) {
    throw new OpenApiError(words.noPaths)
  }
  if (typeof document.openapi !== 'string' || !document.openapi.startsWith('3.')) {
    throw new OpenApiError(words.oldVersion)
  }
  const info = isRecord(document.info) ? document.info : {}
  const found: ReadOpenApi = {
    name: text(info.title, 60),
    description: text(info.description ?? info.summary, 1_000),
    operations: [],
    skipped: [],
  }
  for (const [path, raw] of Object.entries(document.paths)) {
    // Only references in requests are followed: those of answers can be endless.
    if (!isRecord(raw)) continue
    const item: Json = { ...raw, parameters: inlineRefs(raw.parameters, document) }
    for (const method of METHODS) {
      const stated = item[method]
      if (!isRecord(stated)) continue
      const operation: Json = {
        ...stated,
        parameters: inlineRefs(stated.parameters, document),
        requestBody: inlineRefs(stated.requestBody, document),
      }
      const what = `${method.toUpperCase()} ${path}`
      const server = serverOf(operation, item, document, base)
      const read = readOperation({ method, path, operation, item, server })
      if (typeof read === 'string') found.skipped.push({ what, why: read })
      else if (found.operations.length < LIST_MAX) found.operations.push(read)
      else found.skipped.push({ what, why: words.tooMany(LIST_MAX) })
    }
  }
  return found
}

interface Source {
  method: (typeof METHODS)[number]
  path: string
  operation: Json
  item: Json
  server: string | undefined
}

/** Returns the operation, or the reason why it cannot be listed. */
function readOperation({ method, path, operation, item, server }: Source): Operation | string {
  if (UNLISTED.includes(method)) return words.unlisted
  if (server === undefined) return words.noServer
  const parameters = [...list(item.parameters), ...list(operation.parameters)].filter(isRecord)
  const filled = fillPath(path, parameters)
  if (filled === undefined) return words.noExample
  const url = server.replace(/\/+$/, '') + filled
  if (!URL.canParse(url)) return words.noUrl
  const called = method.toUpperCase() as Method
  const query = readQuery(parameters)
  const input = isBodyMethod(called) ? readBody(operation.requestBody, query.example) : query
  if (typeof input === 'string') return input
  return {
    url,
    method: called,
    title: text(operation.summary ?? operation.operationId ?? `${called} ${path}`, 100),
    description: text(operation.description, 1_000),
    tags: list(operation.tags)
      .map((tag) => text(tag, tagLimits.maxChars).replaceAll(',', ' '))
      .filter((tag) => tag !== '' && new RegExp(tagLimits.pattern).test(tag))
      .slice(0, tagLimits.max),
    ...input,
  }
}

type Parameters = Pick<Operation, 'example' | 'beside' | 'inputSchema'>

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

/** Returns the body with the query parameters beside it, or the reason why it cannot be listed. */
function readBody(body: unknown, queryParams: Json): Parameters | string {
  const content = isRecord(body) && isRecord(body.content) ? body.content : {}
  const known = medias.find(([name]) => isRecord(content[name]))
  if (known === undefined && Object.keys(content).length > 0) {
    return words.otherBody
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

/** Copies a value and replaces every `$ref` by its target in the document. A reference to itself or to nothing becomes `{}`. */
function inlineRefs(node: unknown, document: Json, within: readonly string[] = []): unknown {
  if (Array.isArray(node)) return node.map((each) => inlineRefs(each, document, within))
  if (!isRecord(node)) return node
  const { $ref } = node
  if (typeof $ref === 'string') {
    if (within.includes($ref) || within.length === MAX_DEPTH) return {}
    return inlineRefs(find($ref, document) ?? {}, document, [...within, $ref])
  }
  const entries = Object.entries(node).map(
    ([name, value]) => [name, inlineRefs(value, document, within)] as const,
  )
  return Object.fromEntries(entries)
}

/** Finds the target of a reference such as `#/components/schemas/Quote` (RFC 6901). */
function find(ref: string, document: Json): unknown {
  if (!ref.startsWith('#/')) return undefined
  let at: unknown = document
  for (const token of ref.slice(2).split('/')) {
    const name = decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~')
    if (!isRecord(at) || !Object.hasOwn(at, name)) return undefined
    at = at[name]
  }
  return at
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const MAX_BYTES = 4_000_000

/** Parses a file of JSON or YAML. The YAML parser is loaded on demand. Throws `OpenApiError`. */
export async function parseFile(file: Blob): Promise<unknown> {
  if (file.size > MAX_BYTES) throw new OpenApiError(words.tooLarge)
  const text = await file.text()
  if (/^\s*[{[]/.test(text)) {
    try {
      return JSON.parse(text)
    } catch (error) {
      throw new OpenApiError(words.notJson((error as Error).message))
    }
  }
  const { parse } = await import('yaml')
  try {
    return parse(text, { maxAliasCount: 100 })
  } catch (error) {
    const [first = ''] = (error as Error).message.split('\n')
    throw new OpenApiError(words.notYaml(first))
  }
}
