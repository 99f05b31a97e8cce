import { isObject } from './json.js'
import { parseUrl } from './parse-url.js'

/*
 * How a paid resource is called. The console uses this too, so nothing here may need Node.
 */

/** The ways to call a resource: the methods of HTTP, and `MCP` for a tool of an MCP server. */
export const callMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'MCP'] as const
export type CallMethod = (typeof callMethods)[number]

/** Methods whose call could change something, so that Arcus never makes it, not even without a payment. */
export const uncalledMethods: readonly CallMethod[] = ['PUT', 'PATCH', 'DELETE']

/** Headers of a call that carry no session, credential, payment, method or address. */
const openHeader =
  /^(accept|accept-language|x-(?!forwarded|real-ip|http-method|original|payment)[a-z0-9-]{1,60})$/

/** Returns whether Arcus sends a header of an example in a call that a person makes. */
export function isOpenHeader(name: string): boolean {
  return openHeader.test(name.toLowerCase())
}

export const bodyTypes = ['json', 'form-data', 'text'] as const
export const mcpTransports = ['streamable-http', 'sse'] as const

/** Example values of a call. The members belong to a kind of method each; query parameters may accompany a body. */
export interface CallExample {
  /** Values of the parameters of the path, such as `id` of `/users/:id`. */
  pathParams?: Record<string, string>
  queryParams?: Record<string, unknown>
  /** `json` unless given. */
  bodyType?: (typeof bodyTypes)[number]
  body?: unknown
  /** Shown to buyers, and never sent by Arcus. */
  headers?: Record<string, unknown>
  arguments?: Record<string, unknown>
}

/** Returns the member of an example that holds the parameters, which are what the input schema is about. */
export function parametersIn(method: CallMethod): 'queryParams' | 'body' | 'arguments' {
  if (method === 'MCP') return 'arguments'
  return isBodyMethod(method) ? 'body' : 'queryParams'
}

export function isBodyMethod(method: unknown): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH'
}

/** A call that can be paid for: a URL with a method, or one tool of the MCP server at that URL. */
export interface CallTarget {
  url: string
  method: CallMethod
  /** Only with `MCP`. */
  toolName?: string | undefined
}

/** Returns a text that is the same for two targets only if they are one. */
export function targetKey({ url, method, toolName = '' }: CallTarget): string {
  return `${method} ${url} ${toolName}`
}

/** Names of tools as MCP has them, and of the older servers that are freer with them. */
export const TOOL_NAME = /^[\x21-\x7e]{1,128}$/

const place = /(?<=\/):([A-Za-z_]\w{0,63})(?=\/|$)/g

/** Returns the names of the parameters in the path of a URL: `id` of `/users/:id`. */
export function placesIn(url: string): string[] {
  return [...(parseUrl(url)?.pathname ?? '').matchAll(place)].map(([, name = '']) => name)
}

/**
 * Returns the values with which `fillPath` makes this path of a template such as `/users/:id`; `undefined` where the path
 * is not of its form. Both are paths as the parser of URLs writes them.
 */
export function pathParamsOf(template: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [template.split('/'), path.split('/')]
  if (wanted.length !== given.length) return undefined
  const params: [string, string][] = []
  for (const [i, step] of wanted.entries()) {
    const [, name] = /^:((?!__proto__$)[A-Za-z_]\w{0,63})$/.exec(step) ?? []
    if (name === undefined) {
      if (step !== given[i]) return undefined
      continue
    }
    const value = decodeStep(given[i] ?? '')
    if (value === undefined) return undefined
    params.push([name, value])
  }
  const named = Object.fromEntries(params)
  return Object.keys(named).length === params.length ? named : undefined
}

/** Decodes one step of a path; `undefined` where it could not be written again. */
function decodeStep(step: string): string | undefined {
  try {
    const value = decodeURIComponent(step)
    return /^\.{0,2}$|\p{C}/u.test(value) ? undefined : value
  } catch {
    return undefined
  }
}

/** Fills in parameters of the path. Each value stays one step of it; a parameter without a value stays as it is. */
export function fillPath(text: string, params: Record<string, string>): string {
  const url = parseUrl(text)
  if (url === undefined || Object.keys(params).length === 0) return text
  url.pathname = url.pathname.replace(place, (whole, name: string) => {
    const value = Object.hasOwn(params, name) ? params[name] : ''
    // The parser of URLs reads two dots as a step back.
    return value === undefined || /^\.{0,2}$/.test(value) ? whole : encodeURIComponent(value)
  })
  return url.href
}

/** Parses JSON of a stranger; `undefined` when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A call over HTTP, without headers of its own. */
interface HttpCall {
  url: string
  method: CallMethod
  body?: string
  contentType?: string
}

/**
 * Builds the call of an endpoint of HTTP: the parameters of its path filled in, the parameters in the query over those of the
 * URL, and the body by its type.
 */
export function toHttpCall(
  { url, method }: Pick<CallTarget, 'url' | 'method'>,
  { queryParams = {}, body = {}, bodyType, pathParams = {} }: CallExample,
): HttpCall {
  const target = { url: withParameters(fillPath(url, pathParams), queryParams), method }
  if (!isBodyMethod(method)) return target
  if (bodyType === 'text') return { ...target, body: toText(body), contentType: 'text/plain' }
  if (bodyType === 'form-data' && isObject(body)) return { ...target, ...toForm(body) }
  return { ...target, body: JSON.stringify(body ?? {}), contentType: 'application/json' }
}

/** Writes fields as `multipart/form-data`, with a boundary that occurs in none of them. */
function toForm(fields: Record<string, unknown>): { body: string; contentType: string } {
  const entries = Object.entries(fields).map(
    ([name, value]) =>
      `content-disposition: form-data; name="${encodeURIComponent(name)}"\r\n\r\n${toText(value)}\r\n`,
  )
  // All beginnings of the numbers that occur, in one pass, because a stranger may have written thousands of them.
  const taken = new Set<string>()
  for (const [, digits = ''] of entries.join('').matchAll(/arcus-form-(\d{1,6})/g)) {
    for (let length = 1; length <= digits.length; length++) taken.add(digits.slice(0, length))
  }
  let number = 0
  while (taken.has(`${number}`)) number++
  const boundary = `arcus-form-${number}`
  const parts = entries.map((entry) => `--${boundary}\r\n${entry}`)
  return {
    body: `${parts.join('')}--${boundary}--\r\n`,
    contentType: `multipart/form-data; boundary=${boundary}`,
  }
}

/** Sets parameters over those of the URL. Lists become repeated parameters, nested objects become JSON. */
export function withParameters(text: string, params: Record<string, unknown>): string {
  const url = parseUrl(text)
  if (url === undefined) return text
  // The parameters stand apart while they are set: those of a URL write the whole of it each time.
  const all = new URLSearchParams(
    [...url.searchParams].filter(([name]) => !Object.hasOwn(params, name)),
  )
  for (const [name, value] of Object.entries(params)) {
    for (const item of [value].flat()) {
      if (item !== null && item !== undefined) all.append(name, toText(item))
    }
  }
  if (Object.keys(params).length > 0) url.search = all.toString()
  return url.href
}

function toText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

export function isOneOf<const Value>(values: readonly Value[], value: unknown): value is Value {
  return values.includes(value as Value)
}
