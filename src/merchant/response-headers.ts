import { encodePaymentResponseHeader } from '@x402/core/http'
import type { SettleResponse } from '@x402/core/types'
import type { FastifyReply } from 'fastify'

const EXPOSE = 'access-control-expose-headers'
const exposed = ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE']
/** Past this a client of Node may refuse the whole answer. */
const MAX_HEADER_BYTES = 8_192
const MAX_MESSAGE_CHARS = 500

/** Lets scripts in browsers read the headers of the payment, beside those that are exposed already. */
export function exposePaymentHeaders(reply: FastifyReply): void {
  const now = String(reply.getHeader(EXPOSE) ?? '')
  const names = now.split(',').map((name) => name.trim().toLowerCase())
  const missing = exposed.filter((name) => !names.includes(name.toLowerCase()))
  if (missing.length === 0) return
  reply.header(EXPOSE, [...(now === '' ? [] : [now]), ...missing].join(', '))
}

/** The value of `PAYMENT-RESPONSE`; what the facilitator added is left out when it would be too long. */
export function settlementHeader(settlement: SettleResponse): string {
  const { errorMessage, ...rest } = settlement
  const told: SettleResponse = {
    ...rest,
    ...(errorMessage === undefined
      ? {}
      : { errorMessage: errorMessage.slice(0, MAX_MESSAGE_CHARS) }),
  }
  const encoded = encodePaymentResponseHeader(told)
  if (encoded.length <= MAX_HEADER_BYTES) return encoded
  const { extensions: _, extra: __, ...core } = told
  return encodePaymentResponseHeader(core)
}

/** What was paid for by one buyer is for no shared cache. */
export function makePrivate(reply: FastifyReply): void {
  const kept = String(reply.getHeader('cache-control') ?? '')
    .split(',')
    .map((directive) => directive.trim())
    .filter((directive) => !/^(public|private|s-maxage=.*|)$/i.test(directive))
  reply.header('cache-control', [...kept, 'private'].join(', '))
}

export type HeadersThen = Record<string, string | number | string[] | undefined>

/** The headers as they stand; cookies set later are not among them, though Fastify adds to the same list. */
export function copyHeaders(reply: FastifyReply): HeadersThen {
  const entries = Object.entries(reply.getHeaders())
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]),
  )
}

/** Takes back every header that was set since `then`. */
export function restoreHeaders(reply: FastifyReply, then: HeadersThen): void {
  for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name)
  for (const [name, value] of Object.entries(then)) reply.header(name, value)
}
