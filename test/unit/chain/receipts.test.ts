import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  type BlockRange,
  createBlockReceiptsReader,
  readLogs,
  readReceipts,
} from '../../../src/chain/receipts.js'
import { createRpc, type Rpc } from '../../../src/chain/rpc.js'
import { aNode, type Behaviour, type Call, failing, hanging, type Node } from './a-node.js'

const hash = `0x${'ab'.repeat(32)}` as const
const receipt = {
  transactionHash: hash,
  blockNumber: '0x7',
  status: '0x1',
  gasUsed: '0x5',
  logs: [],
}

let node: Node
let rpc: Rpc
beforeAll(async () => {
  node = await aNode()
  rpc = createRpc([node.url])
})
afterAll(async () => {
  await rpc.close()
  await node.close()
})

it('reads receipts one by one where a node has none by block, and tries by block again later', async () => {
  let now = 0
  const read = createBlockReceiptsReader(rpc, () => now)
  node.behave((calls, request, response) =>
    calls.some(({ method }) => method === 'eth_getBlockReceipts')
      ? failing(-32601, 'the method does not exist')(calls, request, response)
      : { jsonrpc: '2.0', id: calls[0]?.id, result: receipt },
  )
  const methodsOf = async () => {
    const before = node.requests.length
    expect(await read(7, [hash])).toMatchObject([{ transactionHash: hash, isSuccess: true }])
    return node.requests.slice(before).flat()
  }
  expect(await methodsOf()).toEqual(['eth_getBlockReceipts', 'eth_getTransactionReceipt'])
  expect(await methodsOf()).toEqual(['eth_getTransactionReceipt'])
  now += 600_000
  expect(await methodsOf()).toEqual(['eth_getBlockReceipts', 'eth_getTransactionReceipt'])
})

it('reads only the wanted receipts of a block, in one request', async () => {
  const other = { ...receipt, transactionHash: `0x${'cd'.repeat(32)}` }
  node.behave((calls) => ({ jsonrpc: '2.0', id: calls[0]?.id, result: [other, receipt] }))
  const before = node.requests.length
  const found = await createBlockReceiptsReader(rpc)(7, [hash])
  expect(found.map(({ transactionHash }) => transactionHash)).toEqual([hash])
  expect(node.requests.slice(before)).toEqual([['eth_getBlockReceipts']])
})

/** Has the node answer each call with the next of these results, the last for all others. */
function answerWith(...results: unknown[]): void {
  node.behave((calls) => {
    const answers = calls.map(({ id }, i) => {
      return { jsonrpc: '2.0', id, result: results[Math.min(i, results.length - 1)] }
    })
    return answers.length === 1 ? answers[0] : answers
  })
}

it('reads a transaction as successful only when the chain says so', async () => {
  answerWith(...['0x1', '0x0', undefined].map((status) => ({ ...receipt, status })))
  const found = await readReceipts(rpc, [hash, hash, hash])
  expect(found.map(({ isSuccess }) => isSuccess)).toEqual([true, false, false])
})

it.each([
  ['no hash', { transactionHash: null }],
  ['no block', { blockNumber: null }],
  ['a block in another form', { blockNumber: 7 }],
])('believes no receipt with %s', async (_, changes) => {
  answerWith({ ...receipt, ...changes })
  await expect(readReceipts(rpc, [hash])).rejects.toThrow('a receipt in another shape')
})

it('knows the time of a transaction where its logs say it', async () => {
  const at = (blockTimestamp?: string) => {
    const log = { address: hash, topics: [], data: '0x', logIndex: '0x0', blockTimestamp }
    return { ...receipt, logs: [log] }
  }
  answerWith(at('0x9'), at('0x0'), at(), receipt)
  const found = await readReceipts(rpc, [hash, hash, hash, hash])
  expect(found.map(({ minedAt }) => minedAt)).toEqual([9, undefined, undefined, undefined])
})

it('believes no log without its place in the block', async () => {
  const withIndex = (logIndex: unknown) => {
    return { ...receipt, logs: [{ address: hash, topics: [], data: '0x', logIndex }] }
  }
  answerWith(withIndex('0x3'))
  expect(await readReceipts(rpc, [hash])).toMatchObject([{ logs: [{ index: 3 }] }])
  for (const missing of [undefined, null, 3, 'first']) {
    answerWith(withIndex(missing))
    await expect(readReceipts(rpc, [hash])).rejects.toThrow('a log without its index')
  }
})

const refusing = failing(-32_614, 'eth_getLogs is limited to a 10,000 range')

it.each<[string, Behaviour]>([
  ['refuses more than 10,000 blocks', refusing],
  ['never answers for more than 10,000 blocks', hanging],
])(
  'a node that %s is asked for every block of a wide range once, the newest first',
  async (_, wide) => {
    const asked: BlockRange[] = []
    node.behave((calls, request, response) => {
      const [{ id, params }] = calls as [Call]
      const [{ fromBlock, toBlock }] = params as [Record<string, string>]
      const [from, to] = [Number(fromBlock), Number(toBlock)]
      asked.push({ from, to })
      if (to - from >= 10_000) return wide(calls, request, response)
      return {
        jsonrpc: '2.0',
        id,
        result: [fromBlock, toBlock].map((blockNumber) => ({ blockNumber })),
      }
    })
    const found: number[] = []
    const filter = { address: `0x${'ab'.repeat(20)}`, topics: [] } as const
    for await (const { blockNumber } of readLogs(rpc, filter, { from: 7, to: 27_006 })) {
      found.push(Number(blockNumber))
    }
    expect(found).toEqual(found.toSorted((a, b) => b - a))
    expect([found.at(-1), found[0]]).toEqual([7, 27_006])
    asked.slice(1).forEach(({ to }, i) => {
      expect(to).toBe((asked[i] as BlockRange).from - 1)
    })
  },
)
