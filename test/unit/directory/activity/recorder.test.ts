import type { Address } from 'viem'
import { describe, expect, it } from 'vitest'
import { canonicalResource, readResource } from '../../../../src/directory/activity/attribution.js'
import {
  createActivityRecorder,
  type HandedAnswer,
} from '../../../../src/directory/activity/recorder.js'
import type { NewActivity } from '../../../../src/directory/store/activity.js'

const payer: Address = '0x4444444444444444444444444444444444444444'
const payTo: Address = '0x3333333333333333333333333333333333333333'
const owner: Address = '0x5555555555555555555555555555555555555555'

const payment = {
  network: 'eip155:5042',
  asset: payTo,
  payTo,
  payer,
  amount: 10n,
  resourceUrl: 'https://api.example.com/weather?city=Lisbon',
}

function anAnswer(over: Partial<HandedAnswer> = {}): HandedAnswer {
  return {
    kind: 'settle',
    at: 1,
    latencyMs: 5,
    payment,
    state: 'settled',
    reason: null,
    transaction: null,
    settlementId: 'a',
    gasCost: null,
    query: [],
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
    isRelayer: () => false,
    isDiskLow: () => disk.isLow,
    refundWallets: new Map(),
    findPayment: async () => undefined,
    retentionDays: 90,
    now: () => 1,
  })
  return { recorder, kept }
}

const many = (count: number, over: Partial<HandedAnswer> = {}) =>
  Array.from({ length: count }, (_, at) => anAnswer({ at, ...over }))

describe('the recorder of activity', () => {
  it('keeps answers in their order', async () => {
    const { recorder, kept } = aRecorder()
    await recorder.keep(many(1_250))
    expect(kept.map(({ at }) => at)).toEqual(Array.from({ length: 1_250 }, (_, at) => at))
    expect(recorder.dropped()).toBe(0)
  })

  it('keeps nothing while the disk is nearly full, counts the dropped answers, and goes on', async () => {
    const { recorder, kept } = aRecorder()
    disk.isLow = true
    await recorder.keep(many(10))
    expect(recorder.dropped()).toBe(10)
    disk.isLow = false
    await recorder.keep(many(1))
    expect(kept).toHaveLength(1)
    expect(recorder.dropped()).toBe(10)
  })

  it('rejects when the store fails, so that the answers are given to it again', async () => {
    let isBroken = true
    const kept: NewActivity[] = []
    const { recorder } = aRecorder({
      append: async (rows) => {
        if (isBroken) throw new Error('disk full')
        kept.push(...rows)
      },
    })
    await expect(recorder.keep(many(3))).rejects.toThrow('disk full')
    isBroken = false
    await recorder.keep(many(3))
    expect(kept).toHaveLength(3)
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
    await recorder.keep(many(500, refused()))
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
    await recorder.keep(many(500, refused()))
    await recorder.keep([
      refused({ state: 'valid' }),
      refused({ kind: 'settle', state: 'failed', settlementId: 'a' }),
      ...many(3_000),
    ])
    expect(kept.slice(500).every(isKept)).toBe(true)
  })

  it('a bounded number of valid verifies gets a row within an hour, the others are counted by endpoint', async () => {
    const { recorder, kept } = aRecorder()
    await recorder.keep(many(2_500, refused({ state: 'valid' })))
    expect(kept.filter(isKept)).toHaveLength(2_000)
    expect(kept.every(({ endpointId }) => endpointId === 7)).toBe(true)
  })
})
