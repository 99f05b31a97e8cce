import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openSqliteStores } from '../../../../src/app/stores/sqlite.js'
import type { DeliveryStore } from '../../../../src/facilitator/journal/deliveries.js'
import {
  createDeliveries,
  type DeliveryTurn,
  forgetOldKeys,
} from '../../../../src/facilitator/settle/deliveries.js'
import { aJob, anOutcome, noon } from '../../app/stores/store-contract.js'

let stores: ReturnType<typeof openSqliteStores>

beforeEach(async () => {
  const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const
  vi.useFakeTimers({ toFake: ['Date', 'performance', ...toFake], now: noon })
  stores = openSqliteStores(':memory:')
  await stores.journal.claim(aJob(), undefined, noon)
  const outcomes = [{ id: 'job-1', round: 0, outcome: anOutcome() }]
  await stores.journal.resolve({ outcomes, now: noon })
})
afterEach(async () => {
  await stores.close()
  vi.useRealTimers()
})

const now = () => Date.now()
const silent = { error: () => {} }
/** How often a process reads whether another has delivered a success, milliseconds. */
const POLL_MS = 100
const settled = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

interface ProcessOptions {
  pollMs?: number
  /** The time that each lease takes in the store, milliseconds. */
  delayMs?: () => number
  /** The calls of the store that fail now. */
  failing?: Set<'lease' | 'release'>
}

function aProcess({ pollMs, delayMs = () => 0, failing = new Set() }: ProcessOptions = {}) {
  let asked = 0
  const store: DeliveryStore = {
    ...stores.deliveries,
    async releaseDelivery(...args) {
      if (failing.has('release')) throw new Error('away')
      await stores.deliveries.releaseDelivery(...args)
    },
    async leaseDelivery(...args) {
      asked++
      if (failing.has('lease')) throw new Error('away')
      const answer = await stores.deliveries.leaseDelivery(...args)
      const wait = delayMs()
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
      return answer
    },
  }
  const { take } = createDeliveries({ store, now, pollMs, log: silent })
  const callers: { isConnected: boolean }[] = []
  return {
    /** How often it asked the store for a right. */
    asked: () => asked,
    take(key: string | null = null) {
      const caller = { isConnected: true }
      callers.push(caller)
      return take('job-1', key, () => caller.isConnected)
    },
    disconnect: (i: number) => {
      ;(callers[i] as { isConnected: boolean }).isConnected = false
    },
  }
}

/** The turn if it has come, without waiting for it. */
async function peek(turn: Promise<DeliveryTurn | undefined>) {
  await settled()
  await settled()
  return Promise.race([turn, Promise.resolve('waiting' as const)])
}

/** The turn once it has come, which takes no time on the clock. */
async function soon(turn: Promise<DeliveryTurn | undefined>) {
  let came = await peek(turn)
  for (let i = 0; i < 50 && came === 'waiting'; i++) came = await peek(turn)
  return came
}

async function granted(turn: Promise<DeliveryTurn | undefined>) {
  const came = await soon(turn)
  if (came === 'waiting' || came?.state !== 'granted') throw new Error(`it is ${came}`)
  return came.delivery
}

describe('the right to answer with success', () => {
  it('goes to the first caller; the second waits and learns that the first was answered', async () => {
    const process = aProcess()
    const first = await granted(process.take('key-of-the-first'))
    const second = process.take()
    expect(await peek(second)).toBe('waiting')
    await first.complete()
    expect(await soon(second)).toEqual({ state: 'delivered', key: 'key-of-the-first' })
    expect(await process.take()).toEqual({ state: 'delivered', key: 'key-of-the-first' })
  })

  it('goes to the second when the first lost its connection', async () => {
    const process = aProcess()
    const first = await granted(process.take())
    const second = process.take()
    expect(await peek(second)).toBe('waiting')
    await first.release()
    await (await granted(second)).complete()
    expect((await stores.journal.findJob('exact', aJob().network, aJob().key))?.deliveredAt).toBe(
      noon,
    )
  })

  it('goes to one of several who wait, and the others wait on', async () => {
    const process = aProcess()
    const first = await granted(process.take())
    const waiting = [process.take(), process.take(), process.take()]
    await settled()
    await first.release()
    const turns = await Promise.all(waiting.map(peek))
    const came = turns.filter((turn) => turn !== 'waiting')
    expect(came.map((turn) => turn?.state)).toEqual(['granted'])
  })

  it('goes to the next caller after a store that could neither lease it nor take it back', async () => {
    const failing = new Set<'lease' | 'release'>(['lease'])
    const process = aProcess({ failing })
    await expect(process.take()).rejects.toThrow('away')
    failing.clear()
    const first = await granted(process.take())
    failing.add('release')
    await expect(first.release()).rejects.toThrow('away')
    const second = process.take()
    await vi.advanceTimersByTimeAsync(5_001)
    await (await granted(second)).complete()
  })

  it('is not given twice at a time, whatever the clock says; a caller that waits too long is answered as busy', async () => {
    const process = aProcess()
    const first = await granted(process.take())
    const second = process.take()
    await vi.advanceTimersByTimeAsync(9_999)
    expect(await peek(second)).toBe('waiting')
    await vi.advanceTimersByTimeAsync(1)
    expect(await soon(second)).toEqual({ state: 'busy' })
    await first.complete()
    expect((await process.take())?.state).toBe('delivered')
  })

  it('holds for as long as it takes, where no other process could have it', async () => {
    const failing = new Set<'lease' | 'release'>()
    const delivery = await granted(aProcess({ failing }).take())
    failing.add('lease')
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await delivery.isHeld()).toBe(true)
  })

  it('is not given twice by a disk that takes six seconds', async () => {
    const process = aProcess({ delayMs: () => 6_000 })
    const turns = [process.take(), process.take()]
    await vi.advanceTimersByTimeAsync(6_000)
    expect(await Promise.all(turns.map(peek))).toMatchObject([{ state: 'granted' }, 'waiting'])
  })

  it('is never given to a caller whose connection is closed', async () => {
    const process = aProcess()
    const first = await granted(process.take())
    const second = process.take()
    expect(await peek(second)).toBe('waiting')
    process.disconnect(1)
    await first.release()
    expect(await soon(second)).toBeUndefined()
    await granted(process.take())
  })

  it('stays used up when the store cannot mark it at once', async () => {
    const process = aProcess()
    const first = await granted(process.take())
    const complete = vi.spyOn(stores.deliveries, 'completeDelivery')
    complete.mockRejectedValueOnce(new Error('the disk is full'))
    const marked = createDeliveries({
      store: stores.deliveries,
      now,
      log: silent,
    })
    await first.release()
    const delivery = await granted(marked.take('job-1', null, () => true))
    const completed = delivery.complete()
    const second = marked.take('job-1', null, () => true)
    expect(await peek(second)).toBe('waiting')
    await vi.advanceTimersByTimeAsync(250)
    await completed
    expect(await soon(second)).toMatchObject({ state: 'delivered' })
  })
})

describe('between two processes', () => {
  const another = (delayMs?: () => number) =>
    aProcess({ pollMs: POLL_MS, ...(delayMs && { delayMs }) })

  it('the right holds for two seconds without a question', async () => {
    const failing = new Set<'lease' | 'release'>()
    const delivery = await granted(aProcess({ pollMs: POLL_MS, failing }).take())
    failing.add('lease')
    await vi.advanceTimersByTimeAsync(1_999)
    expect(await delivery.isHeld()).toBe(true)
    await vi.advanceTimersByTimeAsync(1)
    await expect(delivery.isHeld()).rejects.toThrow('away')
  })

  it('the right is seen through the store', async () => {
    const first = await granted(another().take())
    const other = another()
    const elsewhere = other.take()
    for (let i = 0; i < 10; i++) expect(await peek(elsewhere)).toBe('waiting')
    expect(other.asked()).toBe(1)
    await first.complete()
    await vi.advanceTimersByTimeAsync(POLL_MS)
    expect(await soon(elsewhere)).toEqual({ state: 'delivered', key: null })
  })

  it('it lapses five seconds later when its holder is dead', async () => {
    await granted(another().take())
    const second = another().take()
    await vi.advanceTimersByTimeAsync(4_900)
    expect(await peek(second)).toBe('waiting')
    await vi.advanceTimersByTimeAsync(POLL_MS)
    expect(await soon(second)).toMatchObject({ state: 'granted' })
  })

  it('a halted process does not answer once another has the right', async () => {
    const late = await granted(another().take())
    await vi.advanceTimersByTimeAsync(5_000)
    const second = await granted(another().take())
    expect(await late.isHeld()).toBe(false)
    await late.release()
    expect(await second.isHeld()).toBe(true)
    await second.complete()
    expect((await another().take())?.state).toBe('delivered')
  })

  it('a halted process renews a right that nobody took', async () => {
    const late = await granted(another().take())
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await late.isHeld()).toBe(true)
    expect(await peek(another().take())).toBe('waiting')
  })

  it('a grant that arrives after its lease has ended does not count', async () => {
    let delay = 6_000
    const slow = another(() => delay)
    const first = slow.take()
    await vi.advanceTimersByTimeAsync(5_500)
    const second = await granted(another().take())
    delay = 0
    await vi.advanceTimersByTimeAsync(500)
    expect(await peek(first)).toBe('waiting')
    await second.complete()
    await vi.advanceTimersByTimeAsync(POLL_MS)
    expect(await soon(first)).toMatchObject({ state: 'delivered' })
  })
})

describe('Idempotency-Keys', () => {
  const HOUR_MS = 3_600_000
  const asked: number[] = []
  const store: Pick<DeliveryStore, 'forgetIdempotencyKeys'> = {
    forgetIdempotencyKeys(before, most) {
      asked.push(most)
      return stores.deliveries.forgetIdempotencyKeys(before, most)
    },
  }
  const isKept = async (key: string) =>
    (await stores.deliveries.findIdempotencyKey(key)) !== undefined

  it('are kept for a week, and deleted a few hundred at a time', async () => {
    const keys = { 'an-old-key': noon, 'another-old-key': noon, 'a-young-key': noon + HOUR_MS }
    for (const [key, at] of Object.entries(keys)) {
      await stores.deliveries.bindIdempotencyKey(key, 'job-1', at)
    }
    const week = 7 * 24 * HOUR_MS
    await forgetOldKeys(store, noon + week, () => true)
    expect(await isKept('an-old-key')).toBe(true)
    await forgetOldKeys(store, noon + week + 1, () => true)
    expect(await isKept('another-old-key')).toBe(false)
    expect([await isKept('an-old-key'), await isKept('a-young-key')]).toEqual([false, true])
    expect(Math.max(...asked)).toBeLessThanOrEqual(500)
    await forgetOldKeys(store, noon + 2 * week, () => false)
    expect(await isKept('a-young-key')).toBe(true)
  })
})
