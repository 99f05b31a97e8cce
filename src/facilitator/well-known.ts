import type { FastifyInstance } from 'fastify'
import type { FacilitatorAnswer } from '../api/service.js'
import { type CachedBody, sendCached, toCachedBody } from '../http/cached-reply.js'
import { describedAs } from '../http/operation.js'
import { wellKnownOperation } from './operations.js'

/** Callers may keep the answer for as long. The wallet that `upto` names takes turns, and would change the tag each time. */
const KEPT_MS = 60_000

/** Serves `/.well-known/x402`: all that a stranger must know to use or to check this facilitator. */
export function wellKnownRoute(app: FastifyInstance, describe: () => FacilitatorAnswer): void {
  let made: { body: CachedBody; at: number } | undefined
  app.get('/.well-known/x402', describedAs(wellKnownOperation), (request, reply) => {
    const now = performance.now()
    if (made === undefined || now - made.at >= KEPT_MS) {
      made = { body: toCachedBody(JSON.stringify(describe())), at: now }
    }
    return sendCached(request, reply, made.body)
  })
}
