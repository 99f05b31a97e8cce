import type { Address, Hex } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { addressWord, topics, wordOf } from '../../../src/chain/abi.js'
import { createAuthorizationUses, findOwnTransfer } from '../../../src/chain/authorization-uses.js'
import type { Log } from '../../../src/chain/receipts.js'
import type { Rpc } from '../../../src/chain/rpc.js'

const asset: Address = '0x3600000000000000000000000000000000000000'
const payer: Address = `0x${'a1'.repeat(20)}`
const payTo: Address = `0x${'b2'.repeat(20)}`
const nonce: Hex = `0x${'c3'.repeat(32)}`
const otherNonce: Hex = `0x${'c4'.repeat(32)}`
const expected = { asset, payer, payTo, value: 10_000n, nonce }
const transactionHash: Hex = `0x${'aa'.repeat(32)}`
const topic = (address: Address): Hex => `0x${addressWord(address)}`

const use = (index: number, of = nonce, address = asset): Log => ({
  address,
  index,
  topics: [topics.authorizationUsed, topic(payer), of],
  data: '0x',
})
const transfer = (index: number, value = 10_000n, address = asset): Log => ({
  address,
  index,
  topics: [topics.transfer, topic(payer), topic(payTo)],
  data: `0x${wordOf(value)}`,
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
    ['another nonce was used', [use(1, otherNonce), transfer(2)]],
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

  const rpc = {
    async request(method: string, [filter]: [{ fromBlock: Hex; toBlock: Hex }]) {
      if (method === 'eth_getBlockByNumber') return { number: filter, timestamp: '0x7' }
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
  } as unknown as Rpc
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
})
