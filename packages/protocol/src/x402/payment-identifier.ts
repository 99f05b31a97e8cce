import type { Address } from 'viem'
import { memberOf } from './json.js'
import type { Rejection } from './reasons.js'

/*
 * The extension `payment-identifier` of x402: a merchant may require an id, and the buyer writes it into the payload. The
 * same id with another payment is a conflict.
 */

export const PAYMENT_IDENTIFIER = 'payment-identifier'

const FORM = /^[A-Za-z0-9_-]{16,128}$/

/**
 * Reads the id of a payment from a body of verify or settle. An id of another form counts as missing: it is refused where
 * the merchant requires one, and ignored elsewhere, as a payment is not refused for an extension that nobody needs.
 */
export function readPaymentIdentifier(
  body: unknown,
): { ok: true; id: string | undefined } | { ok: false; rejection: Rejection } {
  const extensions = memberOf(memberOf(body, 'paymentPayload'), 'extensions')
  const info = memberOf(memberOf(extensions, PAYMENT_IDENTIFIER), 'info')
  const id = memberOf(info, 'id')
  if (typeof id === 'string' && FORM.test(id)) return { ok: true, id }
  if (memberOf(info, 'required') !== true) return { ok: true, id: undefined }
  const problem = id === undefined ? 'is missing' : 'has another form'
  const message = `extensions["${PAYMENT_IDENTIFIER}"].info.id is required and ${problem}; send 16 to 128 letters, digits, "-" or "_".`
  return { ok: false, rejection: { reason: 'paymentIdentifierRequired', message } }
}

/**
 * Returns the key under which the store binds an id. Only the payer's own payments share it, so that nobody can take or
 * probe the ids of others. The blanks keep it apart from every `Idempotency-Key`.
 */
export function identifierKey(network: string, payer: Address, id: string): string {
  return `${PAYMENT_IDENTIFIER} ${network} ${payer} ${id}`
}
