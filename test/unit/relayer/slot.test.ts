import { describe, expect, it } from 'vitest'
import type { Attempt } from '../../../src/facilitator/journal/settlement-journal.js'
import { createSlots, newSlot } from '../../../src/facilitator/relayer/slot.js'

const call = { to: '0x01', data: '0x', gasLimit: 21_000n } as const
const aSlot = (nonce: number, hash: Attempt['hash']) =>
  newSlot({ hash, relayerNonce: nonce, jobIds: [] } as unknown as Attempt, call, 1, 0)

describe('a relayer nonce', () => {
  it('is given to one transaction at a time', () => {
    const slots = createSlots()
    const free = slots.reserve(7)
    expect(() => slots.reserve(7)).toThrow('in use')
    slots.add(aSlot(7, '0xa'))
    free()
    expect(() => slots.reserve(7)).toThrow('in use')
  })

  it('can be taken again after it was given back, and the transaction signed for it may still land', () => {
    const slots = createSlots()
    const first = aSlot(7, '0xa')
    slots.add(first)
    slots.setAside(first)
    expect(slots.open()).toEqual([])
    expect(slots.find('0xa')?.slot).toBe(first)
    slots.reserve(7)()
    const second = aSlot(7, '0xb')
    slots.add(second)
    expect(slots.find('0xa')?.slot).toBe(second)
    slots.remove(second)
    expect([slots.find('0xa'), slots.find('0xb')]).toEqual([undefined, undefined])
  })
})
