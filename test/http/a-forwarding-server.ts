import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { onTestFinished } from 'vitest'
import { createLogger } from '../../src/app/logger.js'
import { installErrorHandling } from '../../src/http/errors.js'
import { createForwarder, createForwardRest, forwardRoutes } from '../../src/http/forward.js'
import { installCors, installSecurityHeaders } from '../../src/http/headers.js'
import { healthRoutes } from '../../src/http/health.js'
import { installNotFound } from '../../src/http/not-found.js'
import { installRateLimit } from '../../src/http/rate-limit.js'
import { createServer } from '../../src/http/server.js'

export const away = 'The other server is starting again.'

export interface ForwardingWish {
  bodyLimitBytes?: number
  rateLimitMax?: number
  timeoutMs?: number
  trustProxy?: boolean | number
}

/** A server with few routes of its own, as `compose` builds it, before one that `listener` is; both end with the test. */
export async function aForwardingServer(
  listener: RequestListener | FastifyInstance,
  {
    bodyLimitBytes = 100_000,
    rateLimitMax = 0,
    timeoutMs = 5_000,
    trustProxy = false,
  }: ForwardingWish = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'arcus-forward-'))
  const socketPath = join(folder, 'inner.sock')
  const inner = await listen(listener, socketPath)
  const app = createServer({
    logger: createLogger({ level: 'silent' }),
    bodyLimitBytes: 1_000,
    settleWaitSeconds: 30,
    trustProxy,
  })
  installSecurityHeaders(app, false)
  installErrorHandling(app)
  const forwarder = createForwarder({ socketPath, bodyLimitBytes, timeoutMs, away })
  const { isOwn } = installNotFound(app, undefined, createForwardRest(forwarder))
  await installCors(app)
  installRateLimit(app, { max: rateLimitMax, windowSeconds: 60 })
  app.post('/verify', { config: { family: 'verify' } }, (request) => ({ own: request.body }))
  app.get('/supported', { config: { limit: 'exempt' } }, () => ({ kinds: [] }))
  healthRoutes(app)
  await forwardRoutes(app, { ...forwarder, isOwn })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(async () => {
    app.server.closeAllConnections()
    await app.close()
    await forwarder.close()
    await inner.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { app, url, port: Number(new URL(url).port), socketPath, closeInner: inner.close }
}

async function listen(listener: RequestListener | FastifyInstance, path: string) {
  if ('listen' in listener) {
    await listener.listen({ path })
    return { close: () => listener.close() }
  }
  const server: Server = createHttpServer(listener).listen(path)
  await once(server, 'listening')
  return {
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** A raw connection that collects what it receives. */
export function dial(port: number) {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  return { socket, closed, received: () => text }
}
