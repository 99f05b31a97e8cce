import { defined } from '@arcus/protocol/x402/json'
import { parseUrl } from '@arcus/protocol/x402/parse-url'
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
