import { describe, expect, it } from 'vitest'
import { createTurns } from '../../../src/discovery/turns.js'

const nextRound = () => new Promise((resolve) => setImmediate(resolve))

/** Processor time of this process: what others take from it is no work of a turn. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

describe('turns', () => {
  it('are over after a millisecond, for everybody', async () => {
    let now = 0
    const turns = createTurns(() => now)
    expect(turns.isOver()).toBe(false)
    now += 0.9
    expect(turns.isOver()).toBe(false)
    now += 0.1
    expect(turns.isOver()).toBe(true)
  })

  it('come in the order in which they were asked for, one a round of the loop', async () => {
    const now = 0
    const turns = createTurns(() => now)
    const order: string[] = []
    const work = async (name: string) => {
      await turns.next()
      order.push(name)
    }
    const all = Promise.all([work('a'), work('b'), work('c')])
    await nextRound()
    expect(order.length).toBeLessThan(2)
    await all
    expect(order).toEqual(['a', 'b', 'c'])
  })

  it('are open again in the next round of the loop when nobody waited', async () => {
    let now = 0
    const turns = createTurns(() => now)
    expect(turns.isOver()).toBe(false)
    now += 2
    expect(turns.isOver()).toBe(true)
    await nextRound()
    expect(turns.isOver()).toBe(false)
  })

  it('are a fifth of the time at most while something urgent is done', async () => {
    const turns = createTurns()
    const urgent = setInterval(turns.giveWay, 5)
    turns.giveWay()
    const startedAt = performance.now()
    let worked = 0
    for (let i = 0; i < 20; i++) {
      await turns.next()
      const turnedAt = cpuMs()
      while (!turns.isOver());
      worked += cpuMs() - turnedAt
    }
    clearInterval(urgent)
    expect(worked).toBeGreaterThan(5)
    expect(worked / (performance.now() - startedAt)).toBeLessThan(0.25)
  })

  it('are refused to who did not wait while something urgent is done', async () => {
    const turns = createTurns()
    expect(turns.isUrgent()).toBe(false)
    turns.giveWay()
    expect(turns.isUrgent()).toBe(true)
    expect(turns.isOver()).toBe(false)
    await nextRound()
    expect(turns.isOver()).toBe(true)
  })

  it('are given at once when nothing else is to be done', async () => {
    const turns = createTurns()
    const startedAt = performance.now()
    for (let i = 0; i < 20; i++) await turns.next()
    expect(performance.now() - startedAt).toBeLessThan(100)
  })
})
