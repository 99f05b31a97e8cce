import type { PaymentAnswer } from '@arcus/protocol/x402/payment'
import type { Address } from 'viem'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { canonicalResource, readResource } from '../../../../src/directory/activity/attribution.js'
import { createActivityRecorder } from '../../../../src/directory/activity/recorder.js'
import type { NewActivity } from '../../../../src/directory/store/activity.js'

const payer: Address = '0x4444444444444444444444444444444444444444'
const payTo: Address = '0x3333333333333333333333333333333333333333'
const owner: Address = '0x5555555555555555555555555555555555555555'

const payment = {
  ...{ network: 'eip155:5042', asset: payTo, payTo, payer, amount: 10n },
  resourceUrl: 'https://api.example.com/weather?city=Lisbon',
}

function anAnswer(over: Partial<PaymentAnswer> = {}): PaymentAnswer {
  return {
    ...{ kind: 'settle', at: 1, latencyMs: 5, payment, state: 'settled', reason: null },
    ...{ transaction: null, settlementId: 'a', gasCost: null },
    ...over,
  }
}

const disk = { isLow: false }

function aRecorder(over: { append?: (rows: readonly NewActivity[]) => Promise<void> } = {}) {
  const kept: NewActivity[] = []
  const recorder = createActivityRecorder({
    store: {
      append: over.append ?? (async (rows) => void kept.push(...rows)),
      forget: async () => 0,
    },
    attributor: {
      find: async () => ({ merchantId: 'weather', endpointId: 7, owner }),
      refresh: async () => {},
    },
    asset: payTo,
    isKeeper: () => true,
    isRelayer: () => false,
    isDiskLow: () => disk.isLow,
    refundWallets: new Map(),
    findPayment: async () => undefined,
    retentionDays: 90,
    now: () => 1,
    log: { warn() {} },
  })
  return { recorder, kept }
}

/** Stops the clock of timers until the end of the test. */
function stopTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

/** Answers are kept every second. */
async function passASecond(): Promise<void> {
  await vi.advanceTimersByTimeAsync(1_000)
  await new Promise((resolve) => setImmediate(resolve))
}

describe('the recorder of activity', () => {
  it('keeps an answer a moment later', async () => {
    stopTimers()
    const { recorder, kept } = aRecorder()
    recorder.record(anAnswer())
    expect(kept).toEqual([])
    await passASecond()
    expect(kept).toHaveLength(1)
    await recorder.stop()
  })

  it('keeps all waiting answers when it stops', async () => {
    const { recorder, kept } = aRecorder()
    for (let i = 0; i < 500; i++) recorder.record(anAnswer())
    await recorder.stop()
    expect(kept).toHaveLength(500)
    expect(recorder.dropped()).toBe(0)
  })

  it('drops the oldest answers rather than grow without end, and counts them', async () => {
    const { recorder, kept } = aRecorder()
    for (let i = 0; i < 20_010; i++) recorder.record(anAnswer({ at: i }))
    expect(recorder.dropped()).toBe(10)
    await recorder.stop()
    expect(kept[0]?.at).toBe(10)
  })

  it('keeps nothing while the disk is nearly full, counts the dropped answers, and goes on', async () => {
    const { recorder, kept } = aRecorder()
    disk.isLow = true
    for (let i = 0; i < 10; i++) recorder.record(anAnswer())
    expect(recorder.dropped()).toBe(10)
    disk.isLow = false
    recorder.record(anAnswer())
    await recorder.stop()
    expect(kept).toHaveLength(1)
    expect(recorder.dropped()).toBe(10)
  })

  it('goes on after the store failed, and counts the lost answers', async () => {
    let calls = 0
    const kept: NewActivity[] = []
    const { recorder } = aRecorder({
      append: async (rows) => {
        if (++calls === 1) throw new Error('disk full')
        kept.push(...rows)
      },
    })
    for (let i = 0; i < 750; i++) recorder.record(anAnswer({ at: i }))
    await recorder.stop()
    expect(recorder.dropped()).toBeGreaterThan(0)
    expect(kept).toHaveLength(750 - recorder.dropped())
    expect(kept.at(-1)?.at).toBe(749)
  })
})

describe('a paid URL', () => {
  const resourceOf = (url: string | undefined) => canonicalResource(readResource(url))

  it('is counted by origin and path', () => {
    expect(resourceOf('https://A.example.com:443/x?y=1#z')).toBe('https://a.example.com/x')
    expect(resourceOf('ftp://example.com/x')).toBeNull()
    expect(resourceOf('nothing')).toBeNull()
    expect(resourceOf(undefined)).toBeNull()
  })

  it('is cut where it is longer than what is kept', () => {
    const most = 'https://a.example/'.padEnd(256, 'x')
    expect(resourceOf(most)).toBe(most)
    const cut = resourceOf(`${most}x`)
    expect(cut).toBe(`${most.slice(0, 255)}…`)
    expect(cut).toHaveLength(256)
  })
})

describe('of refused answers', () => {
  const refused = (over: Parameters<typeof anAnswer>[0] = {}) =>
    anAnswer({ kind: 'verify', state: 'invalid', reason: 'x', settlementId: null, ...over })
  const isKept = ({ isSumOnly }: NewActivity) => isSumOnly !== true

  it('few get a row within an hour, the others are counted for the merchant as a whole', async () => {
    const { recorder, kept } = aRecorder()
    for (let i = 0; i < 500; i++) recorder.record(refused())
    await recorder.stop()
    expect(kept).toHaveLength(500)
    const rows = kept.filter(isKept)
    expect(rows).toHaveLength(100)
    expect(rows.every(({ endpointId }) => endpointId === 7)).toBe(true)
    const sums = kept.filter((row) => !isKept(row))
    expect(new Set(sums.map(({ merchantId }) => merchantId))).toEqual(new Set(['weather']))
    expect(new Set(sums.map(({ endpointId }) => endpointId))).toEqual(new Set([null]))
  })

  it('none displaces a valid or a settled payment', async () => {
    const { recorder, kept } = aRecorder()
    for (let i = 0; i < 500; i++) recorder.record(refused())
    recorder.record(refused({ state: 'valid' }))
    recorder.record(refused({ kind: 'settle', state: 'failed', settlementId: 'a' }))
    for (let i = 0; i < 3_000; i++) recorder.record(anAnswer())
    await recorder.stop()
    expect(kept.slice(500).every(isKept)).toBe(true)
  })

  it('a bounded number of valid verifies gets a row within an hour, the others are counted by endpoint', async () => {
    const { recorder, kept } = aRecorder()
    for (let i = 0; i < 2_500; i++) recorder.record(refused({ state: 'valid' }))
    await recorder.stop()
    expect(kept.filter(isKept)).toHaveLength(2_000)
    expect(kept.every(({ endpointId }) => endpointId === 7)).toBe(true)
  })
})
