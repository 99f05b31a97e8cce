import { describe, expect, it } from 'vitest'
import { createCallBudget } from '../../../../src/directory/probe/call-limits.js'
import { RequestFault } from '../../../../src/http/errors.js'

describe('the budget for calls', () => {
  const work = async () => 'done'
  const retryAfter = async (spending: Promise<unknown>) => {
    const fault = await spending.catch((error: unknown) => error)
    if (!(fault instanceof RequestFault)) throw new Error('not refused')
    expect(fault.statusCode).toBe(429)
    return fault.headers['retry-after']
  }

  it('is small for one caller', async () => {
    const { spend } = createCallBudget({
      now: () => 0,
      perCaller: { capacity: 2, refillMs: 3_000 },
    })
    for (const host of ['a', 'b']) expect(await spend('me', host, work)).toBe('done')
    expect(await retryAfter(spend('me', 'c', work))).toBe('3')
    expect(await spend('you', 'c', work)).toBe('done')
  })

  it('is small for one host, for any caller', async () => {
    const { spend } = createCallBudget({ now: () => 0, perHost: { capacity: 2, refillMs: 3_000 } })
    for (const caller of ['a', 'b']) expect(await spend(caller, 'host', work)).toBe('done')
    expect(await retryAfter(spend('c', 'host', work))).toBe('3')
    expect(await spend('c', 'other', work)).toBe('done')
  })

  it('allows few calls at once, and a new one when one ends, well or not', async () => {
    const { spend } = createCallBudget({ now: () => 0, maxConcurrent: 1 })
    let end: (error: Error) => void = () => undefined
    const first = spend(
      'a',
      'a',
      () =>
        new Promise((_, reject) => {
          end = reject
        }),
    )
    expect(Number(await retryAfter(spend('b', 'b', work)))).toBeGreaterThan(0)
    end(new Error('failed'))
    await expect(first).rejects.toThrow('failed')
    expect(await spend('b', 'b', work)).toBe('done')
  })

  it('is small for one merchant, whichever of their hosts is called', async () => {
    const { spend } = createCallBudget({ now: () => 0, maxConcurrent: 9, maxConcurrentEach: 2 })
    const hang = () => new Promise<never>(() => {})
    for (const i of [1, 2]) void spend(`from ${i}`, `host ${i}`, hang, 'slow')
    expect(await retryAfter(spend('me', 'host 3', work, 'slow'))).toBe('5')
    expect(await spend('me', 'host 3', work, 'quick')).toBe('done')
  })

  it('has places of their own for slow calls, and no more of those than it says', async () => {
    let now = 0
    const { spend } = createCallBudget({
      now: () => now,
      maxConcurrent: 3,
      slow: { afterMs: 4_000, places: 5 },
    })
    const hang = () => new Promise<never>(() => {})
    let callers = 0
    const take = async () => {
      const caller = `${++callers}`
      void spend(caller, caller, hang).catch(() => undefined)
      return retryAfter(spend('me', 'me', work)).catch(() => 'free')
    }
    expect([await take(), await take(), await take()]).toEqual(['free', 'free', '5'])
    now = 3_999
    expect(await retryAfter(spend('me', 'me', work))).toBe('5')
    now = 4_000
    expect([await take(), await take(), await take()]).toEqual(['free', 'free', '5'])
    now = 8_000
    expect([await take(), await take()]).toEqual(['free', '5'])
    now = 100_000
    expect(await retryAfter(spend('me', 'me', work))).toBe('5')
  })
})
