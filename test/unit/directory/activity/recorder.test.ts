import type { PaymentStatus } from '@arcus/protocol/answers/payments'
import type { PaymentAnswer } from '@arcus/protocol/x402/payment'
import type { Address } from 'viem'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { canonicalResource, readResource } from '../../../../src/directory/activity/attribution.js'
import { createActivityRecorder } from '../../../../src/directory/activity/recorder.js'
import type { NewActivity } from '../../../../src/directory/store/activity.js'

const payer: Address = '0x4444444444444444444444444444444444444444'
const payTo: Address = '0x3333333333333333333333333333333333333333'
const owner: Address = '0x5555555555555555555555555555555555555555'
/** Pays the refunds of `payTo`. */
const wallet: Address = '0x6666666666666666666666666666666666666666'

function anAnswer(
  over: Partial<PaymentAnswer> & { from?: Address; resourceUrl?: string; toolName?: string } = {},
): PaymentAnswer {
  const {
    from = payer,
    resourceUrl = 'https://api.example.com/weather?city=Lisbon',
    toolName,
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
      ...(toolName && { toolName }),
    },
    state: 'settled',
    reason: null,
    transaction: null,
    settlementId: 'a',
    gasCost: null,
    ...rest,
  }
}

const disk = { isLow: false }

interface Over {
  append?: (rows: readonly NewActivity[]) => Promise<void>
  /** The amount and the recipient of the confirmed payment that another one gives back. */
  sale?: { amount: string; payTo: Address; state?: string }
}

function aRecorder(over: Over = {}) {
  const { sale } = over
  const kept: NewActivity[] = []
  const asked: (string | undefined)[] = []
  const recorder = createActivityRecorder({
    store: {
      append: over.append ?? (async (rows) => void kept.push(...rows)),
      forget: async () => 0,
    },
    attributor: {
      async find(_payTo, url, toolName) {
        asked.push(toolName === undefined ? url?.href : `${url?.href} ${toolName}`)
        return { merchantId: 'weather', endpointId: url?.search === '' ? 8 : 7, owner }
      },
      refresh: async () => {},
    },
    asset: payTo,
    isKeeper: () => true,
    isRelayer: (address) => address.startsWith('0x77'),
    isDiskLow: () => disk.isLow,
    refundWallets: new Map([[wallet, payTo]]),
    findPayment: async (_network, buyer) => {
      if (sale === undefined) return undefined
      const status = { settlementId: 'a', state: 'confirmed', payer: buyer, ...sale }
      const named = {
        ...{ scheme: 'exact' as const, toolName: undefined },
        resourceUrl: 'https://api.example.com/weather',
      }
      return { status: status as PaymentStatus, ...named }
    },
    retentionDays: 90,
    now: () => 1,
    log: { warn() {} },
  })
  return { recorder, kept, asked }
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
  it('keeps payer, recipient and resource of a payment, a moment later', async () => {
    stopTimers()
    const { recorder, kept, asked } = aRecorder()
    recorder.record(anAnswer())
    expect(kept).toEqual([])
    await passASecond()
    expect(kept).toHaveLength(1)
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

  it('keeps the tool that a payment names, and counts the payment for it', async () => {
    const { recorder, kept, asked } = aRecorder()
    recorder.record(anAnswer({ resourceUrl: 'https://api.example.com/mcp', toolName: 'tides' }))
    recorder.record(anAnswer())
    await recorder.stop()
    expect(kept.map(({ toolName }) => toolName)).toEqual(['tides', null])
    expect(asked[0]).toBe('https://api.example.com/mcp tides')
  })

  it('marks a payment in another token than that of the sums', async () => {
    const { recorder, kept } = aRecorder()
    const answer = anAnswer()
    recorder.record(answer)
    recorder.record({ ...answer, payment: { ...answer.payment, asset: owner } })
    await recorder.stop()
    expect(kept.map(({ isOtherMoney }) => isOtherMoney)).toEqual([false, true])
    expect(kept.map(({ asset }) => asset)).toEqual([payTo, owner])
  })

  it('recognises self-payments: by the owner, the recipient, a relayer', async () => {
    const { recorder, kept } = aRecorder()
    const relayer: Address = '0x7777777777777777777777777777777777777777'
    for (const from of [owner, payTo, relayer, payer]) recorder.record(anAnswer({ from }))
    await recorder.stop()
    expect(kept.map(({ isSelf }) => isSelf)).toEqual([true, true, true, false])
  })

  describe('of a payment that names another one', () => {
    const back = (from: Address, refunded = true) => {
      const { payment, ...rest } = anAnswer({ settlementId: 'b' })
      const { resourceUrl: _, ...unnamed } = payment
      const named = refunded ? { refunded: { nonce: '0x01', method: 'eip3009' } as const } : {}
      return { ...rest, payment: { ...unnamed, ...named, payer: from, payTo: payer, asset: payTo } }
    }
    const keep = async (over: Over, ...answers: PaymentAnswer[]) => {
      const { recorder, kept } = aRecorder(over)
      for (const answer of answers) recorder.record(answer)
      await recorder.stop()
      return kept
    }

    it('takes it off the endpoint that was bought, from the paid address or its wallet', async () => {
      for (const from of [payTo, wallet]) {
        const sale = { amount: '10', payTo }
        const [, refund] = await keep({ sale }, anAnswer(), back(from))
        expect(refund).toMatchObject({
          ...{ state: 'refunded', merchantId: 'weather', endpointId: 7, isSelf: false },
          refund: { amount: 10n, payments: 1 },
        })
        // After a restart the kept URL has lost its query, and names another endpoint of this test.
        expect((await keep({ sale }, back(from)))[0]).toMatchObject({ endpointId: 8 })
      }
    })

    it('takes no more off than was paid, and a part as no whole payment', async () => {
      const [refund] = await keep({ sale: { amount: '7', payTo } }, back(payTo))
      expect(refund).toMatchObject({ amount: 10n, refund: { amount: 7n, payments: 1 } })
      const [part] = await keep({ sale: { amount: '11', payTo } }, back(payTo))
      expect(part).toMatchObject({ refund: { amount: 10n, payments: 0 } })
    })

    it('counts the money of anybody else, and what names nothing, as a payment', async () => {
      const sale = { amount: '10', payTo }
      const rows = [
        ...(await keep({ sale }, back(owner), back(payTo, false))),
        ...(await keep({}, back(payTo))),
        ...(await keep({ sale: { ...sale, state: 'failed' } }, back(payTo))),
      ]
      expect(rows.map(({ state, refund }) => [state, refund])).toEqual(
        Array.from({ length: 4 }, () => ['settled', undefined]),
      )
    })
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
