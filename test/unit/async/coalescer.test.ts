import { describe, expect, it } from 'vitest'
import { createCoalescer } from '../../../src/async/coalescer.js'

interface Batch {
  inputs: number[]
  answer(): void
  fail(): void
}

/** A coalescer whose batches are answered by the test; an answer is ten times its input. */
function aCoalescer({ maxInFlight = 1, maxMembers = 100 } = {}) {
  const batches: Batch[] = []
  const ask = createCoalescer<number, number>({
    maxInFlight,
    maxMembers,
    patienceMs: 1_000,
    run: (inputs) =>
      new Promise((resolve, reject) => {
        batches.push({
          inputs,
          answer: () => resolve(inputs.map((input) => input * 10)),
          fail: () => reject(new Error(`batch of ${inputs.length} failed`)),
        })
      }),
  })
  const sent = () => batches.map(({ inputs }) => inputs)
  const batch = (i: number) => batches[i] as Batch
  return { ask, sent, batch }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('natural batching', () => {
  it('sends all calls of one turn of the event loop together at its end', async () => {
    const { ask, sent, batch } = aCoalescer()
    const answers = [1, 2].map(ask)
    await turn()
    expect(sent()).toEqual([[1, 2]])
    batch(0).answer()
    expect(await Promise.all(answers)).toEqual([10, 20])
  })

  it('sends a call that comes alone without waiting for others', async () => {
    const { ask, sent, batch } = aCoalescer()
    const answer = ask(1)
    await turn()
    expect(sent()).toEqual([[1]])
    batch(0).answer()
    expect(await answer).toBe(10)
  })

  it('sends all waiting calls in one batch when the batch under way returns', async () => {
    const { ask, sent, batch } = aCoalescer()
    const answers = [ask(1)]
    await turn()
    answers.push(...[2, 3, 4].map(ask))
    await turn()
    expect(sent()).toEqual([[1]])
    batch(0).answer()
    await turn()
    await turn()
    expect(sent()).toEqual([[1], [2, 3, 4]])
    batch(1).answer()
    expect(await Promise.all(answers)).toEqual([10, 20, 30, 40])
  })

  it('keeps as many batches under way as it may', async () => {
    const { ask, sent, batch } = aCoalescer({ maxInFlight: 2 })
    for (const input of [1, 2]) {
      void ask(input)
      await turn()
    }
    for (const input of [3, 4]) void ask(input)
    await turn()
    expect(sent()).toEqual([[1], [2]])
    batch(1).answer()
    await turn()
    await turn()
    expect(sent()).toEqual([[1], [2], [3, 4]])
  })

  it('never exceeds the size of a batch', async () => {
    const { ask, sent, batch } = aCoalescer({ maxMembers: 2 })
    const answers = [1, 2, 3, 4, 5, 6].map(ask)
    for (let i = 0; i < 3; i++) {
      await turn()
      await turn()
      batch(i).answer()
    }
    expect(await Promise.all(answers)).toEqual([10, 20, 30, 40, 50, 60])
    expect(sent()).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
    ])
  })
})

describe('a batch that fails', () => {
  /** Fails the first `failures` runs, and any run with the bad member. */
  function aFlakyCoalescer(options: { failures?: number; bad?: number; msPerRun?: number }) {
    let failures = options.failures ?? 0
    const { msPerRun = 0 } = options
    let clock = 0
    const runs: number[][] = []
    const ask = createCoalescer<number, number>({
      maxInFlight: 1,
      maxMembers: 100,
      patienceMs: 1_000,
      now: () => clock,
      async run(inputs) {
        await turn()
        clock += msPerRun
        runs.push(inputs)
        if (failures-- > 0) throw new Error('flaky')
        if (options.bad !== undefined && inputs.includes(options.bad)) throw new Error('bad member')
        return inputs.map((input) => input * 10)
      },
    })
    return { ask, runs }
  }

  it('is run once more whole', async () => {
    const { ask, runs } = aFlakyCoalescer({ failures: 1 })
    expect(await ask(1)).toBe(10)
    expect(runs).toEqual([[1], [1]])
  })

  it('is refused after two failures when it has one member', async () => {
    const { ask, runs } = aFlakyCoalescer({ failures: 2 })
    await expect(ask(1)).rejects.toThrow('flaky')
    expect(runs).toHaveLength(2)
    expect(await ask(2)).toBe(20)
  })

  it('is halved after the second failure, so that only the bad member fails', async () => {
    const { ask, runs } = aFlakyCoalescer({ bad: 3 })
    const answers = await Promise.allSettled([1, 2, 3, 4, 5, 6, 7, 8].map(ask))
    expect(answers.map((answer) => answer.status === 'fulfilled' && answer.value)).toEqual([
      10,
      20,
      false,
      40,
      50,
      60,
      70,
      80,
    ])
    expect(runs.slice(0, 3)).toEqual([
      [1, 2, 3, 4, 5, 6, 7, 8],
      [1, 2, 3, 4, 5, 6, 7, 8],
      [1, 2, 3, 4],
    ])
  })

  it('is not run again for a member that has waited too long, and halving stops then', async () => {
    const { ask, runs } = aFlakyCoalescer({ failures: Number.POSITIVE_INFINITY, msPerRun: 600 })
    const answers = await Promise.allSettled([0, 1, 2, 3].map(ask))
    expect(answers.every(({ status }) => status === 'rejected')).toBe(true)
    expect(runs).toEqual([
      [0, 1, 2, 3],
      [0, 1, 2, 3],
    ])
  })

  it('fails for every member when the runner throws at once', async () => {
    const ask = createCoalescer<number, number>({
      maxInFlight: 1,
      maxMembers: 9,
      patienceMs: 1_000,
      run: () => {
        throw new Error('at once')
      },
    })
    const answers = await Promise.allSettled([1, 2, 3].map(ask))
    expect(answers.every(({ status }) => status === 'rejected')).toBe(true)
  })

  it('does not delay the next one', async () => {
    const { ask } = aFlakyCoalescer({ bad: 1 })
    const [bad, good] = await Promise.allSettled([ask(1), ask(2)])
    expect([bad.status, good.status]).toEqual(['rejected', 'fulfilled'])
  })
})
