import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LeaseLostError } from '../../../src/sql/leases.js'
import { aLane, anAttempt, call, fees } from './a-lane.js'

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A lane that resumed transactions under these nonces, on a chain that mines none of them. */
async function aResumedLane(...nonces: number[]) {
  const { lane, jobs, world, attempts } = aLane({ now: Date.now, maxFeePerGas: 10n ** 12n })
  world.kept = nonces.map((relayerNonce) => anAttempt({ relayerNonce, createdAt: 0, jobIds: [] }))
  await lane.resume(1)
  await vi.advanceTimersByTimeAsync(0)
  world.sent = []
  /** Runs the watchdog when so many milliseconds have passed. */
  const tickAfter = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms)
    await lane.tick()
    await vi.advanceTimersByTimeAsync(0)
  }
  /** The nonces of what was signed and kept since. */
  const kept = () => attempts.map(({ attempt }) => attempt.relayerNonce)
  return { lane, jobs, world, kept, tickAfter }
}

describe('a gap in the nonces', () => {
  it('is filled by the next payment, else by a transaction that does nothing', async () => {
    const { kept, lane, tickAfter } = await aResumedLane(2, 3)
    await tickAfter(2_500)
    await vi.advanceTimersByTimeAsync(1_500)
    await lane.open(call, [], fees)
    expect(kept()).toEqual([0])
    await tickAfter(1_000)
    expect(kept()).toEqual([0, 1])
    await lane.open(call, [], fees)
    expect(kept()).toEqual([0, 1, 4])
  })

  it('is not a nonce that has a transaction, however recently that was sent', async () => {
    const { kept, lane, tickAfter } = await aResumedLane(1)
    await tickAfter(2_500)
    await vi.advanceTimersByTimeAsync(2_000)
    await lane.open(call, [], fees)
    await tickAfter(1_000)
    await tickAfter(500)
    expect(kept()).toEqual([0])
  })
})

describe('the watchdog', () => {
  it('raises the fee of a transaction that blocks pass over, not of one that no block could have taken', async () => {
    const { kept, world, tickAfter } = await aResumedLane(0)
    await tickAfter(6_000)
    expect(kept()).toHaveLength(1)
    await tickAfter(60_000)
    expect(kept()).toHaveLength(1)
    world.block++
    await tickAfter(6_000)
    expect(kept()).toHaveLength(2)
  })

  it('checks again at the next tick when no node answers with the nonce', async () => {
    const { lane, world, tickAfter } = await aResumedLane(0)
    await vi.advanceTimersByTimeAsync(3_000)
    world.isSilent = true
    await expect(lane.tick()).rejects.toThrow('transaction count')
    expect(world.sent).toEqual([])
    world.isSilent = false
    await tickAfter(500)
    expect(world.sent).toEqual([0])
  })
})

it('sends a transaction that was refused without a cause again, ever more slowly, then leaves it to the watchdog', async () => {
  const { lane, world } = await aResumedLane()
  world.refusals = Array(9).fill('the node is on fire')
  await lane.open(call, [], fees)
  const counts: number[] = []
  for (const ms of [0, 99, 1, 200, 400, 799, 1, 10_000]) {
    await vi.advanceTimersByTimeAsync(ms)
    counts.push(world.sent.length)
  }
  expect(counts).toEqual([1, 1, 2, 3, 4, 4, 5, 5])
})

describe('a lane whose lease is lost', () => {
  it('knows a transaction that was kept although the lease was lost during the write', async () => {
    const { lane, jobs, world } = await aResumedLane()
    world.whileKept = async () => void lane.drop()
    await expect(lane.open(call, ['a'], fees)).rejects.toBeInstanceOf(LeaseLostError)
    expect(jobs.find('a')?.job).toMatchObject({ state: 'submitted' })
    expect(world.sent).toEqual([])
  })

  it('signs nothing and sends nothing', async () => {
    const { kept, lane, world, tickAfter } = await aResumedLane(0)
    world.held = undefined
    await expect(lane.open(call, [], fees)).rejects.toBeInstanceOf(LeaseLostError)
    await tickAfter(10_000)
    expect([kept(), world.sent]).toEqual([[], []])
  })

  it('does not send a transaction that it signed just before', async () => {
    const { kept, lane, world } = await aResumedLane()
    world.whileKept = async () => {
      world.held = undefined
    }
    await lane.open(call, [], fees)
    await vi.advanceTimersByTimeAsync(1_000)
    expect([kept().length, world.sent]).toEqual([1, []])
  })
})
