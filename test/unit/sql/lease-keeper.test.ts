import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LeaseKeeper } from '../../../src/sql/lease-keeper.js'
import { laneLease } from '../../../src/sql/leases.js'

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
    clockAhead: { least: 0, most: 0 },
    /** A take does not answer while this is set. */
    isTakeStuck: false,
    takesMs: 0,
    hasLeft: false,
    released: [] as string[],
  }
  const held = new Map<string, number>()
  const keeper = new LeaseKeeper(
    {
      durationMs: world.durationMs,
      async beat() {
        if (world.answersAfterMs > 0) {
          await new Promise((resolve) => setTimeout(resolve, world.answersAfterMs))
        }
        if (world.isSilent) throw new Error('no answer')
        for (const name of world.ofOthers) held.delete(name)
        const { replicas, clockAhead } = world
        return { epochs: new Map(held), elsewhere: new Set(world.ofOthers), replicas, clockAhead }
      },
      async take(names) {
        if (world.isTakeStuck) await new Promise(() => {})
        if (world.takesMs > 0) await new Promise((resolve) => setTimeout(resolve, world.takesMs))
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

it('the lease of a wallet is another one on each network', () => {
  const names = ['eip155:1', 'eip155:2'].flatMap((it) => [
    laneLease(it, '0x0a'),
    laneLease(it, '0x0b'),
  ])
  expect(new Set(names).size).toBe(4)
})

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

  it('is held at once after a beat, whatever becomes of those that are free', async () => {
    const { world, keeper } = aStore()
    await keeper.start([['a']])
    world.isSilent = true
    await vi.advanceTimersByTimeAsync(4_500)
    expect(keeper.held('a')).toBeUndefined()
    world.isSilent = false
    world.isTakeStuck = true
    world.replicas = 1
    await vi.advanceTimersByTimeAsync(1_000)
    expect(keeper.held('a')).toBe(7)
  })

  it('is known to be here, elsewhere or with nobody, and how long ago it was renewed', async () => {
    const { world, keeper } = aStore()
    world.ofOthers.add('b')
    await keeper.start([['a', 'b']])
    const holders = () => ['a', 'b', 'c'].map((name) => keeper.holder(name))
    expect([holders(), keeper.isRenewed()]).toEqual([['here', 'elsewhere', 'nobody'], true])
    world.isSilent = true
    await vi.advanceTimersByTimeAsync(6_000)
    expect([holders(), keeper.isRenewed()]).toEqual([['nobody', 'nobody', 'nobody'], false])
    expect(keeper.ageMs()).toBe(6_000)
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
  it('are renewed in time, however long it takes to take the others', async () => {
    const { world, keeper } = aStore()
    const group = Array.from({ length: 20 }, (_, i) => String(i))
    world.ofOthers = new Set(group.slice(1))
    await keeper.start([group])
    world.takesMs = 600
    world.ofOthers.clear()
    for (let i = 0; i < 12; i++) {
      await vi.advanceTimersByTimeAsync(1_000)
      expect(keeper.held('0')).toBe(7)
    }
    await vi.advanceTimersByTimeAsync(15_000)
    expect(group.filter((name) => keeper.held(name) === 7)).toHaveLength(20)
  })

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

describe('the time that all processes share', () => {
  it('is that of the store, as well as the beats show, and moves only when they exclude it', async () => {
    const { world, keeper } = aStore()
    const aheadMs = () => Date.now() - keeper.now()
    world.clockAhead = { least: 6_900, most: 7_100 }
    await keeper.start([['a']])
    expect(aheadMs()).toBe(6_900)
    world.clockAhead = { least: 6_000, most: 8_000 }
    await vi.advanceTimersByTimeAsync(3_000)
    expect(aheadMs()).toBe(6_900)
    world.clockAhead = { least: 6_990, most: 7_010 }
    await vi.advanceTimersByTimeAsync(1_000)
    expect([aheadMs(), keeper.clockAhead()]).toEqual([6_990, { least: 6_990, most: 7_010 }])
    await keeper.stop()
  })

  it('follows a clock that is set', async () => {
    const { world, keeper } = aStore()
    world.clockAhead = { least: -30_010, most: -29_990 }
    await keeper.start([['a']])
    expect(keeper.now() - Date.now()).toBe(29_990)
    world.clockAhead = { least: -5, most: 5 }
    await vi.advanceTimersByTimeAsync(1_000)
    expect(Math.abs(keeper.now() - Date.now())).toBeLessThanOrEqual(5)
    await keeper.stop()
  })

  it('is that of the process where no other process can exist', async () => {
    const { keeper } = aStore({ isSole: true })
    await keeper.start([['a']])
    expect([keeper.now() - Date.now(), keeper.ageMs()]).toEqual([0, undefined])
  })
})
