import type { PaymentAnswer } from '@arcus/protocol/x402/payment'

let count = 0

/** An answer of the facilitator; a settle of a cent unless wished otherwise, each of another payment. */
export function anAnswer({
  payment,
  ...wish
}: Partial<Omit<PaymentAnswer, 'payment'>> & {
  payment?: Partial<PaymentAnswer['payment']>
} = {}): PaymentAnswer {
  const hash = `0x${(++count).toString(16).padStart(64, '0')}` as const
  return {
    kind: 'settle',
    state: 'settled',
    at: 1_800_000_000_000 + count,
    latencyMs: 540,
    reason: null,
    transaction: hash,
    settlementId: `settlement-${count}`,
    gasCost: 21n,
    payment: {
      network: 'eip155:5042',
      asset: '0x3600000000000000000000000000000000000000',
      payTo: '0x3333333333333333333333333333333333333333',
      payer: '0x4444444444444444444444444444444444444444',
      amount: 10_000n,
      nonce: hash,
      ...payment,
    },
    ...wish,
  }
}
