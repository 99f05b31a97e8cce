import { type FastifyInstance, fastify } from 'fastify'

/** An app over HTTP/2. Fastify has a type of its own for it, for which plugins would have to be typed once more. */
export function anHttp2App(): FastifyInstance {
  return fastify({ http2: true }) as unknown as FastifyInstance
}
