import type { Address } from 'viem'
import { describe, expect, it, vi } from 'vitest'
import { canonicalResource, readResource } from '../../../../src/directory/activity/attribution.js'
import { createActivityRecorder } from '../../../../src/directory/activity/recorder.js'
import type { NewActivity } from '../../../../src/store/activity.js'
import type { PaymentAnswer } from '../../../../src/x402/payment-answer.js'

const payer: Address = '0x4444444444444444444444444444444444444444'
const payTo: Address = '0x3333333333333333333333333333333333333333'
const owner: Address = '0x5555555555555555555555555555555555555555'

function anAnswer(
  over: Partial<PaymentAnswer> & { from?: Address; resourceUrl?: string } = {},
): PaymentAnswer {
  const {
    from = payer,
    resourceUrl = 'https://api.example.com/weather?city=Lisbon',
    ...rest
  } = over
  return {
    kind: 'settle',
    at: 1,
    latencyMs: 5,
    payment: {
      network: 'eip155:5042',
      asset: payTo,
      payTo,
      payer: from,
      amount: 10n,
      resourceUrl,
    },
    state: 'settled',
    reason: null,
    transaction: null,
    settlementId: 'a',
    gasCost: null,
    ...rest,
  }
}

function aRecorder(over: { append?: (rows: readonly NewActivity[]) => Promise<void> } = {}) {
  const kept: NewActivity[] = []
  const asked: (string | undefined)[] = []
  const recorder = createActivityRecorder({
    store: {
      append: over.append ?? (async (rows) => void kept.push(...rows)),
      forget: async () => 0,
      foldHours: async () => {},
    },
    attributor: {
      async find(_payTo, url) {
        asked.push(url?.href)
        return { merchantId: 'weather', endpointId: 7, owner }
      },
      refresh: async () => {},
    },
    isRelayer: (address) => address.startsWith('0x77'),
    retentionDays: 90,
    now: () => 1,
    log: { warn() {} },
  })
  return { recorder, kept, asked }
}

describe('the recorder of activity', () => {
  it('keeps who paid whom for what, a moment later', async () => {
    const { recorder, kept, asked } = aRecorder()
    recorder.record(anAnswer())
    expect(kept).toEqual([])
    await vi.waitUntil(() => kept.length === 1, 2_000)
    expect(kept[0]).toMatchObject({
      merchantId: 'weather',
      endpointId: 7,
      payer,
      amount: 10n,
      resource: 'https://api.example.com/weather',
      isSelf: false,
    })
    expect(asked).toEqual(['https://api.example.com/weather?city=Lisbon'])
    await recorder.stop()
  })

  it('tells self-payments apart: by the owner, the recipient, a relayer', async () => {
    const { recorder, kept } = aRecorder()
    const relayer: Address = '0x7777777777777777777777777777777777777777'
    for (const from of [owner, payTo, relayer, payer]) recorder.record(anAnswer({ from }))
    await recorder.stop()
    expect(kept.map(({ isSelf }) => isSelf)).toEqual([true, true, true, false])
  })

  it('keeps all that waits when it stops', async () => {
    const { recorder, kept } = aRecorder()
    for (let i = 0; i < 500; i++) recorder.record(anAnswer())
    await recorder.stop()
    expect(kept).toHaveLength(500)
    expect(recorder.dropped()).toBe(0)
  })

  it('gives up the oldest rather than grow without end, and counts them', async () => {
    const { recorder, kept } = aRecorder()
    for (let i = 0; i < 20_010; i++) recorder.record(anAnswer({ at: i }))
    expect(recorder.dropped()).toBe(10)
    await recorder.stop()
    expect(kept[0]?.at).toBe(10)
  })

  it('goes on after a store that failed, and counts what it lost', async () => {
    let calls = 0
    const kept: NewActivity[] = []
    const { recorder } = aRecorder({
      append: async (rows) => {
        if (++calls === 1) throw new Error('disk full')
        kept.push(...rows)
      },
    })
    for (let i = 0; i < 250; i++) recorder.record(anAnswer({ at: i }))
    await recorder.stop()
    expect(recorder.dropped()).toBeGreaterThan(0)
    expect(kept).toHaveLength(250 - recorder.dropped())
    expect(kept.at(-1)?.at).toBe(249)
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

  it('is not kept when it is longer than any that is listed', () => {
    const most = 'https://a.example/'.padEnd(2_048, 'x')
    expect(resourceOf(most)).toBe(most)
    expect(resourceOf(`${most}x`)).toBeNull()
  })
})
