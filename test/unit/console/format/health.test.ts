import { describe, expect, it } from 'vitest'
import { healthCounts, healthOf, type JudgedApi } from '../../../../src/console/format/health.js'

type Purchase = NonNullable<JudgedApi['delivery']>['last']

const anApi = (wish: Partial<JudgedApi> = {}): JudgedApi => ({
  status: 'live',
  failures: 0,
  probe: { verdict: 'live', warnings: [] },
  delivery: null,
  price: '10000',
  livePrice: '10000',
  ...wish,
})

const bought = (reason: Purchase['reason']): JudgedApi['delivery'] => ({
  last: { at: 1, delivered: reason === 'delivered', reason, ms: 5, transaction: null },
  share: 1,
  p50Ms: 5,
  outdated: false,
})

const warned = (...warnings: string[]) => ({ probe: { verdict: 'live', warnings } })

describe('the state of an API', () => {
  it.each([
    ['Live', 'ok', {}],
    ['Live', 'ok', { delivery: bought('delivered') }],
    ['Live', 'ok', warned('schema_missing', 'header_missing')],
    ['Did not deliver', 'bad', { delivery: bought('bad_status') }],
    ['Price differs', 'warn', { delivery: bought('price_changed') }],
    ['Price differs', 'warn', { livePrice: '20000' }],
    ['Price differs', 'warn', warned('price_drift')],
    ['Cannot be paid', 'bad', warned('amount_zero')],
    ['Cannot be paid', 'bad', warned('wrong_domain')],
    ['Cannot be paid', 'bad', warned('scheme_not_settled')],
    ['Second recipient', 'warn', warned('foreign_pay_to')],
    ['Failing, 1 of 3', 'warn', { failures: 1, probe: { verdict: 'unreachable', warnings: [] } }],
    ['Failing, 2 of 3', 'warn', { failures: 2, probe: { verdict: 'not_402', warnings: [] } }],
    ['Failing', 'bad', { status: 'failing', failures: 3 }],
    ['Not checked yet', 'plain', { status: 'unverified', probe: null, livePrice: null }],
    [
      'Never checked',
      'plain',
      { status: 'unverified', probe: { verdict: 'not_called', warnings: [] } },
    ],
  ] as const)('is “%s” (%s)', (name, tone, wish) => {
    expect(healthOf(anApi(wish as Partial<JudgedApi>))).toMatchObject({ name, tone })
  })

  it('is the worst of what the checks and the purchase found', () => {
    const failed = { failures: 1, probe: { verdict: 'unreachable', warnings: [] } }
    expect(healthOf(anApi({ ...failed, delivery: bought('no_answer') })).name).toBe(
      'Did not deliver',
    )
    expect(
      healthOf(anApi({ ...failed, status: 'failing', delivery: bought('no_answer') })).name,
    ).toBe('Failing')
    expect(healthOf(anApi({ ...warned('wrong_domain'), livePrice: '20000' })).name).toBe(
      'Cannot be paid',
    )
  })

  it('is counted, the worst first', () => {
    const apis = [anApi(), anApi({ delivery: bought('too_late') }), anApi()]
    expect(healthCounts(apis).map(({ name, count }) => [name, count])).toEqual([
      ['Did not deliver', 1],
      ['Live', 2],
    ])
    expect(healthCounts([])).toEqual([])
  })
})
