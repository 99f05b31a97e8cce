import { reasons } from '../x402/reasons.js'

/** A code of an answer as it is documented. */
export interface DescribedCode {
  /** On the wire, in `error`, `invalidReason` or `errorReason`. */
  code: string
  status: number
  /** When it is given, in one sentence. */
  meaning: string
}

/** The codes of answers that are not about a payment; writes of listings have more of their own. */
export const httpCodes = {
  invalidRequest: {
    code: 'invalid_request',
    status: 400,
    meaning: 'A parameter, the body or the URL is malformed; the sentence names what.',
  },
  notSignedIn: {
    code: 'not_signed_in',
    status: 401,
    meaning: 'There is no session, or it has ended, or the sign-in was refused.',
  },
  notFound: { code: 'not_found', status: 404, meaning: 'There is nothing of this name.' },
  endpointNotFound: {
    code: 'endpoint_not_found',
    status: 404,
    meaning: 'The merchant has no endpoint of this id.',
  },
  methodNotAllowed: {
    code: 'method_not_allowed',
    status: 405,
    meaning: 'The path exists with the methods that `Allow` names.',
  },
  requestTimeout: {
    code: 'request_timeout',
    status: 408,
    meaning: 'The request took too long to arrive.',
  },
  bodyTooLarge: {
    code: reasons.bodyTooLarge.code,
    status: reasons.bodyTooLarge.status,
    meaning: reasons.bodyTooLarge.meaning,
  },
  rateLimited: {
    code: reasons.rateLimited.code,
    status: reasons.rateLimited.status,
    meaning: reasons.rateLimited.meaning,
  },
  headersTooLarge: {
    code: 'headers_too_large',
    status: 431,
    meaning: 'The headers are larger than is read.',
  },
  internalError: {
    code: 'internal_error',
    status: 500,
    meaning: 'A fault on our side; the log has it.',
  },
  unavailable: {
    code: 'unavailable',
    status: 503,
    meaning: 'The service is starting, stopping or overloaded; Retry-After says when to come back.',
  },
  busy: {
    code: 'busy',
    status: 503,
    meaning: 'As many of these as are served at once are being served.',
  },
  chainUnavailable: {
    code: 'chain_unavailable',
    status: 503,
    meaning: 'The chain had to be asked about a contract wallet and could not be.',
  },
} as const satisfies Record<string, DescribedCode>
