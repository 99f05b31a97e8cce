import type { Budget } from '@arcus/client/budget'
import { BudgetLedger } from '@arcus/client/budget-ledger'
import { createCall } from '@arcus/client/calls'
import type { PaymentChain } from '@arcus/client/chain'
import { createMemoryLedger } from '@arcus/client/ledger'
import { PaymentOutcomes } from '@arcus/client/outcomes'
import { numberToHex } from 'viem'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { unexpected } from '../../support/unexpected.js'

const network = 'eip155:5042'
const asset = '0x3600000000000000000000000000000000000000'
const payTo = `0x${'b2'.repeat(20)}`
const payer = `0x${'a1'.repeat(20)}` as const
const transaction = `0x${'aa'.repeat(32)}`
const START_SECONDS = 1_800_000_000
const END_SECONDS = START_SECONDS + 60
const budget: Budget = { network, asset, perCall: 50_000n, perDay: 1_000_000n }

beforeEach(() => {
  vi.useFakeTimers({ now: START_SECONDS * 1_000, toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const passSeconds = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1_000)

interface Answers {
  /** The chain of the buyer; none is asked without it. */
  use?: 'used' | 'unused' | 'open'
  /** The answer of the facilitator about every payment. */
  found?: object
  /** Transfers in a transaction that the chain shows. */
  transfers?: number
}

/** Payments of a cent of which a buyer does not know the outcome, and the sources that say it. */
async function someOutcomes(count: number, answers: Answers = {}) {
  const ledger = new BudgetLedger(createMemoryLedger(), budget)
  const asked: string[] = []
  const chain: PaymentChain = {
    async readUse({ nonce }) {
      asked.push(`chain ${Number(nonce)}`)
      return answers.use ?? 'open'
    },
    countTransfers: async () => answers.transfers ?? 0,
    readChannel: unexpected,
  }
  const call = createCall('https://pay.example.com', async (url) => {
    asked.push(`facilitator ${Number(new URL(String(url)).pathname.split('/').at(-1))}`)
    return Response.json(answers.found ?? { state: 'submitted', transaction })
  })
  const outcomes = new PaymentOutcomes(ledger, {
    chain: answers.use === undefined ? undefined : chain,
    call,
    channels: { look: unexpected },
  })
  const reserved = { network, asset, payTo, host: 'a.example', amount: '10000', call: 'a call' }
  for (let i = 1; i <= count; i++) {
    const payment = { network, payer, nonce: numberToHex(i), asset, method: 'eip3009' } as const
    await ledger.add({ type: 'reserved', id: `${i}`, ...reserved })
    await ledger.add({ type: 'signed', id: `${i}`, payment, validBefore: END_SECONDS })
    await ledger.add({ type: 'unknown', id: `${i}` })
  }
  return { outcomes, ledger, asked: () => asked.splice(0) }
}

describe('a payment whose outcome is unknown', () => {
  it('is looked up again after five seconds, and at once where somebody waits for it', async () => {
    const { outcomes, asked } = await someOutcomes(1)
    const once = ['facilitator 1']
    await outcomes.review()
    expect(asked()).toEqual(once)
    passSeconds(5)
    await outcomes.review()
    expect(asked()).toEqual([])
    await outcomes.review({ urgent: '1' })
    expect(asked()).toEqual(once)
    passSeconds(5.001)
    await outcomes.review()
    expect(asked()).toEqual(once)
  })

  it('is one of the ten newest that are looked up at once', async () => {
    const { outcomes, asked } = await someOutcomes(12)
    await outcomes.review()
    expect(asked().sort()).toEqual(
      Array.from({ length: 10 }, (_, i) => `facilitator ${i + 3}`).sort(),
    )
  })

  it('is looked up for a week after its end', async () => {
    const { outcomes, asked } = await someOutcomes(1)
    passSeconds(60 + 7 * 86_400 - 1)
    await outcomes.review()
    expect(asked()).toHaveLength(1)
    passSeconds(6)
    await outcomes.review()
    expect(asked()).toEqual([])
  })

  it.each<[string, Answers, object]>([
    ['open while the chain says so', { use: 'open' }, { state: 'unknown', spent: 10_000n }],
    [
      'given back once the chain calls it unused',
      { use: 'unused' },
      { state: 'released', spent: 0n },
    ],
    [
      'spent once the facilitator names its transaction',
      { found: { state: 'confirmed', transaction } },
      { state: 'settled', transaction, spent: 10_000n },
    ],
    [
      'spent where others brought it on chain',
      { use: 'used', found: { state: 'failed' } },
      { state: 'settled', transaction: '', spent: 10_000n },
    ],
    [
      'open where the chain shows its use before the facilitator does',
      { use: 'used', found: { state: 'submitted' } },
      { state: 'unknown', spent: 10_000n },
    ],
    [
      'open where it failed and may still be brought on chain',
      { found: { state: 'failed', unusedAtBlock: 7 } },
      { state: 'unknown', spent: 10_000n },
    ],
  ])('is %s', async (_, answers, expected) => {
    const { outcomes, ledger } = await someOutcomes(1, answers)
    await outcomes.review()
    expect(await ledger.find('1')).toMatchObject(expected)
  })

  it('that failed is given back a minute after its end, where the facilitator saw it unused', async () => {
    const { outcomes, ledger } = await someOutcomes(1, {
      found: { state: 'failed', unusedAtBlock: 7 },
    })
    passSeconds(120)
    await outcomes.review()
    expect(await ledger.find('1')).toMatchObject({ state: 'unknown' })
    passSeconds(5.001)
    await outcomes.review()
    expect(await ledger.find('1')).toMatchObject({
      state: 'released',
      spent: 0n,
      unproven: 10_000n,
    })
    const unseen = await someOutcomes(1, { found: { state: 'failed', unusedAtBlock: null } })
    await unseen.outcomes.review()
    expect(await unseen.ledger.find('1')).toMatchObject({ state: 'unknown' })
  })
})

it('one transfer on chain backs one payment of the transaction that a facilitator names', async () => {
  const answers = {
    use: 'open',
    found: { state: 'confirmed', amount: '4000', transaction },
  } as const
  const settle = async (transfers: number) => {
    const { outcomes, ledger } = await someOutcomes(0, { ...answers, transfers })
    const ceiling = { network, asset, payTo, host: 'a.example', call: '', isCeiling: true }
    for (const id of ['1', '2']) {
      const payment = { network, payer, nonce: `0x${id}`, asset, method: 'permit2' } as const
      await ledger.add({ type: 'reserved', id, amount: '10000', ...ceiling })
      await ledger.add({ type: 'signed', id, payment, validBefore: END_SECONDS })
      await outcomes.review({ urgent: id })
    }
    return (await ledger.read()).map(({ spent, unproven }) => [spent, unproven])
  }
  expect(await settle(0)).toEqual([
    [4_000n, 6_000n],
    [4_000n, 6_000n],
  ])
  expect(await settle(1)).toEqual([
    [4_000n, 0n],
    [4_000n, 6_000n],
  ])
  expect(await settle(2)).toEqual([
    [4_000n, 0n],
    [4_000n, 0n],
  ])
})
