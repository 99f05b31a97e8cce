import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { ReadinessAnswer } from '@arcus/protocol/answers/service'
import type { FastifyInstance } from 'fastify'
import { unavailableAnswer } from './errors.js'
import { securityHeaders } from './headers.js'

/** The open port of a service that still starts. */
export interface StartupServer {
  /** Sets the reason that `/ready` gives: a sentence for everybody, without addresses of nodes or paths. */
  explain(reason: string): void
  /** Lets the finished service answer on the same port. No connection is refused meanwhile. */
  handOver(app: FastifyInstance): Promise<void>
  close(): void
}

const HEADERS_TIMEOUT_MS = 5_000

/**
 * Opens the port before there is a service: `/health` answers 200, `/ready` 503 with the reason, and everything else 503.
 * Rejects when the port cannot be opened.
 */
export async function openStartupServer(place: {
  host: string
  port: number
}): Promise<StartupServer> {
  let reason = 'the service starts'
  const options = { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: HEADERS_TIMEOUT_MS }
  const server = createServer(options, (request, response) => answer(request, response, reason))
  await listen(server, place)
  return {
    explain(text) {
      reason = text
    },
    async handOver(app) {
      await app.ready()
      // The other server takes the listening socket over, and with it every connection from now on.
      await listen(app.server, server)
    },
    close: () => void server.close(),
  }
}

function listen(server: Server, place: Server | { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(place, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function answer(request: IncomingMessage, response: ServerResponse, reason: string): void {
  const [path = ''] = (request.url ?? '').split('?')
  const [status, body] = bodyOf(path, reason)
  // The next request of this caller then comes over a new connection, to the finished service.
  const headers = { 'content-type': 'application/json; charset=utf-8', connection: 'close' }
  const wait = status === 503 ? { 'retry-after': '1', 'cache-control': 'no-store' } : {}
  response.writeHead(status, { ...securityHeaders, ...headers, ...wait })
  response.end(JSON.stringify(body))
  // A body that nobody reads would reset the connection, and the caller could lose the answer.
  request.resume()
}

function bodyOf(path: string, reason: string): [number, unknown] {
  if (path === '/health') return [200, { status: 'ok' }]
  if (path === '/ready') {
    const checks = [{ name: 'start', ok: false, detail: reason }]
    return [503, { status: 'not_ready', checks } satisfies ReadinessAnswer]
  }
  const family = path === '/verify' || path === '/settle' ? path.slice(1) : 'plain'
  const message = 'The service is starting and did nothing with this request; try again.'
  return [503, unavailableAnswer(family as 'verify' | 'settle' | 'plain', message)]
}
