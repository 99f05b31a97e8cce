import {
  identifierKey,
  PAYMENT_IDENTIFIER,
  readPaymentIdentifier,
} from '@arcus/protocol/x402/payment-identifier'
import { describe, expect, it } from 'vitest'

const read = (info: unknown) =>
  readPaymentIdentifier({ paymentPayload: { extensions: { [PAYMENT_IDENTIFIER]: { info } } } })

describe('the id of a payment', () => {
  it.each([
    ['x'.repeat(15), false],
    ['x'.repeat(16), true],
    ['x'.repeat(128), true],
    ['x'.repeat(129), false],
    [`${'x'.repeat(16)} `, false],
    [16, false],
    [undefined, false],
  ])('%s counts: %s', (id, counts) => {
    expect(read({ id })).toEqual({ ok: true, id: counts ? id : undefined })
    const refused = { ok: false, rejection: { reason: 'paymentIdentifierRequired' } }
    expect(read({ id, required: true })).toMatchObject(counts ? { ok: true, id } : refused)
  })

  it('is bound for its payer on its network alone', () => {
    const keys = ['eip155:1', 'eip155:2'].flatMap((network) =>
      (['0x0a', '0x0b'] as const).map((payer) => identifierKey(network, payer, 'x'.repeat(16))),
    )
    expect(new Set(keys).size).toBe(4)
  })
})
