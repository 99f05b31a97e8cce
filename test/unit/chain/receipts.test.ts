import { afterAll, beforeAll, expect, it } from 'vitest'
import { createBlockReceiptsReader } from '../../../src/chain/receipts.js'
import { createRpc, type Rpc } from '../../../src/chain/rpc.js'
import { aNode, failing, type Node } from './a-node.js'

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
