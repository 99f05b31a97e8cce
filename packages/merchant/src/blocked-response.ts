import type { ServerResponse } from 'node:http'

/** The first status of an answer that is a failure, which costs nothing and is never held back. */
export const FIRST_FAILURE = 400

type Method = (...args: unknown[]) => unknown

const blockedMethods = ['writeHead', 'write', 'end', 'flushHeaders'] as const
/** Methods that send something before the answer, which may be worth the price: it is never sent. */
const silentMethods = [
  'writeEarlyHints',
  'writeInformation',
  'writeContinue',
  'writeProcessing',
  'createPushResponse',
] as const

/**
 * Blocks a response for everything but failures, and returns a function that unblocks it. A handler that writes past
 * Fastify (`reply.raw`, `reply.hijack()`) passes no hook and would give the paid answer away. Such an attempt is answered
 * with a 500 and calls `onAttempt`. Nothing is thrown, because it may come from a timer, where an error would end the
 * process.
 */
export function blockResponse(response: ServerResponse, onAttempt: () => void): () => void {
  const methods = response as unknown as Record<string, Method>
  let state: 'blocked' | 'open' | 'refused' = 'blocked'

  function refuseWrite() {
    state = 'open'
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    response.statusCode = 500
    response.setHeader('content-type', 'application/json; charset=utf-8')
    response.end('{"error":"not_settled","message":"The answer was written before it was paid."}')
    state = 'refused'
    onAttempt()
  }

  for (const name of blockedMethods) {
    const original = methods[name]
    // Responses of HTTP/2 lack one of these methods.
    if (original === undefined) continue
    methods[name] = (...args) => {
      const status = name === 'writeHead' ? Number(args[0]) : response.statusCode
      if (state === 'blocked' && status >= FIRST_FAILURE) state = 'open'
      if (state === 'open') return original.apply(response, args)
      if (state === 'blocked') refuseWrite()
      // The caller sees a stream that took the data. Everything written from here on is dropped.
      return name === 'write' ? true : response
    }
  }
  for (const name of silentMethods) {
    const original = methods[name]
    if (original === undefined) continue
    methods[name] = (...args) => {
      if (state === 'open') return original.apply(response, args)
      const done = args.at(-1)
      return typeof done === 'function' ? done() : undefined
    }
  }
  // Trailers go out with the answer, whichever it is, so they wait until it is the paid one.
  const held: unknown[][] = []
  const addTrailers = methods.addTrailers as Method
  methods.addTrailers = (...args) => {
    if (state === 'open') addTrailers.apply(response, args)
    else held.push(args)
  }
  return () => {
    if (state !== 'blocked') return
    state = 'open'
    for (const args of held) addTrailers.apply(response, args)
  }
}
