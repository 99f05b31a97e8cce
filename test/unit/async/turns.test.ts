import { expect, it } from 'vitest'
import { createTurns } from '../../../src/async/turns.js'

/** Turns whose work ends when the test says so. */
function someTurns(options: { atOnce?: number; waitingOfParty?: number; waitingInAll?: number }) {
  const turns = createTurns({ atOnce: 1, waitingOfParty: 4, waitingInAll: 100, ...options })
  const begun: string[] = []
  const ends: (() => void)[] = []
  return {
    begun,
    ask(party: string, name = party): boolean {
      const running = turns.run(party, () => {
        begun.push(name)
        return new Promise<void>((resolve) => ends.push(resolve))
      })
      return running !== undefined
    },
    async end(count: number): Promise<void> {
      for (let i = 0; i < count; i++) {
        await new Promise((resolve) => setImmediate(resolve))
        ends.shift()?.()
      }
      await new Promise((resolve) => setImmediate(resolve))
    },
    fail: (party: string) =>
      turns.run(party, async () => {
        throw new Error('it failed')
      }),
    turns,
  }
}

it('gives each party its turn, however much one of them has waiting', async () => {
  const { ask, begun, end } = someTurns({})
  for (const name of ['a1', 'a2', 'a3', 'a4']) expect(ask('a', name)).toBe(true)
  for (const name of ['b1', 'b2', 'c1']) ask(name[0] as string, name)
  await end(7)
  expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
})

it('refuses what is too much of one party, and of all', async () => {
  const { ask, begun, end } = someTurns({ atOnce: 2, waitingOfParty: 3, waitingInAll: 5 })
  const asked = (party: string, count: number) =>
    Array.from({ length: count }, () => ask(party)).filter((it) => it).length
  expect(asked('a', 9)).toBe(5)
  expect(asked('b', 1)).toBe(1)
  expect(asked('c', 9)).toBe(1)
  expect(asked('d', 1)).toBe(0)
  await end(9)
  expect(begun).toHaveLength(7)
  // Everything has ended, so all places are free again.
  expect(asked('d', 9)).toBe(5)
})

it('goes on after work that fails', async () => {
  const { ask, begun, end, fail } = someTurns({})
  ask('a')
  const failing = fail('b')
  ask('c')
  await Promise.all([end(3), expect(failing).rejects.toThrow('it failed')])
  expect(begun).toEqual(['a', 'c'])
})
