import type { ServerResponse } from 'node:http'

export interface Shutter {
  /** From here on the response is as if it had never been shut. */
  open(): void
}

type Method = (...args: unknown[]) => unknown

const shutMethods = ['writeHead', 'write', 'end', 'flushHeaders'] as const
const FIRST_FAILURE = 400

/**
 * Shuts a response for everything but failures until it is opened, for what is written past Fastify (`reply.raw`,
 * `reply.hijack()`) passes no hook and would be given away. A try is answered with a 500 and told to `onTry`; nothing
 * is thrown, because it may come from a timer where an error would end the process.
 */
export function shut(response: ServerResponse, onTry: () => void): Shutter {
  const methods = response as unknown as Record<string, Method>
  let state: 'shut' | 'open' | 'refused' = 'shut'

  function refuse() {
    state = 'open'
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    response.statusCode = 500
    response.setHeader('content-type', 'application/json; charset=utf-8')
    response.end('{"error":"not_settled","message":"The answer was written before it was paid."}')
    state = 'refused'
    onTry()
  }

  for (const name of shutMethods) {
    const original = methods[name]
    // Responses of HTTP/2 lack one of them.
    if (original === undefined) continue
    methods[name] = (...args) => {
      const status = name === 'writeHead' ? Number(args[0]) : response.statusCode
      if (state === 'shut' && status >= FIRST_FAILURE) state = 'open'
      if (state === 'open') return original.apply(response, args)
      if (state === 'shut') refuse()
      // As a stream that took it: what is written from here on goes nowhere.
      return name === 'write' ? true : response
    }
  }
  return {
    open() {
      if (state === 'shut') state = 'open'
    },
  }
}
