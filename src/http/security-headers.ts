import type { FastifyInstance } from 'fastify'

/**
 * What every answer carries unless its route says otherwise: it is what it says it is, belongs in no frame, loads
 * nothing, and tells no other site where the reader came from.
 */
export const securityHeaders = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

/** One year, as browsers demand of sites they are to remember. */
const STRICT_TRANSPORT = 'max-age=31536000'

/** Sets the headers before anything else answers. `isSecure`: callers come over https. Call it first. */
export function installSecurityHeaders(app: FastifyInstance, isSecure: boolean): void {
  const headers = isSecure
    ? { ...securityHeaders, 'strict-transport-security': STRICT_TRANSPORT }
    : securityHeaders
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers)
    done()
  })
}
