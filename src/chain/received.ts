import type { Address } from 'viem'
import { addressTopic, topics } from './abi.js'
import { type BlockRange, type FoundLog, type LogFilter, readLogs } from './receipts.js'
import type { Rpc } from './rpc.js'

/** Arc logs each movement of the native coin here, in 18 decimals (EIP-7708); those of its token as well. */
const NATIVE_LOG: Address = '0xfffffffffffffffffffffffffffffffffffffffe'
const NATIVE_UNIT = 10n ** 12n
/** Free nodes take no wider range. */
const BLOCKS_AT_ONCE = 10_000
/** Some seven hours. */
const BLOCKS_AROUND = 50_000

/**
 * Reads how much of these tokens, and of the native coin, went from any of these addresses to another one in the hours
 * before and after a block, or before now, in units of 6 decimals. All addresses are in lower case. Throws `RpcUnavailableError` and `RpcResponseError`.
 */
export async function readReceived(
  rpc: Rpc,
  query: { assets: readonly Address[]; from: readonly Address[]; to: Address; block?: number },
): Promise<bigint> {
  const { assets, from, to } = query
  const filter = {
    address: [...assets, NATIVE_LOG],
    topics: [topics.transfer, from.map(addressTopic), addressTopic(to)],
  }
  const head = Number(await rpc.request('eth_blockNumber', []))
  const { block = head } = query
  const last = Math.min(head, block + BLOCKS_AROUND)
  let sum = 0n
  for (let start = Math.max(0, block - BLOCKS_AROUND); start <= last; start += BLOCKS_AT_ONCE) {
    const range = { from: start, to: Math.min(last, start + BLOCKS_AT_ONCE - 1) }
    sum += await readSum(rpc, filter, range)
  }
  return sum
}

/** Adds up what the logs of a range move. A token that is the native coin logs its movement twice in one transaction. */
async function readSum(rpc: Rpc, filter: LogFilter, range: BlockRange): Promise<bigint> {
  const sums = new Map<string, { token: bigint; native: bigint }>()
  for await (const log of readLogs(rpc, filter, range)) {
    const { address, data, transactionHash } = log as FoundLog & { address: Address }
    const sum = sums.get(transactionHash) ?? { token: 0n, native: 0n }
    if (address.toLowerCase() === NATIVE_LOG) sum.native += BigInt(data) / NATIVE_UNIT
    else sum.token += BigInt(data)
    sums.set(transactionHash, sum)
  }
  const largest = [...sums.values()].map(({ token, native }) => (token > native ? token : native))
  return largest.reduce((sum, one) => sum + one, 0n)
}
