import type { IncomingHttpHeaders } from 'node:http'
import { decodePaymentSignatureHeader } from '@x402/core/http'
import type { PaymentPayload } from '@x402/core/types'

export type OfferedPayment =
  | { kind: 'none' }
  | { kind: 'payment'; payload: PaymentPayload }
  /** `error` is a code of the protocol and what is wrong, in one line. */
  | { kind: 'unreadable'; error: string }

/** The header of version 2, and its alias for buyers that know the older name. */
const headerNames = ['PAYMENT-SIGNATURE', 'X-PAYMENT'] as const

/** Reads the payment a request presents; what cannot be one is told, never thrown. */
export function readPayment(headers: IncomingHttpHeaders): OfferedPayment {
  for (const name of headerNames) {
    const value = headers[name.toLowerCase()]
    if (typeof value === 'string' && value.trim() !== '') return decode(name, value.trim())
  }
  return { kind: 'none' }
}

function decode(name: string, value: string): OfferedPayment {
  if (value.includes(',')) return unreadable(`${name} was sent more than once`)
  if (/^[\w-]+={0,2}$/.test(value) && /[-_]/.test(value)) {
    return unreadable(`${name} is in the URL alphabet of base64; use the standard one (+ and /)`)
  }
  let payload: unknown
  try {
    payload = decodePaymentSignatureHeader(value)
  } catch (error) {
    const what = error instanceof SyntaxError ? 'JSON' : 'base64'
    return unreadable(`${name} is no base64 of JSON: the ${what} is broken`)
  }
  return check(name, payload)
}

function check(name: string, value: unknown): OfferedPayment {
  if (!isObject(value)) return unreadable(`${name} must hold a JSON object`)
  if (value.x402Version !== 2) {
    const got = JSON.stringify(value.x402Version) ?? 'none'
    return {
      kind: 'unreadable',
      error: `invalid_x402_version: ${name} must hold a payload of x402Version 2, got ${got.slice(0, 32)}`,
    }
  }
  if (!isObject(value.accepted)) return unreadable(`accepted is missing in ${name}`)
  if (!isObject(value.payload)) return unreadable(`payload is missing in ${name}`)
  return { kind: 'payment', payload: value as PaymentPayload }
}

function unreadable(message: string): OfferedPayment {
  return { kind: 'unreadable', error: `invalid_payload: ${message}` }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
