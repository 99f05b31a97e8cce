import { createHash } from 'node:crypto'
import type { FacilitatorClient } from '@x402/core/server'
import { type PaymentPayload, type PaymentRequirements, SettleError } from '@x402/core/types'
import type { ClientEvmSigner } from '@x402/evm'
import type { Refund } from './refund-ledger.js'

export type TransferOutcome =
  | { state: 'landed'; transaction: string }
  /** The nonce is used on chain, which says nothing of the money: it may have been cancelled, or have moved another amount. */
  | { state: 'used'; reason: string }
  /** To be tried again. */
  | { state: 'failed'; reason: string }

/** What a refund moves on chain. */
export interface RefundTransfer {
  network: Refund['network']
  asset: string
  from: string
  to: string
  /** Units of the asset. */
  amount: string
  nonce: string
}

const ALREADY_USED = 'invalid_exact_evm_nonce_already_used'
const SETTLE_SECONDS = 60

const types = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
}

/**
 * Brings a refund as the merchant's own payment to the buyer: the merchant signs, the facilitator sends, no gas is
 * needed. Its nonce follows from the payment it gives back of, so that the token itself lets it happen once,
 * however often it is tried.
 */
export async function transferRefund(
  refund: Refund,
  signer: ClientEvmSigner,
  facilitator: FacilitatorClient,
): Promise<TransferOutcome> {
  const { network, asset, amount, extra, payer } = refund
  const requirements: PaymentRequirements = {
    scheme: 'exact',
    network,
    asset,
    amount,
    payTo: payer,
    maxTimeoutSeconds: SETTLE_SECONDS,
    extra: { ...extra },
  }
  try {
    const payload = await sign(refund, requirements, signer)
    const { success, transaction, errorReason } = await facilitator.settle(payload, requirements)
    return success ? { state: 'landed', transaction } : judge(errorReason)
  } catch (error) {
    if (error instanceof SettleError) return judge(error.errorReason)
    return { state: 'failed', reason: (error as Error).message }
  }
}

function judge(reason = 'settlement_failed'): TransferOutcome {
  return { state: reason === ALREADY_USED ? 'used' : 'failed', reason }
}

/** What a refund of this account moves. */
export function transferOf(refund: Refund, from: string): RefundTransfer {
  const { network, asset, amount, payer } = refund
  return { network, asset, from, to: payer, amount, nonce: refundNonce(refund) }
}

async function sign(
  refund: Refund,
  accepted: PaymentRequirements,
  signer: ClientEvmSigner,
): Promise<PaymentPayload> {
  const authorization = {
    from: signer.address,
    // A checksum the buyer got wrong is none of the signer's business.
    to: refund.payer.toLowerCase(),
    value: refund.amount,
    validAfter: '0',
    validBefore: String(refund.validBefore),
    nonce: refundNonce(refund),
  }
  const signature = await signer.signTypedData({
    domain: {
      ...refund.extra,
      chainId: Number(refund.network.split(':')[1]),
      verifyingContract: refund.asset.toLowerCase(),
    },
    types,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      value: BigInt(authorization.value),
      validAfter: 0n,
      validBefore: BigInt(refund.validBefore),
    },
  })
  return { x402Version: 2, accepted, payload: { signature, authorization } }
}

/** What a facilitator may tell of a payment that it knows by payer and nonce. */
type ToldPayment = { [member in 'state' | 'asset' | 'payTo' | 'amount' | 'transaction']?: unknown }

/** The transaction of a payment that is this very transfer, landed: the same amount of the same token to the same buyer. */
export function proofOf(
  { asset, to, amount }: RefundTransfer,
  told: ToldPayment,
): string | undefined {
  const isIt = told.state === 'confirmed' && told.amount === amount
  const goesThere = isSame(told.payTo, to) && isSame(told.asset, asset)
  return isIt && goesThere && typeof told.transaction === 'string' ? told.transaction : undefined
}

function isSame(told: unknown, address: string): boolean {
  return typeof told === 'string' && told.toLowerCase() === address.toLowerCase()
}

export type PaymentOfRefund = Pick<Refund, 'network' | 'asset' | 'payer' | 'paymentNonce'>

/** The same for all refunds of one payment. */
export function refundNonce({ network, asset, payer, paymentNonce }: PaymentOfRefund): string {
  const text = ['x402 refund', network, asset, payer, paymentNonce].join('\n').toLowerCase()
  return `0x${createHash('sha256').update(text).digest('hex')}`
}
