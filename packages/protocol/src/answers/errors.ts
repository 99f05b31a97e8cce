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

/** Codes on the wire by HTTP status, each with its meaning in one sentence for the documentation. */
type Meanings = Readonly<Record<number, Readonly<Record<string, string>>>>
type CodeOf<Table extends Meanings> = { [Status in keyof Table]: keyof Table[Status] }[keyof Table]

/** Describes every code of a table, by its name. */
export function codesByStatus<Table extends Meanings>(table: Table) {
  const codes = Object.entries(table).flatMap(([status, meanings]) =>
    Object.entries(meanings).map(([code, meaning]) => ({ code, status: Number(status), meaning })),
  )
  const byCode = Object.fromEntries(codes.map((it) => [it.code, it]))
  return byCode as Readonly<Record<CodeOf<Table>, DescribedCode>>
}

/** The codes of answers that are not about a payment. Writes of listings have more codes of their own. */
export const httpCodes = codesByStatus({
  400: { invalid_request: 'A parameter, the body or the URL is malformed; the message names it.' },
  401: { not_signed_in: 'There is no session, or it has ended, or the sign-in was refused.' },
  404: {
    not_found: 'There is nothing under this name.',
    endpoint_not_found: 'The merchant has no endpoint with this id.',
  },
  405: { method_not_allowed: 'The path answers only the methods that `Allow` names.' },
  408: { request_timeout: 'The request took too long to arrive.' },
  409: {
    payment_not_confirmed: 'The payment is not on chain yet, or it failed; the message says which.',
    ambiguous_nonce:
      'The payer used one nonce for several payments; the message names what to add to the URL.',
    not_callable:
      'Arcus never calls this endpoint, because of its method or transport; the message says why.',
  },
  413: { body_too_large: reasons.bodyTooLarge.meaning },
  429: { rate_limited: reasons.rateLimited.meaning },
  431: { headers_too_large: 'The headers are too large.' },
  500: { internal_error: 'The service failed; the operator finds the cause in the log.' },
  503: {
    unavailable:
      'The service is starting, stopping or overloaded; Retry-After says when to come back.',
    busy: 'Too many requests of this kind are being served already.',
    chain_unavailable: 'The chain could not be asked about a contract wallet.',
  },
})

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
