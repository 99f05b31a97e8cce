import { reasons } from '@arcus/protocol/x402/reasons'
import { Registry } from 'prom-client'
import { beforeEach, describe, expect, it } from 'vitest'
import { type AnswerMetrics, createAnswerMetrics } from '../../../../src/app/metrics/answers.js'
import type { SettleResult } from '../../../../src/facilitator/answers.js'
import { aBody, aJob, confirmed, failed } from './a-job.js'

let registry: Registry
let metrics: AnswerMetrics
beforeEach(() => {
  registry = new Registry()
  metrics = createAnswerMetrics(registry)
})

const sayYes = (body: unknown = aBody()) =>
  metrics.verified(body, { status: 200, body: { isValid: true } }, 0.1)

const sayNo = (invalidReason: string, body: unknown = aBody()) =>
  metrics.verified(body, { status: 200, body: { isValid: false, invalidReason } }, 0.1)

function settleWith(errorReason: string | undefined, settlementId?: string) {
  const answer: SettleResult = {
    status: 200,
    body: {
      success: errorReason === undefined,
      ...(errorReason && { errorReason }),
      transaction: '',
      network: '',
    },
    ...(settlementId && { settlementId }),
  }
  metrics.settled(aBody(), answer, 0.5)
}

/** `label=value,…` to figure, of one metric. */
async function figures(name: string): Promise<Record<string, number>> {
  const { values } = (await registry.getSingleMetric(name)?.get()) ?? { values: [] }
  return Object.fromEntries(
    values.map(({ labels, value }) => [Object.values(labels).join(' '), value]),
  )
}

const broken = () => figures('arcus_broken_promises_total')
const poor = reasons.insufficientBalance.code
const used = reasons.nonceAlreadyUsed.code

describe('answers', () => {
  it('are counted by network and reason', async () => {
    sayYes()
    sayYes(aBody('eip155:5042002'))
    sayNo(poor)
    settleWith(undefined)
    settleWith(used)
    expect(await figures('arcus_verify_total')).toEqual({
      'eip155:5042 valid': 1,
      'eip155:5042002 valid': 1,
      [`eip155:5042 ${poor}`]: 1,
    })
    expect(await figures('arcus_settle_total')).toEqual({
      'eip155:5042 settled': 1,
      [`eip155:5042 ${used}`]: 1,
    })
  })

  it('keep the promise when they are in time, and break it when they are pending or our fault', async () => {
    metrics.begin('eip155:5042')
    const promise = () => figures('arcus_settle_promise_total')
    expect(await promise()).toEqual({ 'eip155:5042 yes': 0, 'eip155:5042 no': 0 })
    settleWith(undefined)
    settleWith(used)
    settleWith(poor)
    expect(await promise()).toEqual({ 'eip155:5042 yes': 1, 'eip155:5042 no': 0 })
    settleWith(reasons.settlementPending.code, 'a')
    metrics.countFault('settle', reasons.unexpectedSettleError.code, aBody())
    metrics.countFault('settle', reasons.rateLimited.code, aBody())
    metrics.countFault('verify', reasons.unexpectedVerifyError.code, aBody())
    expect(await promise()).toEqual({ 'eip155:5042 yes': 1, 'eip155:5042 no': 2 })
  })

  it('that charged nothing are counted apart, and keep no promise', async () => {
    const payment = { network: '', asset: '0x', payTo: '0x', payer: '0x', amount: 0n } as const
    const body = { success: true, transaction: '', network: '' } as const
    metrics.settled(aBody(), { status: 200, body, payment }, 0.5)
    expect(await figures('arcus_settle_total')).toEqual({ 'eip155:5042 free': 1 })
    expect(await figures('arcus_settle_promise_total')).toEqual({})
  })

  it('break the promise when success comes after more than five seconds', async () => {
    const body = { success: true, transaction: '', network: '' } as const
    metrics.settled(aBody(), { status: 200, body }, 5)
    expect(await figures('arcus_settle_promise_total')).toEqual({ 'eip155:5042 yes': 1 })
    metrics.settled(aBody(), { status: 200, body }, 5.001)
    expect(await figures('arcus_settle_promise_total')).toEqual({
      'eip155:5042 yes': 1,
      'eip155:5042 no': 1,
    })
  })

  it.each([
    { body: null },
    { body: 'text' },
    { body: 7 },
    { body: [] },
    { body: { paymentPayload: null, paymentRequirements: null } },
    { body: { paymentRequirements: { network: 'eip155:1' } } },
  ])('to $body count for the network other', async ({ body }) => {
    sayYes(body)
    expect(await figures('arcus_verify_total')).toEqual({ 'other valid': 1 })
  })

  it('with a code outside the table count as other', async () => {
    sayNo('made_up_by_somebody')
    expect(await figures('arcus_verify_total')).toEqual({ 'eip155:5042 other': 1 })
  })

  it('that ended in an error are timed, and left to the count of faults', async () => {
    metrics.verified(aBody(), undefined, 0.1)
    metrics.countFault('verify', reasons.unexpectedVerifyError.code, aBody())
    expect(await figures('arcus_verify_total')).toEqual({
      'eip155:5042 unexpected_verify_error': 1,
    })
    const text = await registry.metrics()
    expect(text).toContain('arcus_verify_seconds_count{network="eip155:5042"} 1')
  })
})

describe('a promise of verify', () => {
  it('is broken when the row fails, once', async () => {
    sayYes()
    metrics.decided(aJob, failed)
    metrics.decided(aJob, failed)
    settleWith(poor, 'row')
    expect(await broken()).toEqual({ [`eip155:5042 ${poor}`]: 1 })
  })

  it('is broken when settle refuses before there is a row', async () => {
    sayYes()
    settleWith(poor)
    settleWith(poor)
    expect(await broken()).toEqual({ [`eip155:5042 ${poor}`]: 1 })
  })

  it('is kept once the payment is confirmed, whatever later callers are answered', async () => {
    sayYes()
    metrics.decided(aJob, confirmed)
    settleWith(undefined, 'row')
    settleWith(used, 'row')
    settleWith(used)
    expect(await broken()).toEqual({})
  })

  it.each([
    'settlementPending',
    'unexpectedSettleError',
    'idempotencyKeyConflict',
    'paymentIdentifierRequired',
    'paymentIdentifierConflict',
    'invalidPayload',
  ] as const)('stands while settle says %s', async (reason) => {
    sayYes()
    settleWith(reasons[reason].code)
    expect(await broken()).toEqual({})
    metrics.decided(aJob, failed)
    expect(await broken()).toEqual({ [`eip155:5042 ${poor}`]: 1 })
  })

  it('that was never made is not broken', async () => {
    sayNo(poor)
    settleWith(poor)
    metrics.decided(aJob, failed)
    expect(await broken()).toEqual({})
  })
})
