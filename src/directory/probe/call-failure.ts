import type { CallClock } from './call-clock.js'
import type { AnswerHead, GuardedAnswer } from './guarded-answer.js'
import { BlockedTargetError } from './guarded-connect.js'

const certificateCode =
  /^(CERT_|ERR_TLS_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|ERR_SSL_)/
const NOT_HTTP = 'HPE_INVALID'
/** Codes are short words of Node and undici; anything else is not repeated. */
const plainCode = /^[A-Z0-9_]{1,60}$/

const sentences: Record<string, string> = {
  ENOTFOUND: 'The host name does not resolve to an address.',
  ENODATA: 'The host name does not resolve to an address.',
  ESERVFAIL: 'The name servers of the host fail to answer.',
  ETIMEOUT: 'The name servers of the host do not answer.',
  EAI_AGAIN: 'The name servers of the host do not answer.',
  ECONNREFUSED: 'The host refuses the connection.',
  ECONNRESET: 'The host closed the connection without an answer.',
  UND_ERR_SOCKET: 'The host closed the connection without a whole answer.',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'The host closed the connection without a whole answer.',
}

/** Turns whatever ended a call into an answer in words; texts of errors can hold addresses and are not repeated. */
export function toFailure(
  error: unknown,
  clock: CallClock,
  head: AnswerHead | undefined,
  headerLimitBytes: number,
): GuardedAnswer {
  const known = head === undefined ? {} : { head }
  const expired = clock.expired()
  if (expired !== undefined) {
    return { kind: 'timeout', ...known, message: timeoutMessage(clock, expired === 'total') }
  }
  if (clock.signal.aborted) return unreachable('ABORTED', 'The call was given up on our side.')
  const blocked = causeOf(error, (cause) => cause instanceof BlockedTargetError)
  if (blocked !== undefined) return { kind: 'blocked', message: blocked.message }
  const code = codeOf(error)
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    const message = `The headers of the answer are above ${headerLimitBytes / 1024} KiB.`
    return { kind: 'too_large', message }
  }
  return { ...unreachable(code, sentenceOf(code)), ...known }
}

function timeoutMessage(clock: CallClock, isTotal: boolean): string {
  const what = {
    connect: 'The host did not take the connection in time.',
    headers: 'The host did not answer in time.',
    body: 'The body of the answer did not end in time.',
  }[clock.phase()]
  return isTotal ? `${what.slice(0, -1)}, all steps together.` : what
}

function unreachable(code: string, message: string): GuardedAnswer {
  return { kind: 'unreachable', code, message }
}

function sentenceOf(code: string): string {
  if (certificateCode.test(code))
    return `The TLS certificate of the host is not accepted (${code}).`
  if (code === NOT_HTTP) return 'The host did not answer in HTTP.'
  return sentences[code] ?? `The host cannot be reached (${code}).`
}

function codeOf(error: unknown): string {
  // undici gives some of these no code.
  if (causeOf(error, ({ name }) => name === 'HTTPParserError') !== undefined) return NOT_HTTP
  const coded = causeOf(error, (cause) => 'code' in cause && typeof cause.code === 'string')
  const code = (coded as { code?: string } | undefined)?.code ?? 'UNKNOWN'
  return plainCode.test(code) ? code : 'UNKNOWN'
}

/** The first error of the chain, and of the tries a connection made, that fits. */
function causeOf(error: unknown, fits: (cause: Error) => boolean): Error | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; depth++) {
    if (fits(cause)) return cause
    cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause
  }
  return undefined
}
