import { type DestinationStream, type LogFn, type Logger, pino } from 'pino'
import type { LogLevel } from '../config/config.js'

/** Members that are never logged, up to three levels deep in a line. */
const secretMembers = [
  'signature',
  'privateKey',
  'privateKeys',
  'relayerPrivateKeys',
  'hostedPrivateKey',
  'serializedTransaction',
  'signedTransaction',
  'rpcUrls',
  'RELAYER_PRIVATE_KEYS',
  'relayerSigner',
  'RELAYER_SIGNER_URL',
]
const secretHeaders = [
  'authorization',
  'cookie',
  'payment-signature',
  'x-payment',
  'idempotency-key',
]

const MAX_CAUSES = 5

/**
 * Makes the logger: JSON lines, written asynchronously and flushed on exit, without signatures, keys or addresses
 * of nodes. `destination` is standard output unless a test gives another.
 */
export function createLogger(options: {
  level: LogLevel
  destination?: DestinationStream
}): Logger {
  const destination = options.destination ?? pino.destination({ dest: 1, sync: false })
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: redactedPaths(), censor: '[redacted]' },
      serializers: { err: (error: unknown) => serializeError(error) },
      hooks: { logMethod: logScrubbedMessage },
    },
    destination,
  )
}

function redactedPaths(): string[] {
  const members = secretMembers.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  const headers = secretHeaders.flatMap((name) => [`headers["${name}"]`, `*.headers["${name}"]`])
  return [...members, ...headers]
}

/** Passes the error's message through the scrubber: without a message pino would take it past the serializer. */
function logScrubbedMessage(this: Logger, args: Parameters<LogFn>, method: LogFn): void {
  const [first] = args as [unknown]
  const error = first instanceof Error ? first : (first as { err?: unknown } | null)?.err
  if (args.length === 1 && error instanceof Error)
    method.apply(this, [{ err: error }, scrub(error.message)])
  else method.apply(this, args)
}

interface SerializedError {
  type: string
  message: string
  code?: string | number
  stack?: string
  cause?: SerializedError
}

/**
 * Returns an error as the log keeps it: own members are dropped (a client's error carries its request, URL and body), and
 * URLs and long hex are cut out of the texts, as both may hold a key or a signature.
 */
export function serializeError(error: unknown, depth = 0): SerializedError {
  if (!(error instanceof Error)) {
    return {
      type: typeof error,
      message: typeof error === 'string' ? scrub(error) : 'not an error',
    }
  }
  const serialized: SerializedError = { type: error.name, message: scrub(error.message) }
  if ('code' in error && (typeof error.code === 'string' || typeof error.code === 'number')) {
    serialized.code = error.code
  }
  if (error.stack !== undefined) serialized.stack = scrub(error.stack)
  if (error.cause !== undefined && depth < MAX_CAUSES) {
    serialized.cause = serializeError(error.cause, depth + 1)
  }
  return serialized
}

/** Removes URLs and long hex. Hashes and nonces (64 digits) stay; a signature has 130, calldata more. */
function scrub(text: string): string {
  return text
    .replace(/\b(?:https?|wss?|postgres(?:ql)?):\/\/[^\s"'<>)]+/gi, '[url]')
    .replace(/0x[0-9a-f]{65,}/gi, '[hex]')
}
