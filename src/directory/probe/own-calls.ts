import { parseUrl } from '../../x402/parse-url.js'
import { contentTypeOf, type GuardedFetch, type GuardedRequest } from './guarded-fetch.js'

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

/** Calls of hosted endpoints. The guard refuses this service's own addresses, because they lead to other routes too. */
export interface OwnCalls {
  /** Sends calls of hosted endpoints to this server, and all others through `guarded`. */
  around(guarded: GuardedFetch): GuardedFetch
  /** Connects the server; before that hosted endpoints cannot be reached. */
  attach(inject: Inject): void
}

/** `prefix` begins the hosted paths on `origin`; without it no endpoint is hosted. */
export function createOwnCalls(origin: string, prefix: string | undefined): OwnCalls {
  let server: Inject | undefined

  function isHosted(text: string): boolean {
    if (prefix === undefined) return false
    const url = parseUrl(text)
    return url?.origin === origin && url.pathname.startsWith(prefix)
  }

  const call: GuardedFetch = async (request: GuardedRequest) => {
    const { url, method, body, accept } = request
    if (server === undefined) {
      return { kind: 'unreachable', code: 'ENOTYET', message: 'The service is starting.' }
    }
    const { pathname, search } = new URL(url)
    const answer = await server({
      method,
      url: pathname + search,
      headers: {
        accept: accept ?? 'application/json',
        ...contentTypeOf(request),
        ...request.headers,
      },
      ...(body === undefined ? {} : { payload: body }),
    })
    const entries = Object.entries(answer.headers).filter(([, value]) => value !== undefined)
    const headers = Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
    const bodyBytes = answer.rawPayload.length
    return {
      kind: 'answer',
      head: { status: answer.statusCode, headers },
      body: request.asBase64 === true ? answer.rawPayload.toString('base64') : answer.body,
      bodyBytes,
    }
  }

  return {
    around: (guarded) => (request) => (isHosted(request.url) ? call(request) : guarded(request)),
    attach(inject) {
      server = inject
    },
  }
}
