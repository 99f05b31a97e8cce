import { describe, expect, it } from 'vitest'
import { createTurns } from '../../../src/discovery/turns.js'

const nextRound = () => new Promise((resolve) => setImmediate(resolve))

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

  it('leave a busy loop two thirds of the time', async () => {
    let now = 0
    let others = 0
    let own = 0
    const turns = createTurns(() => now)
    let isDone = false
    const busy = (async () => {
      while (!isDone) {
        now += 0.5
        others += 0.5
        await nextRound()
      }
    })()
    for (let i = 0; i < 50; i++) {
      await turns.next()
      while (!turns.isOver()) {
        now += 0.25
        own += 0.25
      }
    }
    isDone = true
    await busy
    expect(own).toBe(50)
    expect(others).toBeGreaterThan(own * 1.9)
    expect(others).toBeLessThan(own * 4)
  })

  it('are given at once when nothing else is to be done', async () => {
    const turns = createTurns()
    const startedAt = performance.now()
    for (let i = 0; i < 20; i++) await turns.next()
    expect(performance.now() - startedAt).toBeLessThan(100)
  })
})
