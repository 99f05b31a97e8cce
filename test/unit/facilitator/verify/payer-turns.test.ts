import { expect, it } from 'vitest'
import { createPayerTurns } from '../../../../src/facilitator/verify/payer-turns.js'

/** Work of payers that runs until the test ends it. */
function aCrowd() {
  const clock = { ms: 0 }
  const inTurn = createPayerTurns(() => clock.ms)
  const running: { payer: string; end: () => void }[] = []
  const add = (payer: string) =>
    inTurn(payer, () => new Promise<void>((end) => running.push({ payer, end })))
  const count = (payer: string) => running.filter((it) => it.payer === payer).length
  const endOne = async (payer: string) => {
    const i = running.findIndex((it) => it.payer === payer)
    running.splice(i, 1)[0]?.end()
    await flushed()
  }
  return { add, count, endOne, clock, inTurn }
}

const flushed = () => new Promise((resolve) => setImmediate(resolve))

it('runs a few pieces of one payer at once while others are there, and theirs at once', async () => {
  const { add, count } = aCrowd()
  void add('honest')
  for (let i = 0; i < 1_500; i++) void add('crowd')
  void add('honest')
  await flushed()
  expect([count('crowd'), count('honest')]).toEqual([8, 2])
})

it('runs many of a payer who is there alone, and fewer once another comes', async () => {
  const { add, count, endOne, clock } = aCrowd()
  for (let i = 0; i < 200; i++) void add('crowd')
  await flushed()
  expect(count('crowd')).toBe(64)
  clock.ms = 500
  void add('honest')
  for (let i = 0; i < 60; i++) await endOne('crowd')
  expect(count('crowd')).toBe(8)
  clock.ms = 1_500
  await endOne('crowd')
  expect(count('crowd')).toBe(64)
})

it('keeps the order of a payer, and goes on after work that failed', async () => {
  const inTurn = createPayerTurns(() => 0)
  const order: number[] = []
  const results = await Promise.allSettled(
    Array.from({ length: 200 }, (_, i) =>
      inTurn('payer', async () => {
        order.push(i)
        if (i % 2 === 0) throw new Error('no')
        return i
      }),
    ),
  )
  expect(order).toEqual(Array.from({ length: 200 }, (_, i) => i))
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(100)
})
