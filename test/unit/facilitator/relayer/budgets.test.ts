import { expect, it } from 'vitest'
import { WASTED, wastedBy } from '../../../../src/facilitator/journal/budgets.js'
import { newRow } from '../../../../src/facilitator/journal/sql-journal.js'
import { createGasModel } from '../../../../src/facilitator/relayer/gas.js'
import type { JobProfile } from '../../../../src/facilitator/relayer/jobs.js'
import { Waste } from '../../../../src/facilitator/relayer/waste.js'
import { aWorld, network, useVirtualClock } from '../../../support/simulated/a-relayer.js'
import { BASE_FEE } from '../../../support/simulated/chain.js'
import { createPaymentJobs } from './tracked.js'

useVirtualClock()

const PRICE = BASE_FEE + 1_000_000n
/** The gas that a failing payment burns: with others, where it is skipped, and alone; and the base of a transaction. */
const [EACH, SKIPPED, ALONE, BASE] = [45_000n, 13_000n, 60_000n, 21_000n]
const limits = { perAccount: 1_000_000n * PRICE, wasted: 5_000_000n * PRICE }
const fees = { maxFeePerGas: 3n * PRICE, maxPriorityFeePerGas: 1n }
const [mine, theirs] = ['198.51.100.7', '203.0.113.9']

/** Jobs that are about to be signed, and what their transaction reserves. */
function someJobs({ isGuarded = false } = {}) {
  const world = aWorld()
  const profiles = new Map<string, Partial<JobProfile>>()
  const jobs = createPaymentJobs(profiles)
  const waste = new Waste({
    network,
    jobs,
    limits,
    now: Date.now,
    queue: { isInHand: () => true },
    books: { wastedOn: async () => new Map() },
    isGuarded: () => isGuarded,
    gas: createGasModel(),
    readCoded: async () => new Set(),
    feed: { latest: () => ({ baseFeePerGas: BASE_FEE }) } as never,
  })
  return {
    aJob(caller = mine, profile: Partial<JobProfile> = {}) {
      const job = world.aJob({ caller })
      profiles.set(job.id, profile)
      return jobs.track(newRow(job, 0))
    },
    reserve(entries: Parameters<typeof waste.budgetsOf>[0], gasLimit = 100_000n, again = false) {
      const budgets = waste.budgetsOf(entries, gasLimit, fees, again)
      return Object.fromEntries(budgets.map(({ name, ...rest }) => [name, rest]))
    },
  }
}

it('a payment alone reserves its gas limit, and of its account what it burns alone; the only one of its caller goes whatever was wasted', () => {
  const { aJob, reserve } = someJobs({ isGuarded: true })
  const entry = aJob()
  expect(reserve([entry])).toEqual({
    [entry.payer]: { amount: (ALONE + BASE) * PRICE, least: 1n, limit: limits.perAccount },
    [WASTED.plain]: { amount: 100_000n * PRICE },
  })
  expect(entry.riskedGas).toBe(100_000)
})

it.each<[string, { isGuarded: boolean }, bigint, bigint]>([
  ['all of its gas limit through Multicall3', { isGuarded: false }, EACH, 120_000n],
  ['what skipping burns where they are skipped', { isGuarded: true }, SKIPPED, SKIPPED * 3n + BASE],
])(
  'payments that share a transaction reserve %s, and are within what all may waste',
  (_, world, each, all) => {
    const { aJob, reserve } = someJobs(world)
    const entries = [aJob(), aJob(theirs), aJob(theirs)]
    const found = reserve(entries, 120_000n)
    const amount = (each + BASE / 3n) * PRICE
    for (const { payer } of entries) {
      expect(found[payer]).toEqual({ amount, least: 1n, limit: limits.perAccount })
    }
    // One caller has the only one of it, and the other has two.
    expect(found[WASTED.plain]).toEqual({ amount: all * PRICE, limit: limits.wasted })
    expect(reserve(entries.slice(0, 1))[WASTED.plain]).not.toHaveProperty('limit')
  },
)

it('a replacement reserves without limits, because its payments are under way already', () => {
  const { aJob, reserve } = someJobs()
  const entries = [aJob(), aJob()]
  const each = (EACH + BASE / 2n) * PRICE
  expect(reserve(entries, 100_000n, true)).toEqual({
    [entries[0]?.payer as string]: { amount: each },
    [entries[1]?.payer as string]: { amount: each },
    [WASTED.plain]: { amount: 100_000n * PRICE },
  })
})

it('a job with a gas limit of its own reserves all of it; a large one is within the share of its caller', () => {
  const { aJob, reserve } = someJobs()
  const entry = aJob(mine, { gas: { least: 1n, most: 9_000_000n } })
  const share = wastedBy('plain', mine)
  const small = reserve([entry], 400_000n)
  expect(small[WASTED.plain]).toEqual({ amount: 400_000n * fees.maxFeePerGas })
  expect(small).not.toHaveProperty([share])
  const amount = 400_001n * fees.maxFeePerGas
  expect(reserve([entry], 400_001n)[share]).toEqual({ amount, limit: limits.wasted / 2n })
  expect(reserve([entry], 400_001n, true)).not.toHaveProperty([share])
})

it('a payment of any gas limit, and a job of the operator, are in no share', () => {
  const { aJob, reserve } = someJobs()
  expect(reserve([aJob()], 9_000_000n)).not.toHaveProperty([wastedBy('plain', mine)])
  const gas = { least: 1n, most: 9_000_000n }
  const own = aJob(theirs, { gas, standing: 'own' })
  expect(reserve([own], 9_000_000n)).not.toHaveProperty([wastedBy('plain', theirs)])
})
