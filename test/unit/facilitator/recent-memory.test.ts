import { describe, expect, it } from 'vitest'
import { createRecentMemory } from '../../../src/facilitator/recent-memory.js'

describe('what was seen lately', () => {
  it('is known by its newest value', () => {
    const recent = createRecentMemory<string, number>(2)
    recent.set('a', 1)
    recent.set('a', 2)
    expect([recent.get('a'), recent.get('b')]).toEqual([2, undefined])
  })

  it('is deleted once, even when it was seen in two generations', () => {
    const recent = createRecentMemory<string, number>(2)
    recent.set('a', 1)
    recent.set('a', 2)
    expect([recent.delete('a'), recent.delete('a'), recent.get('a')]).toEqual([
      true,
      false,
      undefined,
    ])
  })

  it('is forgotten only after half the bound was seen after it', () => {
    const recent = createRecentMemory<number, true>(10)
    for (let i = 0; i < 10; i++) recent.set(i, true)
    expect(recent.get(4)).toBeUndefined()
    for (const kept of [5, 6, 7, 8, 9]) expect(recent.get(kept)).toBe(true)
  })
})
