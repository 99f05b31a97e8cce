import type { Address, Hex } from 'viem'
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

/*
 * The extension `refund` of a payment that gives another one back: the merchant names the nonce and the method of that
 * payment, which its buyer made in the same token. The nonce of the refund proves it, as it is the hash of them all.
 */

export const REFUND = 'refund'

/** The payment that is given back, as the extension names it. */
export interface RefundedPayment {
  nonce: Hex
  method: 'eip3009' | 'permit2'
}

/** Reads the payment that a body of settle says it gives back; `undefined` where it names none in this form. */
export function readRefunded(body: unknown): RefundedPayment | undefined {
  const extensions = memberOf(memberOf(body, 'paymentPayload'), 'extensions')
  const info = memberOf(memberOf(extensions, REFUND), 'info')
  const nonce = memberOf(info, 'nonce')
  if (typeof nonce !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(nonce)) return undefined
  const method = memberOf(info, 'method') === 'permit2' ? 'permit2' : 'eip3009'
  return { nonce: nonce.toLowerCase() as Hex, method }
}

/** Returns the text whose SHA-256 is the nonce of all refunds of one payment. */
export function refundText(payment: {
  network: string
  asset: string
  payer: string
  paymentNonce: string
  method?: 'eip3009' | 'permit2' | undefined
}): string {
  const { network, asset, payer, paymentNonce, method } = payment
  const parts = ['x402 refund', network, asset, payer, paymentNonce]
  if (method === 'permit2') parts.push(method)
  return parts.join('\n').toLowerCase()
}
