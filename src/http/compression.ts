import compress from '@fastify/compress'
import type { FastifyInstance } from 'fastify'

/** Smaller answers are not worth the work. */
const COMPRESS_FROM_BYTES = 1_024

/** Compresses the answers of the routes registered after it in the same scope, and says to caches that it may. */
export async function installCompression(app: FastifyInstance): Promise<void> {
  // Small answers and those that were not changed say so too: a cache must not take one form for the only one.
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('vary', 'accept-encoding')
  })
  await app.register(compress, { threshold: COMPRESS_FROM_BYTES, globalDecompression: false })
}
