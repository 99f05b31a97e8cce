import type { Address } from 'viem'
import { createHourlyCounts } from '../../async/limits.js'

/** Most that may be counted within an hour. */
interface HourlyBounds {
  inAll: number
  perPayer: number
  perPayTo: number
  perHost: number
}

/** Whom something is counted for. */
interface CountedFor {
  payer: Address
  payTo: Address
  host: string
}

/**
 * Creates bounds on what payments of strangers cause within an hour. Those of one payer, recipient and host are far below
 * the bound of all, so that nobody uses it up alone: that takes many funded payers, recipients and hosts. `now` is in Unix
 * milliseconds.
 */
export function createHourlyBounds(bounds: HourlyBounds, now: () => number) {
  const counts = createHourlyCounts(now)
  const partsOf = ({ payer, payTo, host }: CountedFor) => [
    { key: 'all', max: bounds.inAll, scope: 'within the hour' },
    { key: `payer ${payer}`, max: bounds.perPayer, scope: 'of this payer within the hour' },
    { key: `payTo ${payTo}`, max: bounds.perPayTo, scope: 'of this payTo within the hour' },
    { key: `host ${host}`, max: bounds.perHost, scope: 'of this host within the hour' },
  ]
  function add(one: CountedFor, count: number): void {
    for (const { key } of partsOf(one)) counts.add(key, count)
  }

  return {
    /** Counts one, or returns the bound that is reached, as the end of a sentence. */
    take(one: CountedFor): string | undefined {
      const full = partsOf(one).find(({ key, max }) => counts.of(key) >= max)
      if (full === undefined) add(one, 1)
      return full?.scope
    },
    /** Counts more of what was taken, which may go past the bounds. */
    add,
  }
}
