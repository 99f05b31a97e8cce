import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createGuardedFetch,
  type GuardedFetchOptions,
} from '../../../../src/directory/probe/guarded-fetch.js'

export interface Target {
  url: string
  port: number
  /** How many connections were made, whether or not anything came over them. */
  connections(): number
  close(): Promise<void>
}

/** A real server on loopback. */
export async function aTarget(answer: RequestListener): Promise<Target> {
  let connections = 0
  const server = createServer({ maxHeaderSize: 65_536 }, answer)
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A client that may call loopback, with times that a busy machine keeps. */
export function aLocalFetch(over: Partial<GuardedFetchOptions> = {}) {
  return createGuardedFetch({
    allowPrivateHosts: true,
    ownOrigins: [],
    baseUrl: 'https://pay.example.com',
    limits: { connectMs: 2_000, headersMs: 2_000, bodyMs: 2_000, totalMs: 4_000 },
    ...over,
  })
}
