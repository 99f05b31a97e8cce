import type { Hex } from 'viem'
import { memberOf } from './json.js'

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
