import { randomBytes } from 'node:crypto'
import type { Authorization } from '@arcus/protocol/x402/authorization-digest'
import { authorizationTypes as types } from '@arcus/protocol/x402/authorization-types'
import { type Address, type Hex, type LocalAccount, toHex } from 'viem'
import { relayerMulticallOf } from '../../../src/chain/deployments.js'
import { devnetMerchant, devnetPayer, devnetRelayers } from '../../../src/devnet/accounts.js'
import { deployRelayerMulticall, devnetContracts } from '../../../src/devnet/fixtures.js'
import {
  aPermit2Payment,
  approvePermit2,
  charging,
  type Permit2Wish,
} from '../../support/a-permit2-payment.js'

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
/** The token of the payments: USDC, or what `vitest.config.ts` says. */
const name = process.env.FAULTS_TOKEN ?? 'USDC'
export const asset: Address = name === 'EURC' ? devnetContracts.eurc : devnetContracts.usdc
/** The scheme of payments by Permit2: `upto`, which charges half of what the payer permits, or `exact`. */
const permit2Schemes = { upto: 'upto', permit2: 'exact' } as const
export const permit2Scheme =
  permit2Schemes[process.env.FAULTS_SCHEME as keyof typeof permit2Schemes]
/** True where only the token or the proof of a payment is another one than in the other run of the same file. */
export const isVariant = name !== 'USDC' || permit2Scheme !== undefined
/** Payments of `upto` go through the multicall of these wallets, of which a service has one at least. */
export const multicallWallets = devnetRelayers.map(({ address }) => address)
export const uptoFacilitator = relayerMulticallOf(multicallWallets).address
const payer = devnetPayer.address
const payTo = devnetMerchant.address
const VALID_SECONDS = 600

const domain = { name, version: '2', chainId: 5042, verifyingContract: asset } as const

/** A payment of a cent that is good for ten minutes. */
export async function aSignedPayment(
  changes: {
    validSeconds?: number
    validAfterSeconds?: number
    maxTimeoutSeconds?: number
    signer?: LocalAccount
  } = {},
): Promise<SignedPayment> {
  const { validSeconds = VALID_SECONDS, validAfterSeconds, maxTimeoutSeconds = 60 } = changes
  const { signer = devnetPayer.account } = changes
  const payer = signer.address
  if (permit2Scheme !== undefined) return aPaymentByPermit2({ validSeconds })
  const seconds = Math.floor(Date.now() / 1000)
  const authorization: Authorization = {
    from: payer,
    to: payTo,
    value: 10_000n,
    validAfter: validAfterSeconds === undefined ? 0n : BigInt(seconds + validAfterSeconds),
    validBefore: BigInt(seconds + validSeconds),
    nonce: toHex(randomBytes(32)),
  }
  const signature = await signer.signTypedData({
    domain,
    types,
    primaryType: 'TransferWithAuthorization',
    message: { ...authorization },
  })
  const { value, nonce } = authorization
  const body = JSON.stringify(bodyOf(authorization, signature, maxTimeoutSeconds))
  return { payer, payTo, value, nonce, authorization, signature, body }
}

/** A payment by Permit2 of the scheme that `vitest.config.ts` says. */
export async function aPaymentByPermit2(
  wish: Pick<Permit2Wish, 'from' | 'signer' | 'permitted'> & {
    validSeconds?: number
    nonce?: Hex
  } = {},
): Promise<SignedPayment> {
  const { validSeconds = VALID_SECONDS, nonce = toHex(randomBytes(32)), ...by } = wish
  const deadline = BigInt(Math.floor(Date.now() / 1000) + validSeconds)
  const scheme = permit2Scheme ?? 'upto'
  const value = 10_000n
  const permitted = by.permitted ?? (scheme === 'upto' ? 2n * value : value)
  const signed = await aPermit2Payment({
    ...by,
    scheme,
    permitted,
    facilitator: uptoFacilitator,
    deadline,
    nonce: BigInt(nonce),
  })
  const { signature } = signed.paymentPayload.payload
  const from = by.from ?? payer
  const validBefore = deadline + 1n
  const authorization = { from, to: payTo, value: permitted, validAfter: 0n, validBefore, nonce }
  const body = JSON.stringify(charging(signed, value))
  return { payer: from, payTo, value, nonce, authorization, signature, body }
}

/** Lets the payer pay on a fresh chain. */
export async function allowPayments(chainUrl: string): Promise<void> {
  if (permit2Scheme !== undefined) await approvePermit2(chainUrl, payer, 2n ** 255n)
  if (permit2Scheme === 'upto') await deployRelayerMulticall(chainUrl, multicallWallets)
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
