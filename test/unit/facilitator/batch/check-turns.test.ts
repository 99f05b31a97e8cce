import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createCheckTurns } from '../../../../src/facilitator/batch/check-turns.js'
import { withResolvers } from '../../../support/with-resolvers.js'

it('checks of channels go a few at a time, and callers take turns', async () => {
  const inTurn = createCheckTurns()
  const { promise, resolve } = withResolvers()
  const begun: string[] = []
  const check = (caller: string) =>
    inTurn(caller, async () => {
      begun.push(caller)
      await promise
    })
  const crowd = Array.from({ length: 20 }, () => check('crowd'))
  const honest = check('honest')
  await nextTurn()
  await nextTurn()
  expect(begun).toEqual(Array(4).fill('crowd'))
  resolve()
  await honest
  // Its turn came after one more of the crowd at most.
  expect(begun.indexOf('honest')).toBeLessThanOrEqual(5)
  await Promise.all(crowd)
})

it('what waits in the loop already goes before a check', async () => {
  const order: string[] = []
  const checked = createCheckTurns()('caller', async () => void order.push('check'))
  await Promise.resolve().then(() => order.push('payment'))
  await checked
  expect(order).toEqual(['payment', 'check'])
})

it('past the bound a caller is told to come back, and another is not', async () => {
  const inTurn = createCheckTurns()
  const { promise, resolve } = withResolvers()
  const asked = Array.from({ length: 205 }, () => inTurn('crowd', () => promise))
  await expect(asked.at(-1)).rejects.toMatchObject({ statusCode: 503, code: 'busy' })
  const honest = inTurn('honest', async () => 'checked')
  resolve()
  expect(await honest).toBe('checked')
  const ends = await Promise.allSettled(asked)
  expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(1)
})
