import { type BatchRequest, payerOf } from '../../x402/batch-request.js'
import type { Deposit } from '../../x402/batch-schemas.js'
import type { AnsweredPayment } from '../../x402/payment-answer.js'

/**
 * What those who count and list learn of a request: a deposit or a voucher pays for one call at the price of its
 * requirement. Claims, payouts and refunds are the merchant's bookkeeping, not sales: nothing is learnt of them.
 */
export function summaryOf(request: BatchRequest): AnsweredPayment | undefined {
  const { payload, requirements, network, resourceUrl } = request
  const payer = payerOf(payload)
  if (payer === undefined || payload.type === 'refund') return undefined
  const { asset, payTo } = requirements
  const amount =
    payload.type === 'deposit' ? broughtBy(payload, requirements.amount) : requirements.amount
  const proof = 'voucher' in payload ? payload.voucher.signature : undefined
  return {
    network,
    asset,
    payTo,
    payer,
    amount,
    ...(proof && { proof }),
    ...(resourceUrl && { resourceUrl }),
  }
}

/** The price is whoever asks's word: of it counts what the voucher grants, and the deposit brought. */
function broughtBy({ voucher, deposit }: Deposit, price: bigint): bigint {
  const bounds = [price, BigInt(voucher.maxClaimableAmount), BigInt(deposit.amount)]
  return bounds.reduce((least, bound) => (bound < least ? bound : least))
}
