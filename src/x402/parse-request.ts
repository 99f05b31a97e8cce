import type { Address } from 'viem'
import type { z } from 'zod'
import { readExactRequest } from './exact-request.js'
import type { Payment } from './payment.js'
import type { Rejection } from './reasons.js'
import {
  address,
  exactPayloadSchema,
  MAX_TEXT_CHARS,
  paymentPayloadSchema,
  paymentRequirementsSchema,
} from './request-schemas.js'

export type ParsedRequest = { ok: true; payment: Payment } | { ok: false; rejection: Rejection }

/**
 * Parses the body of `/verify` and `/settle`. The version comes first, for it explains every other misfit, then
 * syntax, then the scheme: a body of another scheme is not held to the shape of `exact`.
 */
export function parseRequest(body: unknown): ParsedRequest {
  const read = readExactRequest(body)
  return read === undefined ? parseClosely(body) : { ok: true, payment: toPayment(read) }
}

/** The same by zod, member by member, with words for whatever is wrong. */
export function parseClosely(body: unknown): ParsedRequest {
  if (!isObject(body)) return malformed('invalidPayload', 'The body must be a JSON object.')
  const version = versionProblem(body)
  if (version !== undefined) return malformed('invalidX402Version', version)

  const payload = paymentPayloadSchema.safeParse(body.paymentPayload)
  if (!payload.success) return badShape('invalidPayload', 'paymentPayload', payload.error, body)
  const requirements = parseRequirements(body.paymentRequirements)
  if (!requirements.ok) return requirements
  const { accepted, resource } = payload.data
  const { scheme } = requirements.value

  if (scheme !== 'exact') {
    return malformed(
      'unsupportedScheme',
      `Scheme ${quote(scheme)} is not settled here; expected "exact".`,
    )
  }
  if ('permit2Authorization' in payload.data.payload) {
    return malformed(
      'unsupportedPayloadType',
      'Permit2 payloads are not settled here; expected an EIP-3009 authorization.',
    )
  }
  const exact = exactPayloadSchema.safeParse(payload.data.payload)
  if (!exact.success) {
    return badShape('invalidPayload', 'paymentPayload.payload', exact.error, body)
  }
  const parts = { requirements: requirements.value, accepted, exact: exact.data, resource }
  return { ok: true, payment: toPayment(parts) }
}

function toPayment({
  requirements,
  accepted,
  exact,
  resource,
}: {
  requirements: Requirements
  accepted: { scheme: string; network: string }
  exact: z.infer<typeof exactPayloadSchema>
  resource?: unknown
}): Payment {
  const resourceUrl = readResourceUrl(resource)
  // Member by member: spreading three objects would take longer than checking them.
  const payment: Payment = {
    scheme: 'exact',
    network: requirements.network,
    asset: requirements.asset,
    payTo: requirements.payTo,
    amount: requirements.amount,
    maxTimeoutSeconds: requirements.maxTimeoutSeconds,
    quotedDomain: readQuotedDomain(requirements.extra),
    acceptedScheme: accepted.scheme,
    acceptedNetwork: accepted.network,
    authorization: exact.authorization,
    signature: exact.signature,
  }
  if (resourceUrl !== undefined) payment.resourceUrl = resourceUrl
  return payment
}

/** The payer a malformed or foreign body still names, so that every answer can carry it. */
export function readPayer(body: unknown): Address | undefined {
  const payload = member(member(body, 'paymentPayload'), 'payload')
  const candidates = [
    member(member(payload, 'authorization'), 'from'),
    member(member(payload, 'permit2Authorization'), 'from'),
    member(member(payload, 'channelConfig'), 'payer'),
  ]
  for (const candidate of candidates) {
    const parsed = address.safeParse(candidate)
    if (parsed.success) return parsed.data
  }
  return undefined
}

/** The network a body names, for the answer's `network` member; empty when it cannot be read. */
export function readNetwork(body: unknown): string {
  const network = member(member(body, 'paymentRequirements'), 'network')
  return typeof network === 'string' && /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9*]{1,32}$/.test(network)
    ? network
    : ''
}

type Requirements = z.infer<typeof paymentRequirementsSchema>

function parseRequirements(
  value: unknown,
): { ok: true; value: Requirements } | { ok: false; rejection: Rejection } {
  const parsed = paymentRequirementsSchema.safeParse(value)
  if (parsed.success) return { ok: true, value: parsed.data }
  const scheme = member(value, 'scheme')
  if (typeof scheme === 'string' && scheme !== '' && scheme !== 'exact') {
    return malformed(
      'unsupportedScheme',
      `Scheme ${quote(scheme)} is not settled here; expected "exact".`,
    )
  }
  return badShape('invalidPaymentRequirements', 'paymentRequirements', parsed.error, {
    paymentRequirements: value,
  })
}

export function versionProblem(body: Record<string, unknown>): string | undefined {
  if (body.x402Version !== 2) {
    return `x402Version must be the number 2, got ${quote(body.x402Version)}.`
  }
  const inner = member(body.paymentPayload, 'x402Version')
  if (isObject(body.paymentPayload) && inner !== 2) {
    return `paymentPayload.x402Version must be the number 2, got ${quote(inner)}.`
  }
  return undefined
}

function readQuotedDomain(extra: Record<string, unknown> | null | undefined) {
  const domain: { name?: string; version?: string } = {}
  if (typeof extra?.name === 'string') domain.name = extra.name
  if (typeof extra?.version === 'string') domain.version = extra.version
  return domain
}

/** A payment is never refused for its `resource`: what cannot be read is left out. */
export function readResourceUrl(resource: unknown): string | undefined {
  const url = member(resource, 'url')
  return typeof url === 'string' && url.length <= MAX_TEXT_CHARS ? url : undefined
}

export function malformed(reason: Rejection['reason'], message: string) {
  return { ok: false, rejection: { reason, message } } as const
}

export function badShape(
  reason: Rejection['reason'],
  root: string,
  error: z.ZodError,
  body: unknown,
) {
  const issue = error.issues[0]
  const path = [root, ...(issue?.path ?? [])].join('.')
  let actual: unknown = body
  for (const key of path.split('.')) actual = member(actual, key)
  const problem =
    actual === undefined ? 'is missing' : `${lowerFirst(issue?.message)}, got ${quote(actual)}`
  return malformed(reason, `${path} ${problem}.`)
}

function lowerFirst(message: string | undefined): string {
  if (message === undefined) return 'is malformed'
  const [, expected] = /^Invalid input: expected (\w+)/.exec(message) ?? []
  if (expected === undefined) return message
  return `must be of type ${expected === 'record' ? 'object' : expected}`
}

/** Caller text inside a message: JSON-escaped and short, so that it can carry nothing. */
export function quote(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return 'an array'
  if (isObject(value)) return 'an object'
  const shown = typeof value === 'string' && value.length > 100 ? `${value.slice(0, 100)}…` : value
  return JSON.stringify(shown)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function member(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}
