import { reasons } from '@arcus/protocol/x402/reasons'
import { describe, expect, it } from 'vitest'
import { RpcUnavailableError } from '../../../../src/chain/rpc-errors.js'
import type { Job } from '../../../../src/facilitator/journal/settlement-journal.js'
import type { CheckResult, Purpose } from '../../../../src/facilitator/verify/payment-check.js'
import { createVerifiedPayments } from '../../../../src/facilitator/verify/verified-payments.js'
import { createVerifier } from '../../../../src/facilitator/verify/verifier.js'
import { aRow } from '../../../support/a-row.js'
import { aBody, aPayment, network, nowSeconds, payer } from '../../protocol/x402/a-payment.js'
import { anIntent } from '../methods/an-intent.js'

const NOW = nowSeconds * 1_000
const transaction = `0x${'aa'.repeat(32)}` as const
const digest = `0x${'d1'.repeat(32)}` as const
const payment = aPayment()
const valid: CheckResult = { state: 'valid', intent: anIntent({ payment, digest }) }

interface VerifierWorld {
  result?: CheckResult
  canSettle?: boolean
  /** The row to which the id of the payment is bound. */
  boundTo?: string
  /** The row whose success this process is answering with. */
  delivering?: string
}

/** Verifies a payment of which the checks find this; they find it valid unless said. */
async function verify(world: VerifierWorld = {}, body: unknown = aBody(payment), caller?: string) {
  const verified = createVerifiedPayments()
  const purposes: Purpose[] = []
  const run = createVerifier({
    async checkPayment(_payment, purpose) {
      purposes.push(purpose)
      return world.result ?? valid
    },
    verified,
    deliveryStore: { findIdempotencyKey: async () => world.boundTo },
    checksum: (address) => address,
    paymentUrl: (...name) => `https://pay.example.com/payments/${name.join('/')}`,
    canSettle: () => world.canSettle ?? true,
    now: () => NOW,
    isDelivering: (id) => id === world.delivering,
  })
  const { status, body: answer, payment: about } = await run(body, caller)
  const isNoted = verified.take({ network, digest, signature: payment.signature })
  return { status, answer, about, isNoted, purposes }
}

const known = (changes: Partial<Job>): CheckResult => ({
  state: 'known',
  job: aRow({ id: 'row-1', transaction, ...changes }),
})
const used = { isValid: false, invalidReason: reasons.nonceAlreadyUsed.code }

describe('verify of a payment', () => {
  it('that is valid says so, and remembers it with its signature', async () => {
    const { status, answer, about, isNoted, purposes } = await verify({}, undefined, 'a caller')
    expect([status, answer]).toEqual([200, { isValid: true, payer }])
    expect(about).toMatchObject({ network, payer, amount: 10_000n })
    expect(isNoted).toBe(true)
    expect(purposes).toEqual([
      { isSettle: false, marginSeconds: 6, maxAgeMs: 1_000, caller: 'a caller' },
    ])
  })

  it('that is refused gives the reason, and remembers nothing', async () => {
    const rejection = { reason: 'insufficientBalance', message: 'Poor.' } as const
    const { answer, about, isNoted } = await verify({ result: { state: 'rejected', rejection } })
    expect(answer).toEqual({
      isValid: false,
      invalidReason: reasons.insufficientBalance.code,
      invalidMessage: 'Poor.',
      payer,
    })
    expect([about?.payer, isNoted]).toEqual([payer, false])
  })

  it('that no relayer could send is a failure, and is counted nowhere', async () => {
    const { status, about, isNoted } = await verify({ canSettle: false })
    expect([status, about, isNoted]).toEqual([500, undefined, false])
    // A refusal has its reason all the same.
    const result = known({ state: 'queued', transaction: null })
    expect((await verify({ canSettle: false, result })).answer).toMatchObject(used)
  })

  it.each<[string, Partial<Job>, boolean]>([
    ['is under way', { state: 'submitted' }, false],
    ['has landed, and nobody was told', { state: 'confirmed' }, true],
    ['has landed, and was told', { state: 'confirmed', deliveredAt: NOW - 1 }, false],
    ['is being told', { state: 'confirmed', deliveryUntil: NOW + 1 }, false],
    ['was being told until now', { state: 'confirmed', deliveryUntil: NOW }, true],
    ['was being told until a second ago', { state: 'confirmed', deliveryUntil: NOW - 1_000 }, true],
  ])('that %s is as valid as settle would find it', async (_, changes, isValid) => {
    const { answer, isNoted } = await verify({ result: known(changes) })
    expect(answer).toMatchObject(isValid ? { isValid } : used)
    expect(isNoted).toBe(false)
  })

  it('whose success this process is answering with is used, whatever the clock says', async () => {
    const result = known({ state: 'confirmed', deliveryUntil: NOW - 1 })
    expect((await verify({ result, delivering: 'row-1' })).answer).toMatchObject(used)
    expect((await verify({ result, delivering: 'row-2' })).answer).toEqual({ isValid: true, payer })
  })

  it('whose nonce another authorization holds is used, and can be looked up', async () => {
    const { answer } = await verify({ result: { state: 'held', job: aRow() } })
    expect(answer).toMatchObject(used)
    const url = `https://pay.example.com/payments/${network}/${payer}/${payment.authorization.nonce}`
    expect(answer.invalidMessage).toContain(`See ${url}.`)
  })

  it('that the chain shows as used without a transaction is no answer', async () => {
    const result: CheckResult = { state: 'unclear', transaction: undefined }
    await expect(verify({ result })).rejects.toThrow(RpcUnavailableError)
  })

  it('whose id belongs to another payment is refused, and remembers nothing', async () => {
    const body = aBody(payment)
    const identified = {
      ...body,
      paymentPayload: {
        ...(body.paymentPayload as object),
        extensions: { 'payment-identifier': { info: { required: true, id: 'order-of-the-test' } } },
      },
    }
    const conflict = await verify({ boundTo: 'row-2' }, identified)
    expect(conflict.answer.invalidReason).toBe(reasons.paymentIdentifierConflict.code)
    expect(conflict.isNoted).toBe(false)
    expect((await verify({}, identified)).answer.isValid).toBe(true)
    const own = { boundTo: 'row-1', result: known({ state: 'confirmed' }) }
    expect((await verify(own, identified)).answer.isValid).toBe(true)
  })

  it('that cannot be read is refused before any check', async () => {
    const { answer, about, purposes } = await verify({}, { ...aBody(payment), x402Version: 7 })
    expect([answer.isValid, answer.payer, about, purposes]).toEqual([false, payer, undefined, []])
  })
})
