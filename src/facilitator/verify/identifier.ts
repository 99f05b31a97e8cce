import { reject } from '@arcus/protocol/x402/reasons'
import type { DeliveryStore } from '../journal/deliveries.js'
import type { CheckResult } from './payment-check.js'

/** The answer to a payment whose id its payer used with another one. */
export const identifierConflict = reject(
  'paymentIdentifierConflict',
  'This payer used this payment identifier with another payment; send a fresh one.',
)

/** Returns whether an id belongs to another payment of its payer. Nobody learns it without the payer's signature. */
export async function isBoundElsewhere(
  store: Pick<DeliveryStore, 'findIdempotencyKey'>,
  key: string | undefined,
  result: CheckResult,
): Promise<boolean> {
  if (key === undefined || !('job' in result || 'intent' in result)) return false
  const bound = await store.findIdempotencyKey(key)
  const own = 'job' in result ? result.job : result.intent.failedJob
  return bound !== undefined && bound !== own?.id
}
