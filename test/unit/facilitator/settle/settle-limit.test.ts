import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { SettleResult } from '../../../../src/facilitator/answers.js'
import { createSettleLimit, type Leave } from '../../../../src/facilitator/settle/settle-limit.js'
import type { RateLimiter } from '../../../../src/http/rate-limit.js'

const network = 'eip155:5042'
const request = { ip: '198.51.100.7', body: {} }
const signature = `0x${'ab'.repeat(65)}`
const busy = expect.objectContaining({ statusCode: 429 })

const settled = (settlementId = 'row-1'): SettleResult => ({
  status: 200,
  body: { success: true, transaction: '0x', network },
  settlementId,
})
const answered = (errorReason: string): SettleResult => ({
  status: 200,
  body: { success: false, errorReason, transaction: '', network },
  settlementId: 'row-1',
})
const free: SettleResult = {
  status: 200,
  body: { success: true, transaction: '', network },
  payment: { network, asset: '0xa', payTo: '0xb', payer: '0xc', amount: 0n },
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** A limit of so many points, of which `used` are counted now. */
function aLimit(max: number, verified: { turns?: number; signature?: string } = {}) {
  const state = { used: 0 }
  const allowance = (limited: boolean) => ({ limited, left: max - state.used, resetSeconds: 60 })
  const limiter: RateLimiter = {
    max,
    windowSeconds: 60,
    consume(_request, points = 1) {
      state.used += points
      return allowance(state.used > max)
    },
    hold(_request, points = 1) {
      if (state.used >= max) return { ...allowance(true), limited: true }
      state.used += points
      const giveBack = () => {
        state.used -= points
      }
      return { ...allowance(false), limited: false, giveBack }
    },
    look: () => allowance(state.used >= max),
  }
  let { turns = 0 } = verified
  const limit = createSettleLimit(limiter, {
    takeVerified: () => turns-- > 0,
    takeSignature: (it) => it === verified.signature,
  })
  return { limit, state, enter: (points = 1) => limit.enter(request, points) }
}

describe('a settle', () => {
  it.each<[string, SettleResult | undefined, number]>([
    ['that settled counts for nothing', settled(), 0],
    ['that is pending counts for nothing', answered('settlement_pending'), 0],
    ['of which nothing is known counts for nothing', answered('settlement_unknown'), 0],
    ['that was refused stays counted', answered('insufficient_funds'), 5],
    ['that failed stays counted', undefined, 5],
    ['of nothing stays counted', free, 5],
  ])('%s', async (_, result, used) => {
    const { enter, state } = aLimit(10)
    const leave = await enter(5)
    expect(state.used).toBe(5)
    leave(result)
    expect(state.used).toBe(used)
  })

  it('is not counted for eight answers about one payment', async () => {
    const { enter, state } = aLimit(20)
    const ask = async (id: string) => (await enter())(settled(id))
    for (let i = 0; i < 8; i++) await ask('row-1')
    expect(state.used).toBe(0)
    await ask('row-1')
    await ask('row-2')
    expect(state.used).toBe(1)
  })

  it.each<[string, SettleResult | undefined, number]>([
    ['settles', settled(), 0],
    ['fails with an error', undefined, 0],
    ['charges nothing', free, 0],
    ['is refused', answered('insufficient_funds'), 3],
  ])(
    'that verify let pass goes beyond the limit, and is counted if it %s',
    async (_, result, counted) => {
      const { enter, state } = aLimit(1, { turns: 1 })
      state.used = 1
      const leave = await enter(3)
      leave(result)
      expect(state.used).toBe(1 + counted)
      await expect(enter()).rejects.toEqual(busy)
    },
  )
})

describe('a settle past the limit', () => {
  /** Fills a limit of two with settles in progress, and lets others wait. */
  async function aQueue(waiting: number, points = 1) {
    const { limit, state, enter } = aLimit(2)
    const leaves: Leave[] = [await enter(), await enter()]
    const admitted: number[] = []
    const refused: number[] = []
    for (let i = 0; i < waiting; i++) {
      enter(points).then(
        (leave) => {
          leaves.push(leave)
          admitted.push(i)
        },
        () => refused.push(i),
      )
    }
    await vi.advanceTimersByTimeAsync(0)
    const end = async (result?: SettleResult) => {
      leaves.shift()?.(result)
      await vi.advanceTimersByTimeAsync(0)
    }
    return { limit, state, enter, admitted, refused, end }
  }

  it('is refused at once where none is in progress', async () => {
    const { enter, state } = aLimit(2)
    state.used = 2
    await expect(enter()).rejects.toEqual(busy)
  })

  it('waits for those in progress, and comes in its order as they settle', async () => {
    const { admitted, refused, end } = await aQueue(3)
    expect([admitted, refused]).toEqual([[], []])
    await end(settled('row-1'))
    expect(admitted).toEqual([0])
    await end(settled('row-2'))
    expect(admitted).toEqual([0, 1])
    await end(settled('row-3'))
    expect([admitted, refused]).toEqual([[0, 1, 2], []])
  })

  it('is refused once none is in progress that could make room', async () => {
    const { admitted, refused, end, enter } = await aQueue(2)
    await end(answered('insufficient_funds'))
    expect(refused).toEqual([])
    await end(answered('insufficient_funds'))
    expect([admitted, refused]).toEqual([[], [0, 1]])
    await expect(enter()).rejects.toEqual(busy)
  })

  it('waits for ten seconds', async () => {
    const { refused } = await aQueue(1)
    await vi.advanceTimersByTimeAsync(9_999)
    expect(refused).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(refused).toEqual([0])
  })

  it('is refused at once while a thousand points wait', async () => {
    const { refused, enter } = await aQueue(2, 500)
    await expect(enter()).rejects.toEqual(busy)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(refused).toEqual([0, 1])
    // Nothing waits any more, so the next one may.
    let isRefused = false
    enter().catch(() => {
      isRefused = true
    })
    await vi.advanceTimersByTimeAsync(9_000)
    expect(isRefused).toBe(false)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(isRefused).toBe(true)
  })
})

describe('the bytes of a settle past the limit', () => {
  const bodyOf = (...signatures: string[]) =>
    Buffer.from(JSON.stringify(signatures.map((it) => ({ signature: it }))))

  it('are parsed only with a signature that verify let pass, among the first three', () => {
    const { limit, state } = aLimit(1, { signature })
    const check = (body: Buffer) => () => limit.checkUnparsed(request, body)
    const other = `0x${'cd'.repeat(65)}`
    expect(check(bodyOf())).not.toThrow()
    state.used = 1
    expect(check(bodyOf(other, other, signature))).not.toThrow()
    expect(check(bodyOf(signature.toUpperCase().replace('0X', '0x')))).not.toThrow()
    for (const body of [bodyOf(), bodyOf(other), bodyOf(other, other, other, signature)]) {
      expect(check(body)).toThrow(/Too many requests/)
    }
  })

  it('are parsed while a settle in progress may make room', async () => {
    const { limit, enter } = aLimit(1)
    const leave = await enter()
    expect(() => limit.checkUnparsed(request, Buffer.from('{}'))).not.toThrow()
    leave(answered('insufficient_funds'))
    expect(() => limit.checkUnparsed(request, Buffer.from('{}'))).toThrow(/Too many requests/)
  })
})
