import type { PaymentAnswer } from '@arcus/protocol/x402/payment'
import { reasons } from '@arcus/protocol/x402/reasons'
import type { Address } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { createStateRule } from '../../../../src/directory/activity/recorder.js'

const payer: Address = '0x4444444444444444444444444444444444444444'
const payTo: Address = '0x3333333333333333333333333333333333333333'
const day = 86_400_000

let stateOf: ReturnType<typeof createStateRule>
beforeEach(() => {
  stateOf = createStateRule()
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

describe('a settle that was not successful', () => {
  it('is refused if the payment was never found valid', () => {
    expect(stateOf(anAnswer())).toBe('refused')
    expect(stateOf(anAnswer({ kind: 'verify', state: 'invalid' }))).toBe('invalid')
    expect(stateOf(anAnswer())).toBe('refused')
  })

  it('has failed once verify found the payment valid, and only once', () => {
    expect(stateOf(valid())).toBe('valid')
    expect(stateOf(anAnswer())).toBe('failed')
    expect(stateOf(anAnswer())).toBe('refused')
    expect(stateOf(anAnswer({ at: 12 * day }))).toBe('refused')
  })

  it('has failed where it went on to the chain', () => {
    expect(stateOf(anAnswer({ settlementId: 'a', payment: { proof: '0x02' } }))).toBe('failed')
    const late = { payer: '0x55' as Address, proof: '0x03' }
    expect(stateOf(anAnswer({ state: 'pending', settlementId: 'b', payment: late }))).toBe(
      'pending',
    )
    expect(stateOf(anAnswer({ payment: late }))).toBe('failed')
  })

  it.each<[string, NonNullable<Wish['payment']>]>([
    ['another signature', { proof: '0x09' }],
    ['another recipient', { payTo: payer }],
    ['another amount', { amount: 11n }],
  ])('is of another payment with %s', (_, payment) => {
    stateOf(valid())
    expect(stateOf(anAnswer({ payment }))).toBe('refused')
  })

  it.each(['nonceAlreadyUsed', 'idempotencyKeyConflict'] as const)(
    'is no failure for %s',
    (key) => {
      stateOf(valid())
      const reason = reasons[key].code
      expect(stateOf(anAnswer({ reason }))).toBe('refused')
      expect(stateOf(anAnswer({ reason, settlementId: 'a' }))).toBe('refused')
    },
  )

  it('counts once a day if a payer can cause it, whatever the recipient', () => {
    const states = [1, 2, 3].map((n) => {
      const payment = { proof: `0x0${n}`, payTo: n === 3 ? payer : payTo }
      stateOf(valid({ payment }))
      return stateOf(anAnswer({ payment }))
    })
    expect(states).toEqual(['failed', 'refused', 'refused'])
    const other = { proof: '0x07', payer: payTo }
    stateOf(valid({ payment: other }))
    expect(stateOf(anAnswer({ payment: other }))).toBe('failed')
    const next = { proof: '0x08' }
    stateOf(valid({ payment: next }))
    expect(stateOf(anAnswer({ payment: next, at: 11 * day }))).toBe('failed')
  })

  it('counts each time if no payer can cause it', () => {
    const states = ['gasPriceTooHigh', 'unexpectedSettleError', 'assetPaused'].map((key, n) =>
      stateOf(
        anAnswer({
          settlementId: key,
          payment: { proof: `0x0${n}` },
          reason: reasons[key as 'assetPaused'].code,
        }),
      ),
    )
    expect(states).toEqual(['failed', 'failed', 'failed'])
  })

  it('is forgotten as valid rather than remembered without end', () => {
    stateOf(valid())
    for (let n = 0; n < 10_000; n++) stateOf(valid({ payment: { proof: `0x${n + 100}` } }))
    expect(stateOf(anAnswer())).toBe('refused')
  })

  it('is remembered with a proof of any length', () => {
    const [one, two] = ['1', '2'].map((digit) => `0x${'ab'.repeat(8_000)}${digit}`)
    stateOf(valid({ payment: { proof: one as string } }))
    expect(stateOf(anAnswer({ payment: { proof: two as string } }))).toBe('refused')
    expect(stateOf(anAnswer({ payment: { proof: one as string } }))).toBe('failed')
  })
})
