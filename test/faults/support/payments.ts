import { randomBytes } from 'node:crypto'
import { type Address, type Hex, toHex } from 'viem'
import { devnetMerchant, devnetPayer } from '../../../src/devnet/accounts.js'
import { devnetContracts } from '../../../src/devnet/fixtures.js'
import type { Authorization } from '../../../src/x402/authorization-digest.js'
import { authorizationTypes as types } from '../../../src/x402/authorization-types.js'
import { aPermit2Payment, approvePermit2, charging } from '../../support/a-permit2-payment.js'

/** A signed payment and the body that settles it. */
export interface SignedPayment {
  payer: Address
  payTo: Address
  value: bigint
  nonce: Hex
  authorization: Authorization
  signature: Hex
  body: string
}

export const network = 'eip155:5042'
/** The token of the payments: USDC, or what `vitest.faults.config.ts` says. */
const name = process.env.FAULTS_TOKEN ?? 'USDC'
export const asset: Address = name === 'EURC' ? devnetContracts.eurc : devnetContracts.usdc
/** Whether the payments are by `upto`, and charge half of what the payer permits. */
export const isUpto = process.env.FAULTS_SCHEME === 'upto'
const payer = devnetPayer.address
const payTo = devnetMerchant.address
const VALID_SECONDS = 600

const domain = { name, version: '2', chainId: 5042, verifyingContract: asset } as const

/** A payment of a cent that is good for ten minutes. */
export async function aSignedPayment(
  changes: { validSeconds?: number; validAfterSeconds?: number; maxTimeoutSeconds?: number } = {},
): Promise<SignedPayment> {
  const { validSeconds = VALID_SECONDS, validAfterSeconds, maxTimeoutSeconds = 60 } = changes
  if (isUpto) return anUptoPayment(validSeconds)
  const seconds = Math.floor(Date.now() / 1000)
  const authorization: Authorization = {
    from: payer,
    to: payTo,
    value: 10_000n,
    validAfter: validAfterSeconds === undefined ? 0n : BigInt(seconds + validAfterSeconds),
    validBefore: BigInt(seconds + validSeconds),
    nonce: toHex(randomBytes(32)),
  }
  const signature = await devnetPayer.account.signTypedData({
    domain,
    types,
    primaryType: 'TransferWithAuthorization',
    message: { ...authorization },
  })
  const { value, nonce } = authorization
  const body = JSON.stringify(bodyOf(authorization, signature, maxTimeoutSeconds))
  return { payer, payTo, value, nonce, authorization, signature, body }
}

async function anUptoPayment(validSeconds: number): Promise<SignedPayment> {
  const deadline = BigInt(Math.floor(Date.now() / 1000) + validSeconds)
  const nonce = toHex(randomBytes(32))
  const value = 10_000n
  const signed = await aPermit2Payment({ permitted: 2n * value, deadline, nonce: BigInt(nonce) })
  const { signature } = signed.paymentPayload.payload
  const validBefore = deadline + 1n
  const authorization = { from: payer, to: payTo, value, validAfter: 0n, validBefore, nonce }
  const body = JSON.stringify(charging(signed, value))
  return { payer, payTo, value, nonce, authorization, signature, body }
}

/** Lets the payer pay on a fresh chain. */
export async function allowPayments(chainUrl: string): Promise<void> {
  if (isUpto) await approvePermit2(chainUrl, payer, 2n ** 255n)
}

export function somePayments(count: number): Promise<SignedPayment[]> {
  return Promise.all(Array.from({ length: count }, () => aSignedPayment()))
}

function bodyOf(authorization: Authorization, signature: Hex, maxTimeoutSeconds: number) {
  const { value, validAfter, validBefore } = authorization
  const requirements = {
    scheme: 'exact',
    network,
    amount: value.toString(),
    asset,
    payTo,
    maxTimeoutSeconds,
    extra: { name, version: '2' },
  }
  const wire = {
    ...authorization,
    value: value.toString(),
    validAfter: validAfter.toString(),
    validBefore: validBefore.toString(),
  }
  return {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      accepted: requirements,
      payload: { signature, authorization: wire },
    },
    paymentRequirements: requirements,
  }
}
