import { Readable } from 'node:stream'

type BodySource = Readable | ReadableStream

/** Returns whether a payload of Fastify is a stream, of Node or of the web. */
export function isStream(payload: unknown): payload is BodySource {
  if (typeof payload !== 'object' || payload === null) return false
  const { pipe, getReader } = payload as { pipe?: unknown; getReader?: unknown }
  return typeof pipe === 'function' || typeof getReader === 'function'
}

/**
 * Reads a stream to its end. Rejects with the error of the stream, or when it is longer than `maxBytes`. The stream is
 * destroyed then, and also when `signal` aborts.
 */
export async function holdBody(
  source: BodySource,
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<Buffer> {
  const stream = endWith(signal, toReadable(source))
  const held: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of stream) {
      const buffer = toBuffer(chunk)
      bytes += buffer.length
      if (bytes > maxBytes) throw tooLong(maxBytes)
      held.push(buffer)
    }
    return Buffer.concat(held, bytes)
  } finally {
    stream.destroy()
  }
}

/**
 * Waits for the first bytes of a stream, or its end, and returns a stream that starts with them. Rejects when the stream
 * fails before its first byte. It is destroyed when `signal` aborts, even if nobody has read from it.
 */
export async function awaitFirstBytes(source: BodySource, signal: AbortSignal): Promise<Readable> {
  const stream = endWith(signal, toReadable(source))
  const chunks = stream[Symbol.asyncIterator]()
  const first = await chunks.next()
  return Readable.from(following(first, chunks), { objectMode: false })
}

async function* following(first: IteratorResult<unknown>, chunks: AsyncIterator<unknown>) {
  for (let next = first; next.done !== true; next = await chunks.next()) yield toBuffer(next.value)
}

function endWith(signal: AbortSignal, stream: Readable): Readable {
  const stop = () => stream.destroy(new Error('the buyer is gone'))
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  // Errors go to the reader. If nobody reads any more, they are swallowed, so that they do not end the process.
  stream.on('error', () => {})
  stream.once('close', () => signal.removeEventListener('abort', stop))
  return stream
}

function toReadable(source: BodySource): Readable {
  if ('getReader' in source)
    return Readable.fromWeb(source as Parameters<typeof Readable.fromWeb>[0])
  if (Symbol.asyncIterator in source) return source
  // Wraps streams older than async iteration.
  return new Readable().wrap(source)
}

function toBuffer(chunk: unknown): Buffer {
  if (typeof chunk === 'string') return Buffer.from(chunk)
  if (chunk instanceof Uint8Array) return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
  throw new Error('a streamed body must be made of strings or bytes')
}

function tooLong(maxBytes: number): Error {
  const message =
    `The body is longer than ${maxBytes} bytes, the limit for a body that is held until it is paid for.` +
    ' Raise maxHeldBytes, or set streaming to "settle-first".'
  return Object.assign(new Error(message), { code: 'X402_BODY_TOO_LONG', statusCode: 500 })
}
