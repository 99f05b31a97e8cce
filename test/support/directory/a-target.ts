import {
  createGuardedFetch,
  type GuardedFetchOptions,
} from '../../../src/directory/probe/guarded-fetch.js'
import { startServer, type TestServer } from '../a-server.js'

export type Target = TestServer

/** A real server on loopback. */
export const aTarget = startServer

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
