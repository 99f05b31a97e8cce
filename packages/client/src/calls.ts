import type { Routes } from '@arcus/protocol/answers/routes'
import { parseUrl } from '@arcus/protocol/x402/parse-url'
import type { z } from 'zod'
import { readUpTo } from './body.js'

/** A request that the service refused, or that never got an answer. */
export class ArcusError extends Error {
  override readonly name = 'ArcusError'
  /** The code of the service, or one of this package: `unreachable`, `unexpected_answer`, `wrong_audience`, those of `pay`. */
  readonly code: string
  /** HTTP status; 0 when there was no answer. */
  readonly status: number
  /** Facts of the answer in addition to its sentence, such as the endpoints that were refused. */
  readonly details: unknown
  /** Seconds to wait, as the service asks. */
  readonly retryAfter: number | undefined

  constructor(code: string, message: string, status = 0, details?: unknown, retryAfter?: number) {
    super(message)
    this.code = code
    this.status = status
    this.details = details
    this.retryAfter = retryAfter
  }
}

/**
 * Returns the address of a service that decides about money. Throws `ArcusError`: `invalid_url` for what is no web
 * address, such as one without `https://`, and `insecure_url` for plain `http` to another machine, because everybody on
 * the way could answer for it.
 */
export function trustedUrl(url: string): string {
  const { protocol, hostname } = parseUrl(url) ?? {}
  if (hostname === undefined || !/^https?:$/.test(protocol ?? '')) {
    const message = `${url} is no web address: it begins with https://, or on this machine with http://.`
    throw new ArcusError('invalid_url', message)
  }
  const isLoopback = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
  if (protocol !== 'http:' || isLoopback) return url
  const message = `${url} is not encrypted, so anybody on the way could answer for it: use https.`
  throw new ArcusError('insecure_url', message)
}

/** A public route, as `GET /api/merchants/{id}`. */
export type Route = keyof Routes

/** The schema of one part of a route, as the table has it; `unknown` where it has none. */
type Form<R extends Route, Place extends string> = Routes[R] extends { [It in Place]: infer Schema }
  ? Schema
  : unknown

/** The value that a caller gives for a schema. */
type SchemaInput<Schema> = Schema extends z.ZodType ? z.input<Schema> : unknown

/** The values of a query as they are meant, so numbers are numbers: on the wire all are text. */
type QueryInput<Schema> = Schema extends z.ZodType
  ? QueryValues<z.input<Schema>, z.output<Schema>>
  : unknown
type QueryValues<Wire, Meant> = {
  [Name in keyof Wire]:
    | (Name extends keyof Meant ? Meant[Name] : never)
    | Extract<Wire[Name], undefined>
}

/** `{ [key]: Value }`, optional where nothing in it is required, and absent where the route does not know it. */
type RequestPart<Key extends string, Value> = unknown extends Value
  ? { [key in Key]?: undefined }
  : Record<never, never> extends Value
    ? { [key in Key]?: Value }
    : { [key in Key]: Value }

/** The parts of a request: parameters of the path and the query, and the body. */
export type Input<R extends Route> = RequestPart<'path', SchemaInput<Form<R, 'params'>>> &
  RequestPart<'query', QueryInput<Form<R, 'query'>>> &
  RequestPart<'body', SchemaInput<Form<R, 'body'>>>

/** The answer of a route that succeeds: parsed JSON, text where the route gives text, `undefined` where it gives nothing. */
export type Answer<R extends Route> =
  Form<R, 'answer'> extends infer Schema
    ? Schema extends z.ZodType
      ? z.output<Schema>
      : Schema extends string
        ? string
        : undefined
    : never

export interface CallOptions {
  headers?: Record<string, string>
  signal?: AbortSignal | undefined
  /** Lets the request outlive the page that sent it. */
  keepalive?: boolean
}

/** Sends a request to a public route. Rejects with `ArcusError`, or with the reason of the signal. */
export type Call = <R extends Route>(
  route: R,
  ...input: Record<never, never> extends Input<R>
    ? [input?: Input<R> & CallOptions]
    : [input: Input<R> & CallOptions]
) => Promise<Answer<R>>

/** Creates the function that calls the service at `url`. */
export function createCall(url: string, fetch?: typeof globalThis.fetch): Call {
  const base = url.replace(/\/+$/, '')
  interface AnyInput extends CallOptions {
    path?: Record<string, unknown>
    query?: Record<string, unknown>
    body?: unknown
  }

  function call(route: string, { path = {}, query = {}, body, ...options }: AnyInput = {}) {
    const [method = 'GET', template = ''] = route.split(' ')
    const filled = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(`${path[name]}`))
    return request(method, base + withQuery(filled, query), body, { ...options, fetch })
  }
  return call as Call
}

/** Sends JSON to an address of the service and reads the answer. Rejects as `Call` does. */
export async function request(
  method: string,
  url: string,
  body: unknown,
  options: CallOptions & { fetch?: typeof globalThis.fetch | undefined } = {},
): Promise<unknown> {
  const { fetch = globalThis.fetch, headers, signal, keepalive = false } = options
  const json = body === undefined ? {} : { 'content-type': 'application/json' }
  let response: Response
  let text: string
  try {
    response = await fetch(url, {
      method,
      keepalive,
      headers: { ...json, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
    const { bytes, cut } = await readUpTo(response, MAX_ANSWER_BYTES)
    if (cut === 'broken') throw new Error('The connection ended before the answer did.')
    if (cut === 'long') throw tooLong()
    text = new TextDecoder().decode(bytes)
  } catch (cause) {
    if (cause instanceof ArcusError) throw cause
    if (signal?.aborted) throw cause
    const error = new ArcusError(
      'unreachable',
      `${parseUrl(url)?.origin ?? 'Arcus'} does not answer. Are you online?`,
    )
    error.cause = cause
    throw error
  }
  return readAnswer(response, text)
}

/** Twice the list of all merchants of a large catalog. */
const MAX_ANSWER_BYTES = 64 * 1_024 * 1_024

function tooLong(): ArcusError {
  const message = `Arcus answered with more than ${MAX_ANSWER_BYTES} bytes.`
  return new ArcusError('unexpected_answer', message)
}

function readAnswer(response: Response, text: string): unknown {
  const { status } = response
  if (status === 204) return undefined
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '')
  const answer = isJson ? parse(text) : text
  if (response.ok && answer !== undefined) return answer
  const said = (isJson && answer ? answer : {}) as Record<string, unknown>
  // Verify and settle have members of their own for a refusal.
  const code = said.error ?? said.invalidReason ?? said.errorReason
  const message = said.message ?? said.invalidMessage ?? said.errorMessage
  const isKnown = typeof code === 'string' && typeof message === 'string'
  const wait = Number(response.headers.get('retry-after') ?? Number.NaN)
  throw new ArcusError(
    isKnown ? code : 'unexpected_answer',
    isKnown ? message : `Arcus answered ${status}.`,
    status,
    isKnown ? said.details : answer,
    Number.isFinite(wait) ? wait : undefined,
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Adds a query to a path and leaves out what is empty. */
export function withQuery(path: string, query: Record<string, unknown>): string {
  const given = Object.entries(query)
    .filter(([, value]) => value !== undefined && value !== null && value !== '')
    .map(([name, value]): [string, string] => [name, String(value)])
  const text = new URLSearchParams(given).toString()
  return text === '' ? path : `${path}?${text}`
}
