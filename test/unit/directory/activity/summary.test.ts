import { beforeEach, describe, expect, it } from 'vitest'
import { createPublicTotals } from '../../../../src/directory/activity/summary.js'
import type { ActivitySum } from '../../../../src/directory/store/activity.js'

let clock: number
let count: number
let reads: number
let tookMs: number
let isBroken: boolean

beforeEach(() => {
  clock = Date.parse('2026-11-20T13:00:00Z')
  count = 1
  reads = 0
  tookMs = 0
  isBroken = false
})

function totals() {
  return createPublicTotals({
    now: () => clock,
    store: {
      async sums(): Promise<ActivitySum[]> {
        reads++
        await Promise.resolve()
        if (isBroken) throw new Error('disk')
        clock += tookMs
        const settled = { kind: 'settle', state: 'settled', reason: null, isSelf: false } as const
        return [{ ...settled, bucket: 0, count, amount: 10_000n, gas: 0n }]
      },
      payersElsewhere: async () => 1,
      payers: async () => ({
        unique: 1,
        repeat: 0,
        topAmount: 10_000n,
        amount: 10_000n,
        topCount: 1,
        count: 1,
      }),
      latencies: async () => [],
    },
  })
}

describe('public totals', () => {
  it('are read anew each time where that costs nothing', async () => {
    const read = totals()
    expect((await read('weather')).all.settled).toBe(1)
    count = 2
    expect((await read('weather')).all.settled).toBe(2)
  })

  it('are kept for twenty times the time of their read', async () => {
    tookMs = 25
    const read = totals()
    await read('weather')
    count = 2
    clock += 1_999
    expect((await read('weather')).all.settled).toBe(1)
    clock += 1
    expect((await read('weather')).all.settled).toBe(2)
  })

  it('are read once for simultaneous requests, for each merchant apart', async () => {
    const read = totals()
    await Promise.all([read('weather'), read('weather'), read('weather')])
    const ofOne = reads
    await Promise.all([read('news'), read(undefined)])
    expect(reads).toBe(3 * ofOne)
  })

  it('are not kept when they could not be read', async () => {
    const read = totals()
    isBroken = true
    await expect(read('weather')).rejects.toThrow('disk')
    isBroken = false
    expect((await read('weather')).all.settled).toBe(1)
  })
})
