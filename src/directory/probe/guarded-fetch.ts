import { setMaxListeners } from 'node:events'
import { cleanText } from '@arcus/protocol/listing/text'
import { defined } from '@arcus/protocol/x402/json'
import { parseUrl } from '@arcus/protocol/x402/parse-url'
import { Client, type Dispatcher } from 'undici'
import {
  BlockedTargetError,
  checkTarget,
  createGuardedConnector,
  createPublicResolver,
  type Resolve,
  resolveLocally,
  type TargetRules,
} from './target-rules.js'

interface GuardedFetchLimits extends CallTimes {
  bodyBytes: number
  headerBytes: number
}

const guardedFetchLimits: GuardedFetchLimits = {
  connectMs: 3_000,
  headersMs: 5_000,
  bodyMs: 5_000,
  totalMs: 10_000,
  bodyBytes: 64 * 1024,
  headerBytes: 32 * 1024,
}

const MAX_LOCATION_CHARS = 512

export interface GuardedFetchOptions extends TargetRules {
  /** Named in the User-Agent, so that the owner of a called host can find the caller. */
  baseUrl: string
  /** For tests; the name servers otherwise, or the system's lookup with `allowPrivateHosts`. */
  resolve?: Resolve
  limits?: Partial<GuardedFetchLimits>
  /** Aborting it ends every running call, for the end of the service. */
  signal?: AbortSignal
}

export interface GuardedRequest {
  url: string
  method: 'GET' | 'HEAD' | 'POST'
  body?: string
  /** The media type of the body, `application/json` unless given. */
  contentType?: string
  /** `application/json` unless given. */
  accept?: string
  /** In addition to those that every call has. Nothing in them comes from a listing. */
  headers?: Readonly<Record<string, string>>
  /** Longest body of the answer, instead of the usual one. */
  bodyBytes?: number
  /** Times of this call, instead of the usual ones. */
  times?: Partial<CallTimes>
  /** Returns the body of the answer as base64, for bytes that are no text. */
  asBase64?: boolean
  /** Returns the beginning of a body that is too long, or does not end, in an answer that says so. */
  keepsPart?: boolean
  /** Takes each part of the body as it comes. Returns whether it is enough, although the server may go on. */
  isWhole?: (part: string) => boolean
}

export type GuardedFetch = (request: GuardedRequest) => Promise<GuardedAnswer>

/**
 * Creates the one client that calls URLs of strangers. It calls hosts of the public internet only, follows no redirect,
 * decompresses nothing, sends no cookie or key, uses no proxy, and bounds everything. Never rejects.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const limits = { ...guardedFetchLimits, ...options.limits }
  const resolve =
    options.resolve ?? (options.allowPrivateHosts ? resolveLocally : createPublicResolver())
  const userAgent = `Arcus-Probe/1 (+${options.baseUrl})`
  // Each running call listens for the end of the service, and Node takes more than ten listeners for a leak.
  if (options.signal !== undefined) setMaxListeners(0, options.signal)

  return async (request) => {
    const target = checkTarget(request.url, options)
    if (!target.isAllowed) return { kind: 'blocked', message: target.message }
    const clock = startCallClock({ ...limits, ...request.times }, options.signal)
    // One client per call: no connection outlives it, so none is reused after its address was checked.
    const client = new Client(target.url.origin, {
      connect: createGuardedConnector({
        rules: options,
        resolve,
        signal: clock.signal,
        onConnected: () => clock.enter('headers'),
      }),
      maxHeaderSize: limits.headerBytes,
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
    })
    try {
      return await call(client, target.url, request, { userAgent, clock, limits })
    } finally {
      clock.stop()
      client.destroy().catch(() => undefined)
    }
  }
}

interface CallSetting {
  userAgent: string
  clock: CallClock
  limits: GuardedFetchLimits
}

async function call(
  client: Client,
  url: URL,
  request: GuardedRequest,
  { userAgent, clock, limits }: CallSetting,
): Promise<GuardedAnswer> {
  let head: AnswerHead | undefined
  try {
    const response = await untilAborted(
      clock.signal,
      client.request({
        method: request.method,
        path: url.pathname + url.search,
        headers: {
          accept: request.accept ?? 'application/json',
          'accept-encoding': 'identity',
          'user-agent': userAgent,
          ...contentTypeOf(request),
          ...request.headers,
        },
        body: request.body ?? null,
        reset: true,
        signal: clock.signal,
      }),
    )
    clock.enter('body')
    head = { status: response.statusCode, headers: joinHeaders(response.headers) }
    const redirect = redirectOf(head, url)
    if (redirect !== undefined) {
      response.body.on('error', () => undefined).destroy()
      return redirect
    }
    return await readBody(response.body, head, { ...request, clock, limits })
  } catch (error) {
    return toFailure(error, clock, head, limits.headerBytes)
  }
}

/** Returns the header that says what the body is; none without a body. */
function contentTypeOf({ body, contentType = 'application/json' }: GuardedRequest) {
  return body === undefined ? {} : { 'content-type': contentType }
}

/** Rejects when the signal aborts: undici does not always obey it while a connection is being made. */
function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  work.catch(() => undefined)
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

async function readBody(
  stream: Dispatcher.ResponseData['body'],
  head: AnswerHead,
  request: GuardedRequest & Pick<CallSetting, 'clock' | 'limits'>,
): Promise<GuardedAnswer> {
  const { clock, limits, isWhole, asBase64 = false, keepsPart = false } = request
  const { bodyBytes: limit = limits.bodyBytes } = request
  const chunks: Buffer[] = []
  const decoder = new TextDecoder()
  let bodyBytes = 0
  let missing: string | undefined
  try {
    for await (const chunk of stream) {
      bodyBytes += chunk.length
      if (bodyBytes > limit) {
        missing = `The body of the answer is above ${limit / 1024} KiB.`
        if (!keepsPart) return { kind: 'too_large', head, message: missing }
        chunks.push(chunk.subarray(0, chunk.length - (bodyBytes - limit)))
        break
      }
      chunks.push(chunk)
      if (isWhole?.(decoder.decode(chunk, { stream: true })) === true) break
    }
  } catch (error) {
    if (!keepsPart) throw error
    missing = toFailure(error, clock, head, limits.headerBytes).message
  }
  const { 'content-encoding': encoding = 'identity' } = head.headers
  const whole = Buffer.concat(encoding === 'identity' || asBase64 ? chunks : [])
  const body = asBase64 ? whole.toString('base64') : new TextDecoder().decode(whole)
  return { kind: 'answer', head, body, bodyBytes, ...defined({ missing }) }
}

function joinHeaders(headers: Dispatcher.ResponseData['headers']): AnswerHead['headers'] {
  const joined: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) joined[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return joined
}

function redirectOf({ status, headers }: AnswerHead, from: URL): GuardedAnswer | undefined {
  if (![301, 302, 303, 307, 308].includes(status)) return undefined
  const head = { status, headers }
  const to = headers.location
  const target = to === undefined ? undefined : parseUrl(to, from)
  if (target === undefined) {
    const message = `The endpoint redirects (${status}) without saying where.`
    return { kind: 'redirect', head, location: null, message }
  }
  target.username = ''
  target.password = ''
  const location = cleanText(target.href, MAX_LOCATION_CHARS)
  const message = `The endpoint redirects (${status}) to ${location}.`
  return { kind: 'redirect', head, location, message }
}

/** The part of an answer before its body. Names are lower-case; a header that came twice is joined with a comma. */
interface AnswerHead {
  status: number
  headers: Readonly<Record<string, string>>
}

/** The end of a guarded call; nothing is thrown. */
export type GuardedAnswer =
  | {
      kind: 'answer'
      head: AnswerHead
      /** UTF-8, or base64 as asked. A body that was compressed against the request is empty, or as it came in base64. */
      body: string
      bodyBytes: number
      /** A sentence that says why the rest of the body is missing; only with `keepsPart`. */
      missing?: string
    }
  /** `location` is the target, resolved and bounded, never followed; `null` when there is none. */
  | { kind: 'redirect'; head: AnswerHead; location: string | null; message: string }
  /** Refused before or right after the connection was made; no byte was sent. */
  | { kind: 'blocked'; message: string }
  /** `head` is present when only the body was missing. */
  | { kind: 'timeout'; head?: AnswerHead; message: string }
  | { kind: 'too_large'; head?: AnswerHead; message: string }
  /** `code` comes from the system, TLS or the HTTP parser: `ECONNREFUSED`, `CERT_HAS_EXPIRED`… */
  | { kind: 'unreachable'; head?: AnswerHead; code: string; message: string }

/** Returns the status and headers of an answer, if there are any. */
export function headOf(answer: GuardedAnswer): AnswerHead | undefined {
  return 'head' in answer ? answer.head : undefined
}

interface CallTimes {
  connectMs: number
  headersMs: number
  bodyMs: number
  totalMs: number
}

/** The phases of a call, with what is said of one that took too long. Each has its own limit, and the call as a whole has one. */
const lateSentences = {
  connect: 'The host did not take the connection in time',
  headers: 'The host did not answer in time',
  body: 'The body of the answer did not end in time',
}
type CallPhase = keyof typeof lateSentences

type CallClock = ReturnType<typeof startCallClock>

/** Bounds a call by the clock: its signal aborts when a phase or the whole call takes too long, or `parent` aborts. */
function startCallClock(times: CallTimes, parent: AbortSignal | undefined) {
  const abort = new AbortController()
  const limits = { connect: times.connectMs, headers: times.headersMs, body: times.bodyMs }
  let phase: CallPhase = 'connect'
  let lateness: string | undefined
  const expire = (end: string) => {
    lateness = `${lateSentences[phase]}${end}`
    abort.abort()
  }
  const stopWithParent = () => abort.abort()
  parent?.addEventListener('abort', stopWithParent, { once: true })
  if (parent?.aborted === true) abort.abort()
  const total = setTimeout(expire, times.totalMs, ', all steps together.')
  let part = setTimeout(expire, limits.connect, '.')
  return {
    signal: abort.signal,
    /** Says what took too long; `undefined` while there is time. */
    lateness: () => lateness,
    /** Starts the time of a phase and ends that of the phase before. */
    enter(next: CallPhase): void {
      phase = next
      clearTimeout(part)
      part = setTimeout(expire, limits[next], '.')
    },
    stop(): void {
      clearTimeout(total)
      clearTimeout(part)
      parent?.removeEventListener('abort', stopWithParent)
    },
  }
}

const certificateCode =
  /^(CERT_|ERR_TLS_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|ERR_SSL_)/
const NOT_HTTP = 'HPE_INVALID'
/** Codes are short names of Node and undici; anything else is not repeated. */
const plainCode = /^[A-Z0-9_]{1,60}$/

const sentences: Record<string, string> = {
  ENOTFOUND: 'The host name does not resolve to an address of the public internet.',
  ESERVFAIL: 'The name servers of the host fail to answer.',
  ETIMEOUT: 'The name servers of the host do not answer.',
  EAI_AGAIN: 'The name servers of the host do not answer.',
  ECONNREFUSED: 'The host refuses the connection.',
  ECONNRESET: 'The host closed the connection without an answer.',
  UND_ERR_SOCKET: 'The host closed the connection without a whole answer.',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'The host closed the connection without a whole answer.',
}

/** Describes the error that ended a call. Texts of errors can hold addresses and are not repeated. */
function toFailure(
  error: unknown,
  clock: CallClock,
  head: AnswerHead | undefined,
  headerLimitBytes: number,
): Exclude<GuardedAnswer, { kind: 'answer' }> {
  const known = head === undefined ? {} : { head }
  const lateness = clock.lateness()
  if (lateness !== undefined) return { kind: 'timeout', ...known, message: lateness }
  if (clock.signal.aborted) return unreachable('ABORTED', 'The call was given up on our side.')
  const blocked = causeOf(error, (cause) => cause instanceof BlockedTargetError)
  if (blocked !== undefined) return { kind: 'blocked', message: blocked.message }
  const found = codeOf(error)
  const code = found === 'ENODATA' ? 'ENOTFOUND' : found
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    const message = `The headers of the answer are above ${headerLimitBytes / 1024} KiB.`
    return { kind: 'too_large', message }
  }
  return { ...unreachable(code, sentenceOf(code)), ...known }
}

function unreachable(code: string, message: string) {
  return { kind: 'unreachable' as const, code, message }
}

function sentenceOf(code: string): string {
  if (certificateCode.test(code))
    return `The TLS certificate of the host is not accepted (${code}).`
  if (code === NOT_HTTP) return 'The host did not answer in HTTP.'
  return sentences[code] ?? `The host cannot be reached (${code}).`
}

function codeOf(error: unknown): string {
  // undici gives some of these no code.
  if (causeOf(error, ({ name }) => name === 'HTTPParserError') !== undefined) return NOT_HTTP
  const coded = causeOf(error, (cause) => 'code' in cause && typeof cause.code === 'string')
  const code = (coded as { code?: string } | undefined)?.code ?? 'UNKNOWN'
  return plainCode.test(code) ? code : 'UNKNOWN'
}

/** Finds the first error that fits, along the causes and the tries of a connection. */
function causeOf(error: unknown, fits: (cause: Error) => boolean): Error | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; depth++) {
    if (fits(cause)) return cause
    cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause
  }
  return undefined
}

/** Hands a call to this server as if it came over the network. */
type Inject = (call: {
  method: GuardedRequest['method']
  url: string
  headers: Record<string, string>
  payload?: string
}) => Promise<{
  statusCode: number
  headers: Record<string, string | number | string[] | undefined>
  body: string
  rawPayload: Buffer
}>

export type OwnCalls = ReturnType<typeof createOwnCalls>

/**
 * Creates the calls of hosted endpoints. The guard refuses this service's own addresses, because they lead to other routes
 * too. `prefix` begins the hosted paths on `origin`; without it no endpoint is hosted.
 */
export function createOwnCalls(origin: string, prefix: string | undefined) {
  let server: Inject | undefined

  function isHosted(text: string): boolean {
    if (prefix === undefined) return false
    const url = parseUrl(text)
    return url?.origin === origin && url.pathname.startsWith(prefix)
  }

  const call: GuardedFetch = async (request) => {
    const { url, method, body, accept = 'application/json' } = request
    if (server === undefined) {
      return { kind: 'unreachable', code: 'ENOTYET', message: 'The service is starting.' }
    }
    const { pathname, search } = new URL(url)
    const answer = await server({
      method,
      url: pathname + search,
      headers: { accept, ...contentTypeOf(request), ...request.headers },
      ...defined({ payload: body }),
    })
    const entries = Object.entries(defined(answer.headers))
    const headers = Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
    return {
      kind: 'answer',
      head: { status: answer.statusCode, headers },
      body: request.asBase64 === true ? answer.rawPayload.toString('base64') : answer.body,
      bodyBytes: answer.rawPayload.length,
    }
  }

  return {
    isHosted,
    /** Sends calls of hosted endpoints to this server, and all others through `guarded`. */
    around(guarded: GuardedFetch): GuardedFetch {
      return (request) => (isHosted(request.url) ? call(request) : guarded(request))
    },
    /** Connects the server; before that hosted endpoints cannot be reached. */
    attach(inject: Inject): void {
      server = inject
    },
  }
}
