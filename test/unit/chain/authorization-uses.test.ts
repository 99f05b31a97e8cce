import { type Address, type Hex, numberToHex } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { addressWord, topics, wordOf } from '../../../src/chain/abi.js'
import { createAuthorizationUses, findOwnTransfer } from '../../../src/chain/authorization-uses.js'
import type { Log } from '../../../src/chain/receipts.js'
import { anRpc } from '../../support/an-rpc.js'

const asset: Address = '0x3600000000000000000000000000000000000000'
const payer: Address = `0x${'a1'.repeat(20)}`
const payTo: Address = `0x${'b2'.repeat(20)}`
const nonce: Hex = `0x${'c3'.repeat(32)}`
const otherNonce: Hex = `0x${'c4'.repeat(32)}`
const expected = { asset, payer, payTo, value: 10_000n, nonce }
const transactionHash: Hex = `0x${'aa'.repeat(32)}`
const topic = (address: Address): Hex => `0x${addressWord(address)}`

const use = (index: number, of = nonce, address = asset, by = payer): Log => ({
  address,
  index,
  topics: [topics.authorizationUsed, topic(by), of],
  data: '0x',
})
const transfer = (
  index: number,
  value = 10_000n,
  address = asset,
  { from = payer, to = payTo } = {},
): Log => ({
  address,
  index,
  topics: [topics.transfer, topic(from), topic(to)],
  data: `0x${wordOf(value)}`,
})
const approval = (index: number): Log => ({
  ...transfer(index),
  topics: [`0x${'8c'.repeat(32)}`, topic(payer), topic(payTo)],
})

describe('the transfer of an authorization', () => {
  it('is the next log of the asset after its use, whatever others log between', () => {
    const native = transfer(6, 10_000n * 10n ** 12n, `0x${'ff'.repeat(20)}`)
    expect(findOwnTransfer([use(5), native, transfer(7)], expected)).toBe(7)
  })

  it('goes by the order of the log indexes, not of the list', () => {
    expect(findOwnTransfer([transfer(7), use(5)], expected)).toBe(7)
  })

  it.each([
    ['another use stands between', [use(1), use(2, otherNonce), transfer(3)]],
    ['it stands before the use', [transfer(1), use(2)]],
    ['there is none', [use(1)]],
    ['another value moved', [use(1), transfer(2, 1n), transfer(3)]],
    ['another token moved', [use(1), transfer(2, 10_000n, payTo)]],
    ['another token says it was used', [use(1, nonce, payTo), transfer(2)]],
    [
      'it was cancelled',
      [
        { ...use(1), topics: [topics.authorizationCanceled, ...use(1).topics.slice(1)] },
        transfer(2),
      ],
    ],
    ['another nonce was used', [use(1, otherNonce), transfer(2)]],
    ['another payer used the nonce', [use(1, nonce, asset, payTo), transfer(2)]],
    ['it comes from another account', [use(1), transfer(2, 10_000n, asset, { from: asset })]],
    ['it goes to another account', [use(1), transfer(2, 10_000n, asset, { to: asset })]],
    ['the next log is of another kind', [use(1), approval(2), transfer(3)]],
  ])('is not there when %s', (_, logs) => {
    expect(findOwnTransfer(logs, expected)).toBeUndefined()
  })
})

describe('the search for a use', () => {
  let asked: { from: number; to: number }[]
  let usedIn: number | undefined
  let now: number
  beforeEach(() => {
    asked = []
    usedIn = undefined
    now = 0
  })

  const rpc = anRpc({
    async request(method, [first]) {
      if (method === 'eth_getBlockByNumber') return { number: first, timestamp: '0x7' }
      const filter = first as { fromBlock: Hex; toBlock: Hex }
      const [from, to] = [Number(filter.fromBlock), Number(filter.toBlock)]
      asked.push({ from, to })
      const isIn = usedIn !== undefined && from <= usedIn && usedIn <= to
      return isIn ? [{ ...use(0), transactionHash, blockNumber: `0x${usedIn?.toString(16)}` }] : []
    },
    async everywhere() {
      const logs = [use(0), transfer(1)].map((log) => ({ ...log, logIndex: `0x${log.index}` }))
      const blockNumber = `0x${usedIn?.toString(16)}`
      return [{ ok: true, value: { transactionHash, blockNumber, status: '0x1', logs } }]
    },
  })
  const search = () => createAuthorizationUses(rpc, () => now)

  it('begins with the newest blocks and finds a use there with one query', async () => {
    usedIn = 990_000
    const found = await search()(expected, 100, 994_000)
    expect(found).toMatchObject({
      state: 'paid',
      transferLog: 1,
      minedAt: 7,
      receipt: { transactionHash },
    })
    expect(asked).toEqual([{ from: 989_001, to: 994_000 }])
  })

  it('continues from its last block until it has found an old use, and then remembers its block', async () => {
    usedIn = 700_000
    const findUse = search()
    const states: string[] = []
    for (let i = 0; i < 4; i++) {
      states.push((await findUse(expected, 100, 1_000_000)).state)
      expect(asked.length).toBeLessThanOrEqual((i + 1) * 41)
    }
    expect(states).toEqual(['notFound', 'notFound', 'notFound', 'paid'])
    asked = []
    expect((await findUse(expected, 100, 1_000_500)).state).toBe('paid')
    expect(asked).toEqual([{ from: 700_000, to: 700_000 }])
    const spans = asked.map(({ from, to }) => to - from)
    expect(Math.max(...spans)).toBeLessThan(5_000)
  })

  describe('reads the transaction that it found', () => {
    const transaction = transactionHash
    /** A chain with one log of this topic, whose nodes answer these receipts. */
    const findIn = (topic: Hex, receipts: Log[][]) => {
      const chain = anRpc({
        request: async (method) =>
          method === 'eth_getBlockByNumber'
            ? { number: '0x7', timestamp: '0x9' }
            : [{ ...use(0), topics: [topic], transactionHash, blockNumber: '0x7' }],
        everywhere: async () =>
          receipts.map((logs) => {
            const listed = logs.map((log) => ({ ...log, logIndex: `0x${log.index}` }))
            return { ok: true, value: { transactionHash, blockNumber: '0x7', logs: listed } }
          }),
      })
      return createAuthorizationUses(chain)(expected, 0, 100)
    }

    it('and distinguishes a cancelled authorization from a used one', async () => {
      const found = await findIn(topics.authorizationCanceled, [[use(0), transfer(1)]])
      expect(found).toEqual({ state: 'cancelled', transaction })
    })

    it('and says so when the expected transfer did not go with it', async () => {
      const found = await findIn(topics.authorizationUsed, [[use(0), transfer(1, 1n)]])
      expect(found).toEqual({ state: 'otherTransfer', transaction })
    })

    it.each([
      ['of another token', use(0, nonce, payTo)],
      ['of another payer', use(0, nonce, asset, payTo)],
      ['of another nonce', use(0, otherNonce)],
    ])('and believes no node whose receipt shows a use %s', async (_, log) => {
      const lie = [log, transfer(1)]
      const { authorizationUsed } = topics
      expect(await findIn(authorizationUsed, [lie])).toEqual({ state: 'unread', transaction })
      const truth = [use(0), transfer(5)]
      const found = await findIn(authorizationUsed, [lie, truth])
      expect(found).toMatchObject({ state: 'paid', transferLog: 5, minedAt: 9 })
    })
  })

  it('ends with a final answer once every block was searched for a minute', async () => {
    const findUse = search()
    expect(await findUse(expected, 100, 9_000)).toEqual({ state: 'notFound', isFinal: false })
    now = 59_999
    expect(await findUse(expected, 100, 9_100)).toEqual({ state: 'notFound', isFinal: false })
    asked = []
    now = 60_000
    expect(await findUse(expected, 100, 9_200)).toEqual({ state: 'notFound', isFinal: true })
    expect(asked).toEqual([{ from: 9_001, to: 9_200 }])
  })

  it('from an earlier block on is a search of its own: the blocks between were not searched', async () => {
    usedIn = 500
    const findUse = search()
    expect((await findUse(expected, 1_000, 9_000)).state).toBe('notFound')
    expect((await findUse(expected, 100, 9_000)).state).toBe('paid')
  })

  it('is remembered for the ten thousand that were asked last', async () => {
    const findUse = search()
    const of = (i: number) => ({ ...expected, nonce: numberToHex(i, { size: 32 }) })
    for (let i = 0; i < 10_001; i++) await findUse(of(i), 8_000, 9_000)
    asked = []
    await findUse(of(1), 8_000, 9_000)
    await findUse(of(0), 8_000, 9_000)
    expect(asked.map(({ from }) => from)).toEqual([8_901, 8_001])
  })

  it('is one for each token, payer and nonce', async () => {
    const findUse = search()
    await findUse(expected, 100, 9_000)
    asked = []
    for (const other of [{ asset: payTo }, { payer: payTo }, { nonce: otherNonce }]) {
      await findUse({ ...expected, ...other }, 100, 9_000)
    }
    // Each searches every block; one that is asked again, only those that may have been incomplete.
    await findUse(expected, 100, 9_000)
    expect(asked.map(({ from }) => from)).toEqual([4_001, 101, 4_001, 101, 4_001, 101, 8_901])
  })
})
