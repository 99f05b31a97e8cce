import { hash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** An answer that anybody may keep for a minute and revalidate by its tag. */
export interface CachedBody {
  /** In UTF-8. */
  bytes: Uint8Array
  /** Weak, because the same answer also travels compressed. */
  etag: string
}

const CACHE_CONTROL = 'public, max-age=60'

/** A read that takes longer has hung, and another one starts. */
const HUNG_MS = 30_000

/**
 * Shares one read among all callers within `everyMs`, or within `keptTimes` the time that it took, up to `mostMs`. A read
 * that failed is made again for the next of them.
 */
export function shareReads<Answer>(
  everyMs: number,
  now: () => number,
  read: () => Promise<Answer>,
  { keptTimes = 0, mostMs = Number.POSITIVE_INFINITY } = {},
): () => Promise<Answer> {
  let latest: Promise<Answer> | undefined
  let freshUntil = 0
  return () => {
    if (latest === undefined || now() >= freshUntil) {
      const startedAt = now()
      // No second read starts while one is under way.
      freshUntil = startedAt + HUNG_MS
      const reading = read()
      latest = reading
      const keep = (ms: number) => {
        if (latest === reading) freshUntil = now() + ms
      }
      reading.then(
        () => keep(Math.max(everyMs, Math.min((now() - startedAt) * keptTimes, mostMs))),
        () => keep(0),
      )
    }
    return latest
  }
}

export function toCachedBody(text: string): CachedBody {
  const bytes = Buffer.from(text)
  const digest = hash('sha256', bytes, 'base64url').slice(0, 27)
  return { bytes, etag: `W/"${digest}"` }
}

/** Bodies that were sent before, and answers that are one of them. */
const sentBodies = new WeakSet<CachedBody>()
const keptAnswers = new WeakSet<FastifyReply>()

/** Returns whether the body of an answer was kept from an earlier request. */
export function isKept(reply: FastifyReply): boolean {
  return keptAnswers.has(reply)
}

/** Sends the answer, as JSON unless a type is set, or 304 to a caller that has it already. */
export function sendCached(
  request: FastifyRequest,
  reply: FastifyReply,
  body: CachedBody,
  cacheControl?: string,
): FastifyReply {
  const { bytes, etag } = body
  if (isKnown(request, reply, etag, cacheControl)) return reply
  if (sentBodies.has(body)) keptAnswers.add(reply)
  sentBodies.add(body)
  if (!reply.hasHeader('content-type')) reply.type('application/json; charset=utf-8')
  return reply.send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
}

/** An answer with its compressed form. */
export interface PackedBody {
  plain: CachedBody
  gzip: CachedBody
}

/** The tag is made from the text unless one is given. */
export function toPackedBody(text: string, etag?: string): PackedBody {
  return pack(etag === undefined ? toCachedBody(text) : { bytes: Buffer.from(text), etag })
}

export function pack(plain: CachedBody): PackedBody {
  return { plain, gzip: { bytes: gzipSync(plain.bytes), etag: plain.etag } }
}

/** Matches `gzip` in a list of encodings, unless its weight is zero. */
const TAKES_GZIP = /(?:^|,)\s*gzip\s*(?:,|$|;\s*q=(?!0(?:\.0*)?\s*(?:,|$)))/i

/** Returns whether a caller reads gzip. */
export function takesGzip({ headers }: FastifyRequest): boolean {
  return TAKES_GZIP.test(headers['accept-encoding'] ?? '')
}

/** Sends as `sendCached` does, compressed to a caller that takes gzip. */
export function sendPacked(
  request: FastifyRequest,
  reply: FastifyReply,
  { plain, gzip }: PackedBody,
  cacheControl?: string,
): FastifyReply {
  reply.header('vary', 'accept-encoding')
  if (!takesGzip(request)) return sendCached(request, reply, plain, cacheControl)
  reply.header('content-encoding', 'gzip')
  return sendCached(request, reply, gzip, cacheControl)
}

/** Sets the headers of an answer that anybody may keep for a minute unless said, and answers 304 to a caller that has it. */
export function isKnown(
  request: FastifyRequest,
  reply: FastifyReply,
  etag: string,
  cacheControl: string = CACHE_CONTROL,
): boolean {
  reply.header('cache-control', cacheControl).header('etag', etag)
  if (!hasTag(request.headers['if-none-match'], etag)) return false
  reply.code(304).removeHeader('content-type').removeHeader('content-encoding').send()
  return true
}

/** Compares as RFC 9110 sec. 13.1.2 does: weakly, with a list, or `*` for anything. */
function hasTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  const opaque = (tag: string) => tag.replace(/^W\//, '')
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? []
  return tags.some((tag) => opaque(tag) === opaque(etag))
}
