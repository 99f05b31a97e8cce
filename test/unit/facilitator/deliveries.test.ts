import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createDeliveries, type DeliveryTurn } from '../../../src/facilitator/deliveries.js'
import { openSqliteStores } from '../../../src/store/sqlite/stores.js'
import { aJob, anOutcome, noon } from '../store/store-contract.js'

let stores: ReturnType<typeof openSqliteStores>

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: noon })
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
const settled = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

function aDesk() {
  const { take } = createDeliveries(stores.deliveries, now)
  const callers: { isConnected: boolean }[] = []
  return {
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

async function granted(turn: Promise<DeliveryTurn | undefined>) {
  const came = await turn
  if (came?.state !== 'granted') throw new Error(`the turn is ${came?.state}`)
  return came.delivery
}

describe('the right to say paid', () => {
  it('is the first caller’s; the second waits and learns that the first was told', async () => {
    const desk = aDesk()
    const first = await granted(desk.take('key-of-the-first'))
    const second = desk.take()
    expect(await peek(second)).toBe('waiting')
    await first.complete()
    expect(await second).toEqual({ state: 'delivered', key: 'key-of-the-first' })
    expect(await desk.take()).toEqual({ state: 'delivered', key: 'key-of-the-first' })
  })

  it('goes to the second when the first lost its connection', async () => {
    const desk = aDesk()
    const first = await granted(desk.take())
    const second = desk.take()
    expect(await peek(second)).toBe('waiting')
    await first.release()
    await (await granted(second)).complete()
    expect((await stores.journal.findJob('exact', aJob().network, aJob().key))?.deliveredAt).toBe(
      noon,
    )
  })

  it('goes to one of several who wait, and the others wait on', async () => {
    const desk = aDesk()
    const first = await granted(desk.take())
    const waiting = [desk.take(), desk.take(), desk.take()]
    await settled()
    await first.release()
    const turns = await Promise.all(waiting.map(peek))
    const came = turns.filter((turn) => turn !== 'waiting')
    expect(came.map((turn) => turn?.state)).toEqual(['granted'])
  })

  it('lapses five seconds later when its holder says nothing', async () => {
    const desk = aDesk()
    await granted(desk.take())
    const second = desk.take()
    expect(await peek(second)).toBe('waiting')
    await vi.advanceTimersByTimeAsync(4_999)
    expect(await peek(second)).toBe('waiting')
    await vi.advanceTimersByTimeAsync(1)
    expect((await second)?.state).toBe('granted')
  })

  it('is never given to a caller who is gone', async () => {
    const desk = aDesk()
    const first = await granted(desk.take())
    const second = desk.take()
    expect(await peek(second)).toBe('waiting')
    desk.disconnect(1)
    await first.release()
    expect(await second).toBeUndefined()
    await granted(desk.take())
  })

  it('is not taken back by a late holder from the one who has it now', async () => {
    const desk = aDesk()
    const late = await granted(desk.take())
    await vi.advanceTimersByTimeAsync(5_000)
    const second = await granted(desk.take())
    await late.release()
    expect(await peek(desk.take())).toBe('waiting')
    await second.complete()
    expect((await desk.take())?.state).toBe('delivered')
  })

  it('is seen by another process through the store', async () => {
    const first = await granted(aDesk().take())
    const elsewhere = aDesk().take()
    expect(await peek(elsewhere)).toBe('waiting')
    await first.complete()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await elsewhere).toEqual({ state: 'delivered', key: null })
  })
})
