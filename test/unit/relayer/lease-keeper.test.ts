import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLeaseKeeper } from '../../../src/relayer/leases.js'

const DURATION_MS = 5_000

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** A store that grants whatever is free, and that can be slow, silent or taken over by others. */
function aStore({ isSole = false } = {}) {
  const world = {
    durationMs: isSole ? undefined : DURATION_MS,
    replicas: 1,
    isSilent: false,
    answersAfterMs: 0,
    ofOthers: new Set<string>(),
    hasLeft: false,
    released: [] as string[],
  }
  const held = new Map<string, number>()
  const keeper = createLeaseKeeper(
    {
      durationMs: world.durationMs,
      async beat() {
        if (world.answersAfterMs > 0) {
          await new Promise((resolve) => setTimeout(resolve, world.answersAfterMs))
        }
        if (world.isSilent) throw new Error('no answer')
        for (const name of world.ofOthers) held.delete(name)
        return { epochs: new Map(held), replicas: world.replicas }
      },
      async take(names) {
        const free = names.filter((name) => !world.ofOthers.has(name))
        for (const name of free) held.set(name, 7)
        return new Map(free.map((name) => [name, 7]))
      },
      async release(name) {
        held.delete(name)
        world.released.push(name)
      },
      async leave() {
        world.hasLeft = true
      },
    },
    { warn() {} },
  )
  return { world, keeper }
}

describe('a lease', () => {
  it('is held while it is renewed, every second', async () => {
    const { keeper } = aStore()
    await keeper.start([['a']])
    for (let i = 0; i < 20; i++) {
      await vi.advanceTimersByTimeAsync(1_000)
      expect(keeper.held('a')).toBe(7)
    }
    await keeper.stop()
  })

  it('that is not renewed ends here half a second before it ends in the store', async () => {
    const { world, keeper } = aStore()
    await keeper.start([['a']])
    world.isSilent = true
    await vi.advanceTimersByTimeAsync(DURATION_MS - 501)
    expect(keeper.held('a')).toBe(7)
    await vi.advanceTimersByTimeAsync(1)
    expect(keeper.held('a')).toBeUndefined()
    expect(keeper.known('a')).toBe(7)
    await keeper.stop()
  })

  it('counts from when the store was asked, not from when it answered', async () => {
    const { world, keeper } = aStore()
    world.answersAfterMs = 3_000
    const started = keeper.start([['a']])
    await vi.advanceTimersByTimeAsync(3_000)
    await started
    world.isSilent = true
    expect(keeper.held('a')).toBe(7)
    await vi.advanceTimersByTimeAsync(1_500)
    expect(keeper.held('a')).toBeUndefined()
    const stopped = keeper.stop()
    await vi.advanceTimersByTimeAsync(3_000)
    await stopped
  })

  it('that another process has is not held', async () => {
    const { world, keeper } = aStore()
    await keeper.start([['a', 'b']])
    world.ofOthers.add('a')
    await vi.advanceTimersByTimeAsync(1_000)
    expect([keeper.held('a'), keeper.held('b')]).toEqual([undefined, 7])
    await keeper.stop()
  })

  it('that is released is gone at once', async () => {
    const { world, keeper } = aStore()
    await keeper.start([['a']])
    await keeper.release('a')
    expect([keeper.held('a'), world.released]).toEqual([undefined, ['a']])
    await keeper.stop()
  })

  it('ends with the process, and others need not wait for it', async () => {
    const { world, keeper } = aStore()
    await keeper.start([['a']])
    await keeper.stop()
    expect([keeper.held('a'), world.hasLeft]).toEqual([undefined, true])
  })

  it('lasts for ever where no other process can exist', async () => {
    const { keeper } = aStore({ isSole: true })
    await keeper.start([['a']])
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect([keeper.held('a'), keeper.isShared]).toEqual([7, false])
    await keeper.stop()
  })
})

describe('the leases of a group', () => {
  it('are divided evenly among the processes that live', async () => {
    const { world, keeper } = aStore()
    world.replicas = 2
    await keeper.start([['a', 'b', 'c']])
    const names = ['a', 'b', 'c']
    expect(names.filter((name) => keeper.held(name) === 7)).toEqual(['a', 'b'])
    await keeper.stop()
  })

  it('that a process has too many of are named when another comes', async () => {
    const { world, keeper } = aStore()
    const group = ['a', 'b', 'c', 'd']
    await keeper.start([group])
    expect(keeper.surplus(group)).toEqual([])
    world.replicas = 2
    await vi.advanceTimersByTimeAsync(1_000)
    expect(keeper.surplus(group)).toEqual(['c', 'd'])
    await keeper.stop()
  })
})
