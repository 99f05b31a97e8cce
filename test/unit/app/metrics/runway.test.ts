import { describe, expect, it } from 'vitest'
import { createRunway } from '../../../../src/app/metrics/gas-money.js'

const dollar = 10n ** 18n

/** The runway of 100 dollars at a time of 2026-11-21, given the gasCharge of each day. */
function runwayAt(time: string, spent: Record<string, bigint>): Promise<number> {
  return createRunway({
    network: 'eip155:5042',
    budgets: {
      spentOn: async (_, day) => spent[day] ?? 0n,
      burntBy: async () => 0n,
      wastedOn: async () => new Map(),
    },
    now: () => Date.parse(`2026-11-21T${time}Z`),
  })(100n * dollar)
}

describe('the runway', () => {
  it('is infinite while nothing is spent', async () => {
    expect(await runwayAt('12:00:00', {})).toBe(Number.POSITIVE_INFINITY)
  })

  it('counts today whole and yesterday for the hours that are still to come', async () => {
    const spent = { '2026-11-20': 4n * dollar, '2026-11-21': 3n * dollar }
    expect(await runwayAt('12:00:00', spent)).toBeCloseTo(100 / 5)
    expect(await runwayAt('18:00:00', spent)).toBeCloseTo(100 / 4)
  })

  it('takes the pace since midnight on a first day', async () => {
    expect(await runwayAt('12:00:00', { '2026-11-21': 5n * dollar })).toBeCloseTo(10)
  })

  it('takes no first minutes for a whole day', async () => {
    const spent = { '2026-11-21': 5n * dollar }
    expect(await runwayAt('00:01:00', spent)).toBeCloseTo(100 / 120)
    expect(await runwayAt('01:00:00', spent)).toBeCloseTo(100 / 120)
  })
})
