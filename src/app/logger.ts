import { type DestinationStream, type LogFn, type Logger, pino } from 'pino'
import type { LogLevel } from './config/config.js'

/** Members that are never logged, up to three levels deep in a line. */
const secretMembers = [
  'signature',
  'privateKey',
  'privateKeys',
  'relayerPrivateKeys',
  'hostedPrivateKey',
  'attestationPrivateKey',
  'serializedTransaction',
  'signedTransaction',
  'rpcUrls',
  'pushUrls',
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
      hooks: { logMethod: createLogMethod() },
    },
    destination,
  )
}

function redactedPaths(): string[] {
  const members = secretMembers.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])
  const headers = secretHeaders.flatMap((name) => [`headers["${name}"]`, `*.headers["${name}"]`])
  return [...members, ...headers]
}

/**
 * Passes the error's message through the scrubber: without a message pino would take it past the serializer. Leaves out
 * a line about a fault of the database that says what another one said within a second.
 */
function createLogMethod() {
  const mayLog = createFaultLimit()
  return function log(this: Logger, args: Parameters<LogFn>, method: LogFn): void {
    const [first, message] = args as unknown[]
    const error = first instanceof Error ? first : (first as { err?: unknown } | null)?.err
    if (error instanceof Error && !mayLog(error, message)) return
    if (args.length === 1 && error instanceof Error)
      method.apply(this, [{ err: error }, scrub(error.message)])
    else method.apply(this, args)
  }
}

/** A full disk fails each request and each round of work: thousands of lines say no more than one. */
const FAULT_PAUSE_MS = 1_000
const MAX_FAULT_KINDS = 1_000

/** Makes the test whether a line may be logged: of faults of the database, one a second of each kind. */
function createFaultLimit(): (error: Error, message: unknown) => boolean {
  const quietUntil = new Map<string, number>()
  return (error, message) => {
    const fault = findStoreFault(error)
    if (fault === undefined) return true
    const kind = `${fault} ${message ?? error.message}`
    const now = performance.now()
    if (now < (quietUntil.get(kind) ?? 0)) return false
    if (quietUntil.size >= MAX_FAULT_KINDS) quietUntil.clear()
    quietUntil.set(kind, now + FAULT_PAUSE_MS)
    return true
  }
}

/** Returns the code of a fault of the database or its disk; `undefined` for any other error. */
function findStoreFault(error: Error): string | undefined {
  let at: unknown = error
  for (let depth = 0; at instanceof Error && depth <= MAX_CAUSES; depth++, at = at.cause) {
    const code = 'code' in at ? String(at.code) : ''
    if (/^(SQLITE_|ENOSPC$|EDQUOT$|EIO$)/.test(code)) return code
    if (at.name === 'StoreUnavailableError') return at.name
  }
  return undefined
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
