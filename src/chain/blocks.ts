import type { Hex } from 'viem'
import type { Rpc } from './rpc.js'
import { RpcUnavailableError } from './rpc-errors.js'

/** The head of a block; fees in native 18-decimal units, timestamp in Unix seconds. */
export interface Block {
  number: number
  timestamp: number
  baseFeePerGas: bigint
  gasLimit: bigint
  transactions: readonly Hex[]
}

/** Reads one block without its transactions' bodies; `undefined` when the node has none of that number. */
export async function readBlock(rpc: Rpc, at: number | 'latest'): Promise<Block | undefined> {
  const tag = at === 'latest' ? at : `0x${at.toString(16)}`
  const block = await rpc.request('eth_getBlockByNumber', [tag, false])
  return block === null ? undefined : parseBlock(block)
}

/** Reads a range of blocks in one round trip; ends early where the node's chain ends. */
export async function readBlocks(rpc: Rpc, from: number, to: number): Promise<Block[]> {
  const numbers = Array.from({ length: to - from + 1 }, (_, i) => from + i)
  const results = await rpc.batch(
    numbers.map((number) => ({
      method: 'eth_getBlockByNumber',
      params: [`0x${number.toString(16)}`, false],
    })),
  )
  const blocks: Block[] = []
  for (const result of results) {
    if (!result.ok || result.value === null) break
    blocks.push(parseBlock(result.value))
  }
  return blocks
}

function parseBlock(value: unknown): Block {
  const block = value as Record<string, unknown>
  if (typeof block?.number !== 'string' || typeof block.timestamp !== 'string') {
    throw new RpcUnavailableError('the chain node answered a block in another shape')
  }
  return {
    number: Number(block.number),
    timestamp: Number(block.timestamp),
    baseFeePerGas: BigInt((block.baseFeePerGas as string | undefined) ?? 0),
    gasLimit: BigInt((block.gasLimit as string | undefined) ?? 30_000_000),
    transactions: (block.transactions as Hex[] | undefined) ?? [],
  }
}
