import { authorizationTypes } from '@arcus/protocol/x402/authorization-types'
import type { ParsedPayment } from '@arcus/protocol/x402/payment'
import type { Address, Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

export const network = 'eip155:5042'
export const asset: Address = '0x3600000000000000000000000000000000000000'
export const payTo: Address = '0x00000000000000000000000000000000000000b2'
export const nonce: Hex = `0x${'5a'.repeat(32)}`
/** The clock of all that is built here, Unix seconds. */
export const nowSeconds = 1_800_000_000

export const payerAccount = privateKeyToAccount(`0x${'11'.repeat(32)}`)
export const payer = payerAccount.address.toLowerCase() as Address

const signature: Hex = `0x${'ab'.repeat(64)}1b`

/** A payment of one cent that every rung lets pass; each test states what it changes. */
export function aPayment(changes: Partial<ParsedPayment> = {}): ParsedPayment {
  return {
    scheme: 'exact',
    network,
    asset,
    payTo,
    amount: 10_000n,
    maxTimeoutSeconds: 60,
    quotedDomain: { name: 'USDC', version: '2' },
    acceptedScheme: 'exact',
    acceptedNetwork: network,
    authorization: {
      from: payer,
      to: payTo,
      value: 10_000n,
      validAfter: 0n,
      validBefore: BigInt(nowSeconds + 60),
      nonce,
    },
    signature,
    ...changes,
  }
}

/** The same payment as the body of `/verify` and `/settle`. */
export function aBody(payment: ParsedPayment = aPayment()): Record<string, unknown> {
  const { authorization } = payment
  const requirements = {
    scheme: payment.scheme,
    network: payment.network,
    amount: payment.amount.toString(),
    asset: payment.asset,
    payTo: payment.payTo,
    maxTimeoutSeconds: payment.maxTimeoutSeconds,
    extra: { ...payment.quotedDomain },
  }
  return {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      accepted: {
        ...requirements,
        scheme: payment.acceptedScheme,
        network: payment.acceptedNetwork,
      },
      payload: {
        signature: payment.signature,
        authorization: {
          ...authorization,
          value: authorization.value.toString(),
          validAfter: authorization.validAfter.toString(),
          validBefore: authorization.validBefore.toString(),
        },
      },
    },
    paymentRequirements: requirements,
  }
}

/** A copy of a body in which one member is another value; `undefined` takes it away. */
export function withMember(body: unknown, path: string, value: unknown): unknown {
  const copy = structuredClone(body) as Record<string, unknown>
  const keys = path.split('.')
  const last = keys.pop() as string
  let place = copy
  for (const key of keys) place = place[key] as Record<string, unknown>
  if (value === undefined) delete place[last]
  else place[last] = value
  return copy
}

/** Signs as the payer under the token's domain. */
export function signPayment(payment: ParsedPayment): Promise<Hex> {
  return payerAccount.signTypedData({
    domain: { name: 'USDC', version: '2', chainId: 5042, verifyingContract: asset },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: { ...payment.authorization },
  })
}
