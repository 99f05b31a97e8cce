import { Client, type Dispatcher } from 'undici'
import { parseUrl } from '../../x402/parse-url.js'
import { type CallClock, type CallTimes, startCallClock } from './call-clock.js'
import { toFailure } from './call-failure.js'
import { cleanText } from './clean-text.js'
import type { AnswerHead, GuardedAnswer } from './guarded-answer.js'
import { createGuardedConnector } from './guarded-connect.js'
import { createPublicResolver, type Resolve, resolveLocally } from './resolver.js'
import { judgeTarget, type TargetRules } from './target-rules.js'

export interface GuardedFetchLimits extends CallTimes {
  bodyBytes: number
  headerBytes: number
}

export const guardedFetchLimits: GuardedFetchLimits = {
  connectMs: 3_000,
  headersMs: 5_000,
  bodyMs: 5_000,
  totalMs: 10_000,
  bodyBytes: 64 * 1024,
  headerBytes: 32 * 1024,
}

const MAX_LOCATION_CHARS = 512

export interface GuardedFetchOptions extends TargetRules {
  /** Named in the User-Agent, so that whoever is called can find out by whom. */
  baseUrl: string
  /** For tests; the name servers otherwise, or the system's lookup with `allowPrivateHosts`. */
  resolve?: Resolve
  limits?: Partial<GuardedFetchLimits>
  /** Aborting gives up every call under way, for the end of the service. */
  signal?: AbortSignal
}

export interface GuardedRequest {
  url: string
  method: 'GET' | 'POST'
  /** JSON text. */
  body?: string
  /** `application/json` unless given. */
  accept?: string
}

export type GuardedFetch = (request: GuardedRequest) => Promise<GuardedAnswer>

/**
 * Makes the one client that calls addresses strangers gave us: no host outside the public internet, no redirect
 * followed, nothing decompressed, no cookie, key or proxy, everything bounded. Never rejects.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const limits = { ...guardedFetchLimits, ...options.limits }
  const resolve =
    options.resolve ?? (options.allowPrivateHosts ? resolveLocally : createPublicResolver())
  const userAgent = `Arcus-Probe/1 (+${options.baseUrl})`

  return async (request) => {
    const target = judgeTarget(request.url, options)
    if (!target.isAllowed) return { kind: 'blocked', message: target.message }
    const clock = startCallClock(limits, options.signal)
    // One client a call: no connection outlives it, so none is ever reused after its address was judged.
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
          ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
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
    return await readBody(response.body, head, limits)
  } catch (error) {
    return toFailure(error, clock, head, limits.headerBytes)
  }
}

/** A connection that is still being made does not always hear the signal. */
function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  work.catch(() => undefined)
  return new Promise((resolve, reject) => {
    const give = () => reject(signal.reason)
    if (signal.aborted) give()
    signal.addEventListener('abort', give, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', give))
  })
}

async function readBody(
  stream: Dispatcher.ResponseData['body'],
  head: AnswerHead,
  { bodyBytes: limit }: GuardedFetchLimits,
): Promise<GuardedAnswer> {
  const chunks: Buffer[] = []
  let bodyBytes = 0
  for await (const chunk of stream) {
    bodyBytes += chunk.length
    if (bodyBytes > limit) {
      const message = `The body of the answer is above ${limit / 1024} KiB.`
      return { kind: 'too_large', head, message }
    }
    chunks.push(chunk)
  }
  const encoding = head.headers['content-encoding'] ?? 'identity'
  const body = encoding === 'identity' ? new TextDecoder().decode(Buffer.concat(chunks)) : ''
  return { kind: 'answer', head, body, bodyBytes }
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
