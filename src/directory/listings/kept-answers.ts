import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { isKnown, type PackedBody, sendPacked, toPackedBody } from '../../http/cached-reply.js'

/** An answer about one version of a thing. */
interface VersionedAnswer {
  /** What is answered, such as `openapi my-shop`. */
  key: string
  /** Another one for each answer that differs. */
  version: string
  /** The media type. */
  type: string
  /** That of `isKnown` unless given. */
  cacheControl?: string
  write(): Promise<string>
}

/** Answers that are written once for each version, and then kept. */
export interface KeptAnswers {
  send(request: FastifyRequest, reply: FastifyReply, answer: VersionedAnswer): Promise<FastifyReply>
}

/** Some hundred of the largest listings, compressed and not. */
const MAX_KEPT_BYTES = 48 * 2 ** 20

/**
 * Keeps written answers by their version, up to a bound of memory. A caller who has the version gets a 304 before anything
 * is written, and many who ask at once wait for one writing.
 */
export function createKeptAnswers(): KeptAnswers {
  // Versions of another database begin anew, so the tags differ with each start.
  const boot = randomBytes(6).toString('base64url')
  const kept = new LRUCache<string, { version: string; body: PackedBody }>({
    maxSize: MAX_KEPT_BYTES,
    sizeCalculation: ({ body: { plain, gzip } }) => plain.bytes.length + gzip.bytes.length,
  })
  const writing = new Map<string, Promise<PackedBody>>()

  async function write({ key, version, write }: VersionedAnswer, etag: string) {
    const body = toPackedBody(await write(), etag)
    kept.set(key, { version, body })
    return body
  }

  function read(answer: VersionedAnswer, etag: string): PackedBody | Promise<PackedBody> {
    const { key, version } = answer
    const known = kept.get(key)
    if (known?.version === version) return known.body
    const turn = `${key} ${version}`
    const underWay = writing.get(turn)
    if (underWay !== undefined) return underWay
    const body = write(answer, etag).finally(() => writing.delete(turn))
    writing.set(turn, body)
    return body
  }

  return {
    async send(request, reply, answer) {
      const etag = `W/"${boot}-${answer.version}"`
      const { cacheControl } = answer
      reply.header('vary', 'accept-encoding')
      if (isKnown(request, reply, etag, cacheControl)) return reply
      const body = await read(answer, etag)
      return sendPacked(request, reply.type(answer.type), body, cacheControl)
    },
  }
}
