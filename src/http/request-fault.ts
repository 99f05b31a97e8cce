import { reasons } from '../x402/reasons.js'

interface RequestFaultOptions {
  statusCode: number
  /** Wire code, for `error`, `invalidReason` or `errorReason`. */
  code: string
  /** One sentence that may be shown to anybody. */
  message: string
  headers?: Readonly<Record<string, string>>
}

/** A request that cannot be served as it was made. Thrown by routes and hooks; answered as it says, not logged. */
export class RequestFault extends Error {
  override readonly name = 'RequestFault'
  readonly statusCode: number
  readonly code: string
  readonly headers: Readonly<Record<string, string>>

  constructor({ statusCode, code, message, headers = {} }: RequestFaultOptions) {
    super(message)
    this.statusCode = statusCode
    this.code = code
    this.headers = headers
  }
}

/** 429 with `Retry-After`. */
export function rateLimitFault(retryAfterSeconds: number): RequestFault {
  return new RequestFault({
    statusCode: reasons.rateLimited.status,
    code: reasons.rateLimited.code,
    message: `Too many requests from this address; try again in ${retryAfterSeconds} seconds.`,
    headers: { 'retry-after': String(retryAfterSeconds) },
  })
}
