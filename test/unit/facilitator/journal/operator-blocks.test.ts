import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import {
  type Block,
  type BlockStore,
  watchOperatorBlocks,
} from '../../../../src/facilitator/journal/blocks.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const address = '0x00000000000000000000000000000000000000b2'
const other = '0x00000000000000000000000000000000000000b3'
const aBlock = (role: Block['role']): Block => ({ role, address, reason: 'fraud', createdAt: 0 })

it('an address is blocked in the role that the operator named, and no other is', async () => {
  const store = { listBlocks: async () => [aBlock('payTo')] } as unknown as BlockStore
  const blocks = await watchOperatorBlocks(store, () => {})
  expect(blocks.isBlocked('payTo', address)).toBe(true)
  expect(blocks.isBlocked('payer', address)).toBe(false)
  expect(blocks.isBlocked('payTo', other)).toBe(false)
  blocks.stop()
})

it('a change by another process is obeyed within two seconds, and a store that fails changes nothing', async () => {
  let listed: Block[] | undefined = []
  const errors: unknown[] = []
  const listBlocks = async () => {
    if (listed === undefined) throw new Error('away')
    return listed
  }
  const store = { listBlocks } as unknown as BlockStore
  const blocks = await watchOperatorBlocks(store, (error) => errors.push(error))
  expect(blocks.isBlocked('payer', address)).toBe(false)
  listed = [aBlock('payer')]
  await vi.advanceTimersByTimeAsync(2_000)
  expect(blocks.isBlocked('payer', address)).toBe(true)
  listed = undefined
  await vi.advanceTimersByTimeAsync(2_000)
  expect([blocks.isBlocked('payer', address), errors.length]).toEqual([true, 1])
  listed = []
  await vi.advanceTimersByTimeAsync(2_000)
  expect(blocks.isBlocked('payer', address)).toBe(false)
  blocks.stop()
})
