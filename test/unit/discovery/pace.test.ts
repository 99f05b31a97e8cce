import { describe, expect, it } from 'vitest'
import { createPace, createUrgency, SearchOverload } from '../../../src/directory/discovery/pace.js'

/** Works for some milliseconds without a pause, as a search does. */
function work(ms: number): void {
  const startedAt = performance.now()
  while (performance.now() - startedAt < ms);
}

describe('searches', () => {
  it('run one after another, in order of arrival', async () => {
    const pace = createPace(createUrgency())
    const order: string[] = []
    await Promise.all(['a', 'b', 'c'].map((name) => pace.search(() => order.push(name))))
    expect(order).toEqual(['a', 'b', 'c'])
  })

  it('let the event loop turn between each other', async () => {
    const pace = createPace(createUrgency())
    let turns = 0
    const count = () => {
      turns++
      counting = setImmediate(count)
    }
    let counting = setImmediate(count)
    await Promise.all(Array.from({ length: 10 }, () => pace.search(() => {})))
    clearImmediate(counting)
    expect(turns).toBeGreaterThanOrEqual(9)
  })

  it('go on after one that fails', async () => {
    const pace = createPace(createUrgency())
    const failing = pace.search(() => {
      throw new Error('no such list')
    })
    await expect(failing).rejects.toThrow('no such list')
    expect(await pace.search(() => 1)).toBe(1)
  })

  it('take a fifth of the time at most while payments are being made', async () => {
    const urgency = createUrgency()
    const pace = createPace(urgency)
    const paying = setInterval(urgency.raise, 5)
    urgency.raise()
    const startedAt = performance.now()
    const searches = Array.from({ length: 10 }, () => pace.search(() => work(5)))
    await Promise.all([...searches, pace.search(() => {})])
    clearInterval(paying)
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(10 * 25 - 25)
  })

  it('are refused when a hundred wait', async () => {
    const pace = createPace(createUrgency())
    const asked = Array.from({ length: 102 }, () => pace.search(() => {}))
    const results = await Promise.allSettled(asked)
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(100)
    expect(results.at(-1)).toMatchObject({ reason: expect.any(SearchOverload) })
    await pace.search(() => {})
  })
})

it('longer work lets others go on, and pauses while payments are being made', async () => {
  const urgency = createUrgency()
  const { share } = createPace(urgency)
  const tookMs = async () => {
    const startedAt = performance.now()
    expect(await share(async () => work(20))).toBeUndefined()
    return performance.now() - startedAt
  }
  await tookMs()
  urgency.raise()
  expect(await tookMs()).toBeGreaterThanOrEqual(39)
})

it('payments count as being made for a moment after each', () => {
  let now = 0
  const urgency = createUrgency(new SharedArrayBuffer(8), () => now)
  expect(urgency.isRaised()).toBe(false)
  urgency.raise()
  now += 49
  expect(urgency.isRaised()).toBe(true)
  now += 1
  expect(urgency.isRaised()).toBe(false)
})
