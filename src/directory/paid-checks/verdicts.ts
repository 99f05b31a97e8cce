import { createHash } from 'node:crypto'
import { type CheckView, checkReasons } from '@arcus/protocol/answers/paid-checks'
import type { CheckStatement } from '@arcus/protocol/x402/check-statement'
import { isDeeperThan, MAX_JSON_DEPTH } from '@arcus/protocol/x402/json'
import { type Address, getAddress, zeroHash } from 'viem'
import { checkSchema } from '../json-schema/schema-check.js'
import type { StoredEndpoint } from '../store/listings.js'
import { type CheckOutcome, type PaidCheck, verdictOf } from '../store/paid-checks.js'
import { outputSchemaOf } from '../store/sql/listing-rows.js'

/** Bytes of an answer that are read, decompressed. */
const MAX_BYTES = 1_048_576

/** Larger answers, and those that nest deeper than any body, are not compared: that would hold up everybody. */
const MAX_COMPARED_BYTES = 131_072

/** The facts of an answer of which nothing was read. */
export const unread = { ms: null, bytes: null, sha256: null } as const

/** The verdict about an answer, and what was read of it. */
type Judgement = Pick<CheckOutcome, 'reason' | 'bytes' | 'sha256'>

/**
 * Judges the answer to a payment by what the endpoint says of itself. The body is read here and kept nowhere. Rejects if
 * the connection ends, or the signal of the request does.
 */
export async function judge(
  response: Response,
  { extras }: Pick<StoredEndpoint, 'extras'>,
): Promise<Judgement> {
  const reason = faultOfHead(response, extras.mimeType)
  if (reason !== undefined) {
    await response.body?.cancel()
    return { reason, bytes: null, sha256: null }
  }
  const body = await readBody(response)
  if (body === undefined) return { reason: 'too_large', bytes: null, sha256: null }
  const sha256 = `0x${createHash('sha256').update(body).digest('hex')}` as const
  const fits = isOfShape(body, outputSchemaOf(extras))
  return { reason: fits ? 'delivered' : 'wrong_shape', bytes: body.length, sha256 }
}

function faultOfHead({ status, ok, headers }: Response, mimeType: unknown) {
  if (status === 402) return 'asked_again'
  if (!ok) return 'bad_status'
  if (typeof mimeType !== 'string' || mimeType === '') return undefined
  return essenceOf(headers.get('content-type')) === essenceOf(mimeType) ? undefined : 'wrong_type'
}

/** Returns a media type without its parameters. */
function essenceOf(type: string | null): string | undefined {
  return type?.split(';')[0]?.trim().toLowerCase()
}

async function readBody({ body }: Response): Promise<Buffer | undefined> {
  const parts: Uint8Array[] = []
  let bytes = 0
  const reader = body?.getReader()
  for (;;) {
    const part = await reader?.read()
    if (part === undefined || part.done) return Buffer.concat(parts)
    bytes += part.value.length
    if (bytes > MAX_BYTES) {
      await reader?.cancel()
      return undefined
    }
    parts.push(part.value)
  }
}

/** Returns false only for what the schema refuses: one that cannot be used says nothing about the answer. */
function isOfShape(body: Buffer, schema: Record<string, unknown> | undefined): boolean {
  if (schema === undefined || body.length > MAX_COMPARED_BYTES) return true
  try {
    const answer: unknown = JSON.parse(body.toString())
    if (isDeeperThan(MAX_JSON_DEPTH, answer)) return true
    const verdict = checkSchema(schema, answer)
    return verdict.ok || verdict.fault !== 'value'
  } catch (error) {
    if (error instanceof SyntaxError) return false
    throw error
  }
}

/** Makes the statement about a closed check, each time the same. */
export function statementOf(check: PaidCheck, checker: Address): CheckStatement {
  const { at, delivered, reason, transaction } = verdictOf(check)
  return {
    network: check.network,
    resource: check.url,
    method: check.method,
    toolName: check.toolName,
    payTo: getAddress(check.payTo),
    // Money that was signed away and never taken was not paid.
    amount: transaction === null ? '0' : String(check.amount),
    transaction: transaction ?? zeroHash,
    delivered,
    reason,
    ms: check.ms ?? 0,
    bytes: check.bytes ?? 0,
    sha256: check.sha256 ?? zeroHash,
    checkedAt: at,
    checker: getAddress(checker),
  }
}

/** Returns a closed check as everybody may see it. */
export function toView(check: PaidCheck): CheckView {
  const { bytes, sha256, checker, signature } = check
  const verdict = verdictOf(check)
  return {
    ...verdict,
    message: checkReasons[verdict.reason],
    amount: verdict.transaction === null ? '0' : String(check.amount),
    bytes,
    sha256,
    statement:
      checker === null || signature === null
        ? null
        : { payload: { ...statementOf(check, checker), reason: verdict.reason }, signature },
  }
}
