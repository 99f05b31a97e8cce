import { type BatchRequest, payerOf } from '../../x402/batch-request.js'
import type { AnsweredPayment } from '../../x402/payment-answer.js'

/**
 * What those who count and list learn of a request: a deposit or a voucher pays for one call at the price of its
 * requirement. Claims, payouts and refunds are the merchant's bookkeeping, not sales: nothing is learnt of them.
 */
export function summaryOf(request: BatchRequest): AnsweredPayment | undefined {
  const { payload, requirements, network, resourceUrl } = request
  const payer = payerOf(payload)
  if (payer === undefined || payload.type === 'refund') return undefined
  const { asset, payTo, amount } = requirements
  return { network, asset, payTo, payer, amount, ...(resourceUrl && { resourceUrl }) }
}
