import { expect, it } from 'vitest'
import type { LaneCore } from '../../../src/relayer/lane-core.js'
import { createLaneSlots } from '../../../src/relayer/lane-slots.js'
import { newSlot, type Slot } from '../../../src/relayer/slot.js'
import { createWatchdog } from '../../../src/relayer/watchdog.js'
import type { Attempt } from '../../../src/store/settlement-journal.js'

const FEES = { maxFeePerGas: 100n, maxPriorityFeePerGas: 1n }
const call = { to: '0x01', data: '0x', gasLimit: 21_000n } as const

/** A lane with transactions under these nonces that no block takes. */
function aLane(...nonces: number[]) {
  const slots = createLaneSlots()
  for (const nonce of nonces) {
    const attempt = { hash: `0x${nonce}`, relayerNonce: nonce, jobIds: [], ...FEES }
    slots.add(newSlot(attempt as unknown as Attempt, call, 1, 0))
  }
  const lane = { now: 0, block: 1, raised: [] as number[], sent: 0, isRefused: false }
  const watchdog = createWatchdog({
    slots,
    now: () => lane.now,
    feed: { latest: () => ({ baseFeePerGas: 1n, number: lane.block }) },
    rpc: { batch: async () => [], everywhere: async () => [] },
    readChainNonce: async () => {
      if (lane.isRefused) throw new Error('refused')
      return 0
    },
    send: async () => lane.sent++,
    replace: async (slot: Slot) => {
      lane.raised.push(slot.nonce)
      Object.assign(slot, { bumpedAt: lane.now, bumpedBlock: lane.block })
    },
    maxFeePerGas: 1_000n,
  } as unknown as LaneCore)
  return { lane, slots: slots.open(), watchdog }
}

it('counts as a hole no nonce that has a transaction, however freshly that was sent', async () => {
  const { lane, slots, watchdog } = aLane(0, 2, 3)
  lane.now = 3_000
  Object.assign(slots[0] as Slot, { touchedAt: lane.now })
  await watchdog.look()
  expect([watchdog.takeGap(), watchdog.takeGap()]).toEqual([1, undefined])
})

it('raises the fee of what blocks pass over, not of what no block could have taken', async () => {
  const { lane, watchdog } = aLane(0)
  const lookAfter = async (ms: number) => {
    lane.now += ms
    await watchdog.look()
    return lane.raised.length
  }
  expect(await lookAfter(6_000)).toBe(1)
  expect(await lookAfter(60_000)).toBe(1)
  lane.block = 2
  expect(await lookAfter(6_000)).toBe(2)
})

it('looks again at the next turn when a node would not tell the nonce', async () => {
  const { lane, watchdog } = aLane(0)
  lane.now = 3_000
  lane.isRefused = true
  await expect(watchdog.look()).rejects.toThrow('refused')
  lane.isRefused = false
  lane.now += 500
  await watchdog.look()
  expect(lane.sent).toBe(1)
})
