import { expect, it } from 'vitest'
import { wordOf } from '../../../src/chain/abi.js'
import { findClaim, findPayout } from '../../../src/chain/batch-settlement.js'
import type { Rpc, RpcResult } from '../../../src/chain/rpc.js'
import { RpcResponseError } from '../../../src/chain/rpc-errors.js'
import { anRpc } from '../../support/an-rpc.js'

const receiver = '0x00000000000000000000000000000000000000aa'
const token = '0x3600000000000000000000000000000000000000'
const channelId = `0x${'cc'.repeat(32)}` as const
const hashOf = (block: number) => `0x${wordOf(block)}` as const

interface Event {
  block: number
  words: bigint[]
}

/** A node that knows these events of one kind, except for those that it does not show yet. */
function aNode(events: Event[], { hidden = 0, pruned = false } = {}): Rpc {
  const shown = events.slice(0, events.length - hidden)
  return anRpc({
    async request(_, [filter]) {
      const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string }
      const isIn = ({ block }: Event) => block >= Number(fromBlock) && block <= Number(toBlock)
      return shown.filter(isIn).map(({ block, words }) => ({
        transactionHash: hashOf(block),
        blockNumber: `0x${block.toString(16)}`,
        data: `0x${words.map(wordOf).join('')}`,
      }))
    },
    async batch(calls) {
      return calls.map(({ params: [, at] }): RpcResult => {
        const block = Number(at)
        const newest = events.at(-1)?.block ?? 0
        if (pruned && block <= newest) {
          return { ok: false, error: new RpcResponseError(-32000, 'pruned', undefined) }
        }
        const settled = events
          .map((it) => (it.block <= block ? (it.words[0] ?? 0n) : 0n))
          .reduce((sum, amount) => sum + amount, 0n)
        return { ok: true, value: `0x${wordOf(settled)}${wordOf(settled)}` }
      })
    },
  })
}

const payouts = [5, 6, 7].map((block) => ({ block, words: [1_000n] }))
const blocks = { from: 0, to: 9 }
const who = { receiver, token } as const

it('distinguishes payouts of the same amount by the total paid out before', async () => {
  for (const node of [aNode(payouts), aNode(payouts, { pruned: true })]) {
    for (const [i, { block }] of payouts.entries()) {
      const before = BigInt(i) * 1_000n
      const found = await findPayout(node, who, blocks, before)
      expect(found).toMatchObject({ transactionHash: hashOf(block), settledBefore: before })
    }
    expect(await findPayout(node, who, blocks, 500n)).toBeUndefined()
    expect(await findPayout(node, who, blocks)).toMatchObject({ settledBefore: 2_000n })
  }
})

it('names no payout from the logs of a node that does not show the newest yet', async () => {
  const node = aNode(payouts, { hidden: 1 })
  expect(await findPayout(node, who, blocks, 2_000n)).toBeUndefined()
  expect(await findPayout(node, who, blocks)).toBeUndefined()
})

it('finds the claim that reached a total, not one before or after it', async () => {
  const claims = [
    { block: 3, words: [3_000n, 3_000n] },
    { block: 5_500, words: [2_000n, 5_000n] },
    { block: 9_000, words: [1_000n, 6_000n] },
  ]
  const find = (totalClaimed: bigint, hidden = 0) =>
    findClaim(aNode(claims, { hidden }), { channelId, totalClaimed }, { from: 0, to: 9_500 })
  expect(await find(3_000n)).toMatchObject({ blockNumber: 3 })
  expect(await find(3_001n)).toMatchObject({ blockNumber: 5_500 })
  expect(await find(5_000n)).toMatchObject({ blockNumber: 5_500 })
  expect(await find(6_000n)).toMatchObject({ blockNumber: 9_000 })
  expect(await find(6_000n, 1)).toBeUndefined()
  expect(await find(6_001n)).toBeUndefined()
})
