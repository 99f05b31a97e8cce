import type { Address } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { createStateRule } from '../../../../src/directory/activity/recorder.js'
import type { PaymentAnswer } from '../../../../src/x402/payment-answer.js'
import { reasons } from '../../../../src/x402/reasons.js'

const payer: Address = '0x4444444444444444444444444444444444444444'
const payTo: Address = '0x3333333333333333333333333333333333333333'
const day = 86_400_000

let judge: ReturnType<typeof createStateRule>
beforeEach(() => {
  judge = createStateRule()
})

interface Wish extends Partial<Omit<PaymentAnswer, 'payment'>> {
  payment?: Partial<PaymentAnswer['payment']>
}

/** A settle that was refused for the balance, of a payment without a row. */
function anAnswer({ payment, ...over }: Wish = {}): PaymentAnswer {
  return {
    kind: 'settle',
    at: 10 * day,
    latencyMs: 5,
    payment: {
      network: 'eip155:5042',
      asset: payTo,
      payTo,
      payer,
      amount: 10n,
      proof: '0x01',
      ...payment,
    },
    state: 'failed',
    reason: reasons.insufficientBalance.code,
    transaction: null,
    settlementId: null,
    gasCost: null,
    ...over,
  }
}

const valid = (wish: Wish = {}) =>
  anAnswer({ kind: 'verify', state: 'valid', reason: null, ...wish })

describe('a settle that was answered with no', () => {
  it('is refused where nobody ever found the payment sound', () => {
    expect(judge(anAnswer())).toBe('refused')
    expect(judge(anAnswer({ kind: 'verify', state: 'invalid' }))).toBe('invalid')
    expect(judge(anAnswer())).toBe('refused')
  })

  it('has failed once verify found the payment valid, and only once', () => {
    expect(judge(valid())).toBe('valid')
    expect(judge(anAnswer())).toBe('failed')
    expect(judge(anAnswer())).toBe('refused')
    expect(judge(anAnswer({ at: 12 * day }))).toBe('refused')
  })

  it('has failed where it went on to the chain', () => {
    expect(judge(anAnswer({ settlementId: 'a', payment: { proof: '0x02' } }))).toBe('failed')
    const late = { payer: '0x55' as Address, proof: '0x03' }
    expect(judge(anAnswer({ state: 'pending', settlementId: 'b', payment: late }))).toBe('pending')
    expect(judge(anAnswer({ payment: late }))).toBe('failed')
  })

  it.each<[string, NonNullable<Wish['payment']>]>([
    ['another signature', { proof: '0x09' }],
    ['another recipient', { payTo: payer }],
    ['another amount', { amount: 11n }],
  ])('is of another payment with %s', (_, payment) => {
    judge(valid())
    expect(judge(anAnswer({ payment }))).toBe('refused')
  })

  it.each(['nonceAlreadyUsed', 'idempotencyKeyConflict'] as const)(
    'is no failure for %s',
    (key) => {
      judge(valid())
      const reason = reasons[key].code
      expect(judge(anAnswer({ reason }))).toBe('refused')
      expect(judge(anAnswer({ reason, settlementId: 'a' }))).toBe('refused')
    },
  )

  it('counts by the doing of a payer once a day, whoever they were to pay', () => {
    const states = [1, 2, 3].map((n) => {
      const payment = { proof: `0x0${n}`, payTo: n === 3 ? payer : payTo }
      judge(valid({ payment }))
      return judge(anAnswer({ payment }))
    })
    expect(states).toEqual(['failed', 'refused', 'refused'])
    const other = { proof: '0x07', payer: payTo }
    judge(valid({ payment: other }))
    expect(judge(anAnswer({ payment: other }))).toBe('failed')
    const next = { proof: '0x08' }
    judge(valid({ payment: next }))
    expect(judge(anAnswer({ payment: next, at: 11 * day }))).toBe('failed')
  })

  it('counts each time where no payer can bring it about', () => {
    const states = ['gasPriceTooHigh', 'unexpectedSettleError', 'assetPaused'].map((key, n) =>
      judge(
        anAnswer({
          settlementId: key,
          payment: { proof: `0x0${n}` },
          reason: reasons[key as 'assetPaused'].code,
        }),
      ),
    )
    expect(states).toEqual(['failed', 'failed', 'failed'])
  })

  it('is forgotten to have been sound rather than remembered without end', () => {
    judge(valid())
    for (let n = 0; n < 10_000; n++) judge(valid({ payment: { proof: `0x${n + 100}` } }))
    expect(judge(anAnswer())).toBe('refused')
  })

  it('is remembered with a proof of any length', () => {
    const [one, two] = ['1', '2'].map((digit) => `0x${'ab'.repeat(8_000)}${digit}`)
    judge(valid({ payment: { proof: one as string } }))
    expect(judge(anAnswer({ payment: { proof: two as string } }))).toBe('refused')
    expect(judge(anAnswer({ payment: { proof: one as string } }))).toBe('failed')
  })
})
