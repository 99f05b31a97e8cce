import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Address, Hex } from 'viem'
import { z } from 'zod'
import { parseUint256 } from './amounts.js'
import { hasWrongChecksum } from './checksum.js'

/*
 * The body of a well-formed `exact` request as it stands on the wire, compiled to one function: what nearly every
 * request passes. It says yes or no; `parse-request` says what is wrong, and stays the judge of everything else.
 */
const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
const bytes32 = z.string().regex(/^0x[0-9a-fA-F]{64}$/)
const digits = z.string().min(1).max(78)
const text = z.string().min(1).max(200)
const version = z.literal(2)

const exactRequest = z.looseObject({
  x402Version: version,
  paymentPayload: z.looseObject({
    x402Version: version,
    accepted: z.looseObject({ scheme: text, network: text }),
    payload: z.looseObject({
      authorization: z.looseObject({
        from: address,
        to: address,
        value: digits,
        validAfter: digits,
        validBefore: digits,
        nonce: bytes32,
      }),
      // The length of an account's signature; longer ones take the longer way.
      signature: z.string().regex(/^0x[0-9a-fA-F]{130}$/),
    }),
  }),
  paymentRequirements: z.looseObject({
    scheme: z.literal('exact'),
    network: text,
    amount: digits,
    asset: address,
    payTo: address,
    maxTimeoutSeconds: z.number().int().min(1).max(86_400),
    extra: z.looseObject({}).optional(),
  }),
})

type ExactRequest = z.infer<typeof exactRequest>

const isExactRequest = new Ajv2020({ strict: false }).compile<ExactRequest>(
  z.toJSONSchema(exactRequest),
)

/** Members of a well-formed request, every one parsed; `undefined` is "look closer", never "refused". */
export function readExactRequest(body: unknown) {
  if (!isExactRequest(body)) return undefined
  const { accepted, payload, resource } = body.paymentPayload
  if ('permit2Authorization' in payload) return undefined
  const asked = body.paymentRequirements
  if (hasWrongChecksum(asked.payTo)) return undefined
  const { authorization } = payload
  const amount = parseUint256(asked.amount)
  const value = parseUint256(authorization.value)
  const validAfter = parseUint256(authorization.validAfter)
  const validBefore = parseUint256(authorization.validBefore)
  if (
    amount === undefined ||
    value === undefined ||
    validAfter === undefined ||
    validBefore === undefined
  ) {
    return undefined
  }
  return {
    requirements: {
      scheme: asked.scheme,
      network: asked.network,
      amount,
      asset: asked.asset.toLowerCase() as Address,
      payTo: asked.payTo.toLowerCase() as Address,
      maxTimeoutSeconds: asked.maxTimeoutSeconds,
      extra: asked.extra,
    },
    accepted,
    exact: {
      authorization: {
        from: authorization.from.toLowerCase() as Address,
        to: authorization.to.toLowerCase() as Address,
        value,
        validAfter,
        validBefore,
        nonce: authorization.nonce.toLowerCase() as Hex,
      },
      signature: payload.signature.toLowerCase() as Hex,
    },
    resource,
  }
}
