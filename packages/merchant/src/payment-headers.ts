import type { IncomingHttpHeaders } from 'node:http'
import { isDeeperThan, isObject, MAX_JSON_DEPTH } from '@arcus/protocol/x402/json'
import { decodePaymentSignatureHeader, encodePaymentResponseHeader } from '@x402/core/http'
import type { PaymentPayload, SettleResponse } from '@x402/core/types'
import type { FastifyReply } from 'fastify'

type PresentedPayment =
  | { kind: 'none' }
  | { kind: 'payment'; payload: PaymentPayload }
  /** `error` is a code of the protocol and the problem, in one line. */
  | { kind: 'unreadable'; error: string }

/** The header of version 2, and its alias for buyers that know the older name. */
const headerNames = ['PAYMENT-SIGNATURE', 'X-PAYMENT'] as const

/** Reads the payment that a request presents. Never throws. */
export function readPayment(headers: IncomingHttpHeaders): PresentedPayment {
  for (const name of headerNames) {
    const value = headers[name.toLowerCase()]
    if (typeof value === 'string' && value.trim() !== '') return decode(name, value.trim())
  }
  return { kind: 'none' }
}

function decode(name: string, value: string): PresentedPayment {
  if (value.includes(',')) return unreadable(`${name} was sent more than once`)
  if (/^[\w-]+={0,2}$/.test(value) && /[-_]/.test(value)) {
    return unreadable(`${name} is in the URL alphabet of base64; use the standard one (+ and /)`)
  }
  let payload: unknown
  try {
    payload = decodePaymentSignatureHeader(value)
  } catch (error) {
    const part = error instanceof SyntaxError ? 'JSON' : 'base64'
    return unreadable(`${name} is no base64 of JSON: the ${part} is broken`)
  }
  return check(name, payload)
}

function check(name: string, value: unknown): PresentedPayment {
  if (!isObject(value)) return unreadable(`${name} must hold a JSON object`)
  if (isDeeperThan(MAX_JSON_DEPTH, value)) {
    return unreadable(`${name} must not nest deeper than ${MAX_JSON_DEPTH} levels`)
  }
  if (value.x402Version !== 2) {
    const got = JSON.stringify(value.x402Version) ?? 'none'
    return {
      kind: 'unreadable',
      error: `invalid_x402_version: ${name} must hold a payload of x402Version 2, got ${got.slice(0, 32)}`,
    }
  }
  if (!isObject(value.accepted)) return unreadable(`accepted is missing in ${name}`)
  if (!isObject(value.payload)) return unreadable(`payload is missing in ${name}`)
  return { kind: 'payment', payload: value as unknown as PaymentPayload }
}

function unreadable(message: string): PresentedPayment {
  return { kind: 'unreadable', error: `invalid_payload: ${message}` }
}

const EXPOSE = 'access-control-expose-headers'
const exposed = ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE']
/** Clients of Node may refuse an answer with longer headers. */
const MAX_HEADER_BYTES = 8_192
const MAX_MESSAGE_CHARS = 500

/** Lets scripts in browsers read the headers of the payment, in addition to those that are exposed already. */
export function exposePaymentHeaders(reply: FastifyReply): void {
  const now = String(reply.getHeader(EXPOSE) ?? '')
  const names = now.split(',').map((name) => name.trim().toLowerCase())
  const missing = exposed.filter((name) => !names.includes(name.toLowerCase()))
  if (missing.length === 0) return
  reply.header(EXPOSE, [...(now === '' ? [] : [now]), ...missing].join(', '))
}

/** Returns the value of `PAYMENT-RESPONSE`. Additions of the facilitator are left out when it would be too long. */
export function settlementHeader(settlement: SettleResponse): string {
  const { errorMessage, ...rest } = settlement
  const answered: SettleResponse = {
    ...rest,
    ...(errorMessage === undefined
      ? {}
      : { errorMessage: errorMessage.slice(0, MAX_MESSAGE_CHARS) }),
  }
  const encoded = encodePaymentResponseHeader(answered)
  if (encoded.length <= MAX_HEADER_BYTES) return encoded
  const { extensions: _, extra: __, ...core } = answered
  return encodePaymentResponseHeader(core)
}

/** Keeps shared caches from storing an answer that one buyer paid for. */
export function makePrivate(reply: FastifyReply): void {
  const kept = String(reply.getHeader('cache-control') ?? '')
    .split(',')
    .map((directive) => directive.trim())
    .filter((directive) => !/^(public|private|s-maxage=.*|)$/i.test(directive))
  reply.header('cache-control', [...kept, 'private'].join(', '))
}

export type SavedHeaders = Record<string, string | number | string[] | undefined>

/** Copies the headers as they stand. Lists are copied too, because Fastify adds later cookies to the same list. */
export function copyHeaders(reply: FastifyReply): SavedHeaders {
  const entries = Object.entries(reply.getHeaders())
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]),
  )
}

/** Takes back every header that was set since `saved` was copied. */
export function restoreHeaders(reply: FastifyReply, saved: SavedHeaders): void {
  for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name)
  for (const [name, value] of Object.entries(saved)) reply.header(name, value)
}
