import type { IncomingMessage } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'

/** The header that names a request, in both directions. */
export const REQUEST_ID = 'x-request-id'

/** An id of a caller: at most 128 visible ASCII characters, so that it can stand in a log and in a header. */
const wellFormed = /^[\x21-\x7e]{1,128}$/

/** Takes the id that a caller gave if it is well formed, and makes one that is unique within a process otherwise. */
export function createRequestIds(): (request: Pick<IncomingMessage, 'headers'>) => string {
  const start = Date.now().toString(36)
  let count = 0
  return ({ headers }) => {
    const given = headers[REQUEST_ID]
    if (typeof given === 'string' && wellFormed.test(given)) return given
    return `${start}-${(++count).toString(36)}`
  }
}

/** Names the request in every answer. */
export function answerRequestIds(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header(REQUEST_ID, request.id)
    done()
  })
}

/** The members of pino that a logger of a request passes lines to. */
interface Parent extends FastifyBaseLogger {
  isLevelEnabled?(level: string): boolean
}

/**
 * Makes a logger that names its request in each line. The child logger is made with the first line that is written,
 * because making one costs more than checking a body, and most requests write nothing.
 */
export function createRequestLogger(parent: Parent, bindings: object): FastifyBaseLogger {
  return new RequestLogger(parent, bindings)
}

class RequestLogger implements FastifyBaseLogger {
  readonly #parent: Parent
  readonly #bindings: object
  #own: FastifyBaseLogger | undefined

  constructor(parent: Parent, bindings: object) {
    this.#parent = parent
    this.#bindings = bindings
  }

  get level(): string {
    return this.#parent.level
  }

  trace(...line: unknown[]): void {
    this.#write('trace', line)
  }

  debug(...line: unknown[]): void {
    this.#write('debug', line)
  }

  info(...line: unknown[]): void {
    this.#write('info', line)
  }

  warn(...line: unknown[]): void {
    this.#write('warn', line)
  }

  error(...line: unknown[]): void {
    this.#write('error', line)
  }

  fatal(...line: unknown[]): void {
    this.#write('fatal', line)
  }

  silent(): void {}

  child(bindings: object): FastifyBaseLogger {
    return new RequestLogger(this.#parent, { ...this.#bindings, ...bindings })
  }

  #write(level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal', line: unknown[]): void {
    if (this.#parent.isLevelEnabled?.(level) === false) return
    this.#own ??= this.#parent.child(this.#bindings)
    this.#own[level](...(line as Parameters<FastifyBaseLogger['info']>))
  }
}
