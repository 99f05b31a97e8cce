import { describe, expect, it } from 'vitest'
import type { TrackedJob } from '../../../src/facilitator/relayer/jobs.js'
import type { Lane } from '../../../src/facilitator/relayer/lane.js'
import { measureShares } from '../../../src/facilitator/relayer/shares.js'

const measure = { blockGas: 30_000_000n, gasPerPayment: 100_000n }
const aJob = (payer: string, more: Partial<TrackedJob> = {}) =>
  ({ payer, isAlone: false, ...more }) as TrackedJob
const aLane = (carried: TrackedJob[][] = [], isHeld = true) =>
  ({ carried: () => carried, isHeld: () => isHeld }) as Lane

/** Returns how many jobs like this one the lane takes in one transaction. */
function takenBy(lanes: readonly [Lane, ...Lane[]], entry: TrackedJob, measured = measure): number {
  const mayTake = measureShares(lanes, measured)(lanes[0])
  const taken: TrackedJob[] = []
  while (taken.length < 1_000 && mayTake(entry, taken)) taken.push(entry)
  return taken.length
}

describe('the jobs of a payer', () => {
  it('take at most seven eighths of a block, those in other lanes included', () => {
    const other = aLane([Array.from({ length: 50 }, () => aJob('p'))])
    expect(takenBy([aLane(), other], aJob('p'))).toBe(212)
    expect(takenBy([aLane(), other], aJob('q'))).toBe(262)
  })

  it('are counted by the gas that each takes', () => {
    expect(takenBy([aLane()], aJob('p', { expectedGas: 200_000n }))).toBe(131)
    expect(takenBy([aLane()], aJob('p', { gas: { least: 0n, most: 5_000_000n } }))).toBe(5)
  })

  it('get one through however large it is', () => {
    expect(takenBy([aLane()], aJob('p', { gas: { least: 0n, most: 90_000_000n } }))).toBe(1)
  })

  it('have a share of a block in proportion to the wallets that this process holds', () => {
    const elsewhere = aLane([], false)
    expect(takenBy([aLane(), elsewhere], aJob('p'))).toBe(131)
  })

  it('are in at most fourteen transactions of a wallet', () => {
    const thirteen = Array.from({ length: 13 }, () => [aJob('p'), aJob('q')])
    expect(takenBy([aLane(thirteen)], aJob('p'))).toBeGreaterThan(0)
    const fourteen = aLane([...thirteen, [aJob('p')]])
    expect([takenBy([fourteen], aJob('p')), takenBy([fourteen, aLane()], aJob('r')) > 0]).toEqual([
      0,
      true,
    ])
    expect(takenBy([aLane(), fourteen], aJob('p'))).toBeGreaterThan(0)
  })
})

describe('jobs that travel alone', () => {
  const single = { isSingle: true }
  const lanesWith = (payers: string) => aLane([...payers].map((payer) => [aJob(payer, single)]))
  const mayGo = (lane: Lane, entry: TrackedJob) => takenBy([lane], entry) > 0

  it('have half of the places of a wallet, and one payer seven eighths of these', () => {
    expect(mayGo(lanesWith('pppppp'), aJob('p', single))).toBe(true)
    expect(mayGo(lanesWith('ppppppp'), aJob('p', single))).toBe(false)
    expect(mayGo(lanesWith('ppppppp'), aJob('q', single))).toBe(true)
    expect(mayGo(lanesWith('ppppqqqq'), aJob('r', single))).toBe(false)
    expect(mayGo(lanesWith('ppppqqqq'), aJob('r', { isAlone: true }))).toBe(false)
  })

  it('leave the other half to jobs that share', () => {
    expect(mayGo(lanesWith('ppppqqqq'), aJob('p'))).toBe(true)
  })

  it('are not those which only happen to be alone in a transaction', () => {
    const lane = aLane(Array.from({ length: 13 }, () => [aJob('p')]))
    expect(mayGo(lane, aJob('q', single))).toBe(true)
    expect(mayGo(lane, aJob('p', single))).toBe(true)
  })
})
