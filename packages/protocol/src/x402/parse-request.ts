import type { Address, Hex } from 'viem'
import type { z } from 'zod'
import { toolNameOf } from './bazaar.js'
import { isObject, memberOf, quote } from './json.js'
import {
  type PaidResource,
  type ParsedPayment,
  type Permit2Payment,
  paidResourceOf,
} from './payment.js'
import { otherRailOf } from './rails.js'
import type { Rejection } from './reasons.js'
import {
  address,
  exactPayloadSchema,
  GAS_SPONSORING,
  gasSponsoringSchema,
  MAX_TEXT_CHARS,
  paymentPayloadSchema,
  paymentRequirementsSchema,
  permit2Nonce,
  permit2PayloadSchema,
  uptoPayloadSchema,
} from './request-schemas.js'

type ParsedRequest = { ok: true; payment: ParsedPayment } | { ok: false; rejection: Rejection }

/**
 * Parses the body of `/verify` and `/settle`. The version is checked first, because another version explains every other
 * fault; then the syntax, then the scheme: a body of another scheme need not have the shape of `exact`.
 */
export function parseRequest(body: unknown): ParsedRequest {
  if (!isObject(body)) return malformed('invalidPayload', 'The body must be a JSON object.')
  const version = versionProblem(body)
  if (version !== undefined) return malformed('invalidX402Version', version)

  const payload = paymentPayloadSchema.safeParse(body.paymentPayload)
  if (!payload.success) return badShape('invalidPayload', 'paymentPayload', payload.error, body)
  const requirements = parseRequirements(body.paymentRequirements)
  if (!requirements.ok) return requirements
  const { accepted } = payload.data
  const { scheme } = requirements.value

  if (scheme !== 'exact' && scheme !== 'upto') return unsupportedScheme(scheme)
  if ('permit2Authorization' in payload.data.payload) {
    return parsePermit2(scheme, requirements.value, payload.data, body)
  }
  if (scheme === 'upto') {
    return malformed(
      'unsupportedPayloadType',
      'A payment of scheme "upto" needs a permit2Authorization.',
    )
  }
  const exact = exactPayloadSchema.safeParse(payload.data.payload)
  if (!exact.success) {
    return badShape('invalidPayload', 'paymentPayload.payload', exact.error, body)
  }
  const paid = readPaidResource(payload.data)
  const parts = { requirements: requirements.value, accepted, exact: exact.data, paid }
  return { ok: true, payment: toPayment(parts) }
}

/** Parses the Permit2 payload of a body whose requirements and payload are well-formed. */
function parsePermit2(
  scheme: 'exact' | 'upto',
  requirements: Requirements,
  paid: z.infer<typeof paymentPayloadSchema>,
  body: unknown,
): ParsedRequest {
  const { accepted, payload, extensions } = paid
  const schema = scheme === 'upto' ? uptoPayloadSchema : permit2PayloadSchema
  const parsed = schema.safeParse(payload)
  if (!parsed.success)
    return badShape('invalidPayload', 'paymentPayload.payload', parsed.error, body)
  const { permit2Authorization, signature } = parsed.data
  const { from, permitted, spender, nonce, deadline } = permit2Authorization
  const witness: { to: Address; facilitator?: Address; validAfter: bigint } =
    permit2Authorization.witness
  const { to, validAfter, facilitator } = witness
  const authorization = {
    from,
    to,
    value: permitted.amount,
    validAfter,
    validBefore: deadline + 1n,
    nonce,
  }
  const payment = toPayment({
    requirements,
    accepted,
    exact: { authorization, signature },
    paid: readPaidResource(paid),
  })
  const permit = readPermit(extensions)
  const permit2: Permit2Payment = { token: permitted.token, spender }
  if (facilitator !== undefined) permit2.facilitator = facilitator
  if (permit !== undefined) permit2.permit = permit
  return { ok: true, payment: { ...payment, scheme, permit2 } }
}

/** Reads the permit of the extension `eip2612GasSponsoring`; `undefined` when the payload has none. */
function readPermit(extensions: unknown): Permit2Payment['permit'] {
  const info = memberOf(memberOf(extensions, GAS_SPONSORING), 'info')
  // A client that signed no permit repeats what the merchant declared, which holds none.
  if (memberOf(info, 'signature') === undefined) return undefined
  const parsed = gasSponsoringSchema.safeParse(info)
  return parsed.success ? parsed.data : 'malformed'
}

function toPayment({
  requirements,
  accepted,
  exact,
  paid: { resourceUrl, toolName },
}: {
  requirements: Requirements
  accepted: { scheme: string; network: string }
  exact: z.infer<typeof exactPayloadSchema>
  paid: PaidResource
}): ParsedPayment {
  // The members are written out: spreading three objects would take longer than checking them.
  const payment: ParsedPayment = {
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
  const otherRail = otherRailOf(requirements.asset, requirements.extra)
  if (otherRail !== undefined) payment.otherRail = otherRail
  if (resourceUrl !== undefined) payment.resourceUrl = resourceUrl
  if (toolName !== undefined) payment.toolName = toolName
  return payment
}

/** Reads the payer that even a malformed body may name, so that the answer can carry it. */
export function readPayer(body: unknown): Address | undefined {
  const payload = memberOf(memberOf(body, 'paymentPayload'), 'payload')
  const candidates = [
    memberOf(memberOf(payload, 'authorization'), 'from'),
    memberOf(memberOf(payload, 'permit2Authorization'), 'from'),
    memberOf(memberOf(payload, 'channelConfig'), 'payer'),
  ]
  for (const candidate of candidates) {
    const parsed = address.safeParse(candidate)
    if (parsed.success) return parsed.data
  }
  return undefined
}

/** Reads the type of a payload and the number of its claims, whatever else the body has. */
export function readPayloadSize(body: unknown): { type: unknown; claims: number } {
  const payload = memberOf(memberOf(body, 'paymentPayload'), 'payload')
  const claims = memberOf(payload, 'claims')
  return { type: memberOf(payload, 'type'), claims: Array.isArray(claims) ? claims.length : 0 }
}

/** Reads the nonce of the authorization, whatever else the body has; `undefined` if it is not 32 bytes of hex. */
export function readNonce(body: unknown): Hex | undefined {
  const payload = memberOf(memberOf(body, 'paymentPayload'), 'payload')
  const permit2 = permit2Nonce.safeParse(
    memberOf(memberOf(payload, 'permit2Authorization'), 'nonce'),
  )
  if (permit2.success) return permit2.data
  const nonce = memberOf(memberOf(payload, 'authorization'), 'nonce')
  return typeof nonce === 'string' && /^0x[0-9a-fA-F]{64}$/.test(nonce)
    ? (nonce.toLowerCase() as Hex)
    : undefined
}

/** Reads the network a body names, for the answer's `network` member; empty when it cannot be read. */
export function readNetwork(body: unknown): string {
  const network = memberOf(memberOf(body, 'paymentRequirements'), 'network')
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
  const scheme = memberOf(value, 'scheme')
  const isKnown = scheme === 'exact' || scheme === 'upto'
  if (typeof scheme === 'string' && scheme !== '' && !isKnown) return unsupportedScheme(scheme)
  return badShape('invalidPaymentRequirements', 'paymentRequirements', parsed.error, {
    paymentRequirements: value,
  })
}

function unsupportedScheme(scheme: string) {
  return malformed(
    'unsupportedScheme',
    `Scheme ${quote(scheme)} is not settled here; expected "exact" or "upto".`,
  )
}

export function versionProblem(body: Record<string, unknown>): string | undefined {
  if (body.x402Version !== 2) {
    return `x402Version must be the number 2, got ${quote(body.x402Version)}.`
  }
  const inner = memberOf(body.paymentPayload, 'x402Version')
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

/** Reads the resource that a payload names. A payment is never refused for it. */
export function readPaidResource(payload: unknown): PaidResource {
  const url = memberOf(memberOf(payload, 'resource'), 'url')
  return paidResourceOf({
    resourceUrl: typeof url === 'string' && url.length <= MAX_TEXT_CHARS ? url : undefined,
    toolName: toolNameOf(payload),
  })
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
  for (const key of path.split('.')) actual = memberOf(actual, key)
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
