import compress from '@fastify/compress'
import type { FastifyInstance } from 'fastify'

/** Smaller answers are not worth the work. */
const COMPRESS_FROM_BYTES = 1_024

/**
 * Compresses the answers of the routes that are registered after it in the same scope, and says so to caches. A whole answer
 * is compressed on the calling thread. The plugin would hand a large one to Node's pool of four threads, on which payments
 * wait for the disk: next to 60 of them, an `fdatasync` took 85 ms instead of 2 (2026-11-29, p50).
 */
export async function installCompression(app: FastifyInstance): Promise<void> {
  // Small answers and 304s need the header too: a cache must not take one encoding for the only one.
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('vary', 'accept-encoding')
  })
  await app.register(compress, {
    threshold: COMPRESS_FROM_BYTES,
    syncThreshold: Number.POSITIVE_INFINITY,
    globalDecompression: false,
  })
}
