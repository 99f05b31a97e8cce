import { z } from 'zod'
import { reasons } from '../x402/reasons.js'

/** A code of an error answer, as it is documented. */
export interface DescribedCode {
  /** On the wire, in `error`, `invalidReason` or `errorReason`. */
  code: string
  status: number
  /** The circumstances in which it is given, in one sentence. */
  meaning: string
}

/** Writes the codes as a list in Markdown, each with its meaning. */
export function describeCodes(codes: readonly DescribedCode[]): string {
  return codes.map(({ code, meaning }) => `- \`${code}\`: ${meaning}`).join('\n')
}

/** The codes of answers that are not about a payment. Writes of listings have more codes of their own. */
export const httpCodes = {
  invalidRequest: {
    code: 'invalid_request',
    status: 400,
    meaning: 'A parameter, the body or the URL is malformed; the message names it.',
  },
  notSignedIn: {
    code: 'not_signed_in',
    status: 401,
    meaning: 'There is no session, or it has ended, or the sign-in was refused.',
  },
  notFound: { code: 'not_found', status: 404, meaning: 'There is nothing under this name.' },
  notConfirmed: {
    code: 'payment_not_confirmed',
    status: 409,
    meaning: 'The payment is not on chain yet, or it failed; the message says which.',
  },
  ambiguousNonce: {
    code: 'ambiguous_nonce',
    status: 409,
    meaning:
      'The payer used one nonce for several payments; the message names what to add to the URL.',
  },
  endpointNotFound: {
    code: 'endpoint_not_found',
    status: 404,
    meaning: 'The merchant has no endpoint with this id.',
  },
  notCallable: {
    code: 'not_callable',
    status: 409,
    meaning:
      'Arcus never calls this endpoint, because of its method or transport; the message says why.',
  },
  methodNotAllowed: {
    code: 'method_not_allowed',
    status: 405,
    meaning: 'The path answers only the methods that `Allow` names.',
  },
  requestTimeout: {
    code: 'request_timeout',
    status: 408,
    meaning: 'The request took too long to arrive.',
  },
  bodyTooLarge: reasons.bodyTooLarge,
  rateLimited: reasons.rateLimited,
  headersTooLarge: {
    code: 'headers_too_large',
    status: 431,
    meaning: 'The headers are too large.',
  },
  internalError: {
    code: 'internal_error',
    status: 500,
    meaning: 'The service failed; the operator finds the cause in the log.',
  },
  unavailable: {
    code: 'unavailable',
    status: 503,
    meaning: 'The service is starting, stopping or overloaded; Retry-After says when to come back.',
  },
  busy: {
    code: 'busy',
    status: 503,
    meaning: 'Too many requests of this kind are being served already.',
  },
  chainUnavailable: {
    code: 'chain_unavailable',
    status: 503,
    meaning: 'The chain could not be asked about a contract wallet.',
  },
} as const satisfies Record<string, DescribedCode>

/** The shape of an error of a route. `plain` is `{ error, message }`; the others follow their protocols. */
export type RouteFamily = 'verify' | 'settle' | 'mcp' | 'plain'

const sentence = z.string().describe('One sentence.')
const payer = z.string().optional().describe('Where the body names one.')

const verifyError = z.object({
  isValid: z.literal(false),
  invalidReason: z.string(),
  invalidMessage: sentence,
  payer,
})

const settleError = z.object({
  success: z.literal(false),
  errorReason: z.string(),
  errorMessage: sentence,
  transaction: z.string(),
  network: z.string(),
  payer,
})

const plainError = z.object({
  error: z.string(),
  message: sentence,
  details: z.record(z.string(), z.unknown()).optional(),
})

/** JSON-RPC 2.0. MCP describes itself, so no document has it. */
const mcpError = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.null(),
  error: z.object({ code: z.int(), message: z.string(), data: z.object({ error: z.string() }) }),
})

export type ErrorAnswer = z.infer<
  typeof verifyError | typeof settleError | typeof plainError | typeof mcpError
>

/** Returns the shape of an error of the family, with the codes that it may carry. */
export function errorSchema(family: RouteFamily, codes: readonly DescribedCode[]): z.ZodType {
  const code = z.enum(codes.map((it) => it.code) as [string, ...string[]])
  if (family === 'verify') return verifyError.extend({ invalidReason: code })
  if (family === 'settle') return settleError.extend({ errorReason: code })
  return plainError.extend({ error: code })
}
