import { authorizationTypes } from '@arcus/protocol/x402/authorization-types'
import { type Address, type Hex, toHex } from 'viem'
import { devnetMerchant, devnetPayer } from '../../src/devnet/accounts.js'
import { devnetContracts } from '../../src/devnet/fixtures.js'

export interface PaymentWish {
  from?: Address
  to?: Address
  value?: bigint
  validAfter?: bigint
  validBefore?: bigint
  nonce?: Hex
  /** The signer; the payer of the devnet by default. */
  signer?: Pick<typeof devnetPayer.account, 'signTypedData'>
  /** Changes the signature after it was made. */
  resign?: (signature: Hex) => Hex
  domain?: { name?: string; version?: string; chainId?: number; verifyingContract?: Address }
  /** Members over those of the requirement, of `accepted`, of the authorization and of the whole body. */
  requirement?: Record<string, unknown>
  accepted?: Record<string, unknown>
  authorization?: Record<string, unknown>
  body?: Record<string, unknown>
}

export interface SignedPayment {
  x402Version: number
  paymentPayload: {
    x402Version: number
    accepted: Record<string, unknown>
    payload: { signature: Hex; authorization: Record<string, string> }
  }
  paymentRequirements: Record<string, unknown>
}

export function nowSeconds(): bigint {
  return BigInt(Math.floor(Date.now() / 1000))
}

/** The same payment by a merchant who waits this long for its settlement. */
export function waiting(payment: SignedPayment, maxTimeoutSeconds: number): SignedPayment {
  const { paymentRequirements } = payment
  return { ...payment, paymentRequirements: { ...paymentRequirements, maxTimeoutSeconds } }
}

/** A body for `/verify` and `/settle` with a real signature: one cent to the merchant unless wished otherwise. */
export async function aSignedPayment(wish: PaymentWish = {}): Promise<SignedPayment> {
  const message = {
    from: wish.from ?? devnetPayer.address,
    to: wish.to ?? devnetMerchant.address,
    value: wish.value ?? 10_000n,
    validAfter: wish.validAfter ?? 0n,
    validBefore: wish.validBefore ?? nowSeconds() + 300n,
    nonce: wish.nonce ?? toHex(crypto.getRandomValues(new Uint8Array(32))),
  }
  const signed = await (wish.signer ?? devnetPayer.account).signTypedData({
    domain: {
      name: 'USDC',
      version: '2',
      chainId: 5042,
      verifyingContract: devnetContracts.usdc,
      ...wish.domain,
    },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message,
  })
  const { from, to, value, validAfter, validBefore, nonce } = message
  const requirement = {
    scheme: 'exact',
    network: 'eip155:5042',
    amount: value.toString(),
    asset: devnetContracts.usdc,
    payTo: to,
    maxTimeoutSeconds: 60,
    extra: { name: 'USDC', version: '2' },
    ...wish.requirement,
  }
  return {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      accepted: { ...requirement, ...wish.accepted },
      payload: {
        signature: wish.resign?.(signed) ?? signed,
        authorization: {
          from,
          to,
          value: value.toString(),
          validAfter: validAfter.toString(),
          validBefore: validBefore.toString(),
          nonce,
          ...wish.authorization,
        } as Record<string, string>,
      },
    },
    paymentRequirements: requirement,
    ...wish.body,
  }
}
