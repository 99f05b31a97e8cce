import { isRecord } from './clean-json.js'
import { type QuotedBazaar, readQuotedBazaar } from './quoted-bazaar.js'
import { type QuotedResource, readQuotedResource } from './quoted-resource.js'
import { type QuotedTerms, readQuotedTerms } from './quoted-terms.js'

/** Requirements looked at; a 402 offers one or two. */
const MAX_ACCEPTS = 16

export interface QuotedPayment {
  kind: 'quoted'
  /** The protocol's place is the header; official buyers read no other for version 2. */
  source: 'header' | 'body'
  /** Whether the header is base64 of the URL alphabet, which official buyers refuse. */
  isUrlSafe: boolean
  accepts: QuotedTerms[]
  /** How many entries of `accepts` no buyer could use. */
  unusable: number
  resource: QuotedResource
  bazaar: QuotedBazaar | null
}

export type PaymentRequiredAnswer =
  | QuotedPayment
  /** Version 1 only, in the body. */
  | { kind: 'version1' }
  /** No requirements where they could be; `hasHeader` when the header is there but cannot be read. */
  | { kind: 'none'; hasHeader: boolean }

/** Reads what a 402 asks for: header `PAYMENT-REQUIRED` first (x402 v2), then the body. Never throws, whatever comes. */
export function parsePaymentRequired(
  headers: Readonly<Record<string, string>>,
  body: string,
): PaymentRequiredAnswer {
  const header = headers['payment-required']
  const fromHeader = header === undefined ? undefined : decodeHeader(header)
  if (isVersion2(fromHeader)) {
    return toQuotedPayment(fromHeader, 'header', /[-_]/.test(header ?? ''))
  }
  const fromBody = parseJson(body)
  if (isVersion2(fromBody)) return toQuotedPayment(fromBody, 'body', false)
  if (isRecord(fromBody) && fromBody.x402Version === 1) return { kind: 'version1' }
  return { kind: 'none', hasHeader: header !== undefined }
}

function isVersion2(value: unknown): value is Record<string, unknown> & { accepts: unknown[] } {
  return isRecord(value) && value.x402Version === 2 && Array.isArray(value.accepts)
}

function toQuotedPayment(
  required: Record<string, unknown> & { accepts: unknown[] },
  source: QuotedPayment['source'],
  isUrlSafe: boolean,
): QuotedPayment {
  const read = required.accepts.slice(0, MAX_ACCEPTS).map(readQuotedTerms)
  const accepts = read.filter((terms) => terms !== undefined)
  return {
    kind: 'quoted',
    source,
    isUrlSafe,
    accepts,
    unusable: read.length - accepts.length,
    resource: readQuotedResource(required.resource),
    bazaar: readQuotedBazaar(required.extensions),
  }
}

function decodeHeader(text: string): unknown {
  if (!/^[\w+/-]*={0,2}$/.test(text)) return undefined
  return parseJson(Buffer.from(text, 'base64').toString('utf8'))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
