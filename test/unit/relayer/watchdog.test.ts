import { expect, it } from 'vitest'
import type { LaneCore } from '../../../src/relayer/lane-core.js'
import { createLaneSlots } from '../../../src/relayer/lane-slots.js'
import { newSlot } from '../../../src/relayer/slot.js'
import { createWatchdog } from '../../../src/relayer/watchdog.js'
import type { Attempt } from '../../../src/store/settlement-journal.js'

const FEES = { maxFeePerGas: 100n, maxPriorityFeePerGas: 1n }
const call = { to: '0x01', data: '0x', gasLimit: 21_000n } as const

it('counts as a hole no nonce that has a transaction, however freshly that was sent', async () => {
  const slots = createLaneSlots()
  for (const nonce of [0, 2, 3]) {
    const attempt = { hash: `0x${nonce}`, relayerNonce: nonce, jobIds: [], ...FEES }
    slots.add(newSlot(attempt as unknown as Attempt, call, 1, 0))
  }
  const now = 3_000
  const [fresh] = slots.open()
  if (fresh !== undefined) fresh.touchedAt = now
  const watchdog = createWatchdog({
    slots,
    now: () => now,
    feed: { latest: () => ({ baseFeePerGas: 1n }) },
    rpc: { batch: async () => [], everywhere: async () => [] },
    readChainNonce: async () => 0,
    send: async () => {},
    maxFeePerGas: 1_000n,
  } as unknown as LaneCore)
  await watchdog.look()
  expect([watchdog.takeGap(), watchdog.takeGap()]).toEqual([1, undefined])
})
