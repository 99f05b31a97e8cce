import type { Address, Hex } from 'viem'
import { toQuantity } from './abi.js'
import type { Rpc, RpcOptions } from './rpc.js'
import { isRevert, RpcResponseError, RpcUnavailableError } from './rpc-errors.js'

export interface Log {
  address: Address
  /** Its place among all logs of the block. */
  index: number
  topics: readonly Hex[]
  data: Hex
}

export interface Receipt {
  transactionHash: Hex
  blockNumber: number
  isSuccess: boolean
  gasUsed: bigint
  /** 18-decimal units per gas. */
  effectiveGasPrice: bigint
  logs: readonly Log[]
  /** The time of its block, Unix seconds; `undefined` where the node's logs do not say. */
  minedAt?: number
}

/** Reads receipts of these transactions; one that the node does not hold (yet) is left out: that is no failure. */
export async function readReceipts(rpc: Rpc, hashes: readonly Hex[]): Promise<Receipt[]> {
  if (hashes.length === 0) return []
  const results = await rpc.batch(
    hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
  )
  return results.flatMap((result) =>
    result.ok && result.value !== null ? [parse(result.value)] : [],
  )
}

/** Asks every node for one receipt, because the preferred one may be behind; the first that is `credible` counts. */
export async function findReceiptAnywhere(
  rpc: Rpc,
  hash: Hex,
  credible: (receipt: Receipt) => boolean = () => true,
): Promise<Receipt | undefined> {
  const results = await rpc.everywhere('eth_getTransactionReceipt', [hash])
  const receipts = results.flatMap((it) => (it.ok && it.value !== null ? [parse(it.value)] : []))
  return receipts.find(credible)
}

/** A node that refused `eth_getBlockReceipts` is asked for it again after this: the cause may have been another one. */
const ASK_AGAIN_MS = 600_000

/**
 * Makes the reader of a block's receipts: one `eth_getBlockReceipts`, or for ten minutes after a node refused that, one
 * batch of receipts of the wanted hashes. `now` is monotonic, for tests.
 */
export function createBlockReceiptsReader(rpc: Rpc, now: () => number = () => performance.now()) {
  let withoutUntil = Number.NEGATIVE_INFINITY
  return async (blockNumber: number, wanted: readonly Hex[]): Promise<Receipt[]> => {
    if (now() >= withoutUntil) {
      try {
        const answer = await rpc.request('eth_getBlockReceipts', [toQuantity(blockNumber)])
        if (Array.isArray(answer)) {
          const ours = new Set<unknown>(wanted)
          return answer.filter((item) => ours.has(item.transactionHash)).map(parse)
        }
      } catch (error) {
        if (error instanceof RpcResponseError && !isRevert(error))
          withoutUntil = now() + ASK_AGAIN_MS
      }
    }
    return readReceipts(rpc, wanted)
  }
}

function parse(value: unknown): Receipt {
  const receipt = value as Record<string, unknown>
  if (typeof receipt?.transactionHash !== 'string' || typeof receipt.blockNumber !== 'string') {
    throw new RpcUnavailableError('the chain node answered a receipt in another shape')
  }
  const logs = receipt.logs as Record<string, unknown>[]
  const minedAt = Number(logs[0]?.blockTimestamp)
  return {
    transactionHash: receipt.transactionHash.toLowerCase() as Hex,
    blockNumber: Number(receipt.blockNumber),
    isSuccess: receipt.status === '0x1',
    gasUsed: BigInt(String(receipt.gasUsed ?? 0)),
    effectiveGasPrice: BigInt(String(receipt.effectiveGasPrice ?? 0)),
    logs: logs.map(parseLog),
    ...(minedAt > 0 ? { minedAt } : {}),
  }
}

function parseLog(log: Record<string, unknown>): Log {
  const index = Number(log.logIndex)
  // Without its place it is unknown which transfer belongs to which authorization.
  if (typeof log.logIndex !== 'string' || !Number.isSafeInteger(index)) {
    throw new RpcUnavailableError('the chain node answered a log without its index')
  }
  return {
    address: String(log.address).toLowerCase() as Address,
    index,
    topics: log.topics as Hex[],
    data: log.data as Hex,
  }
}

/** A transaction as nodes show it; everything is in lower case. */
export interface Transaction {
  hash: Hex
  from: Address
  /** Absent where it creates a contract. */
  to: Address | undefined
  input: Hex
}

/** Reads transactions whose logs were seen, in the order of their hashes. Throws `RpcUnavailableError`. */
export async function readTransactions(rpc: Rpc, hashes: readonly Hex[]): Promise<Transaction[]> {
  const answers = await rpc.batch(
    hashes.map((hash) => ({ method: 'eth_getTransactionByHash', params: [hash] })),
  )
  return answers.map((answer, i) => {
    if (!answer.ok) throw answer.error
    const { from, to, input } = (answer.value ?? {}) as Record<string, unknown>
    if (typeof from !== 'string' || typeof input !== 'string') {
      throw new RpcUnavailableError('the chain node shows a log, and not its transaction')
    }
    return {
      hash: hashes[i] as Hex,
      from: from.toLowerCase() as Address,
      to: typeof to === 'string' ? (to.toLowerCase() as Address) : undefined,
      input: input.toLowerCase() as Hex,
    }
  })
}

export interface FoundLog {
  address: Address
  transactionHash: Hex
  blockNumber: Hex
  logIndex: Hex
  topics: readonly Hex[]
  data: Hex
}

/** The logs to find: a topic is one value, several alternatives, or any value (`null`). */
export interface LogFilter {
  address: Address | readonly Address[]
  topics: readonly (Hex | readonly Hex[] | null)[]
}

/** The blocks of a query, both included. */
export interface BlockRange {
  from: number
  to: number
}

/**
 * The most blocks of one log query: free nodes refuse more than 10,000, or never answer. Arc makes about two blocks a
 * second, so this is some 40 minutes.
 */
export const LOG_RANGE_BLOCKS = 5_000

/**
 * Reads the logs of one block from every node that has it, and joins them: a node that lacks some hides none. Throws
 * `RpcUnavailableError` when no node has the block.
 */
export async function readBlockLogs(
  rpc: Rpc,
  filter: LogFilter,
  blockNumber: number,
): Promise<FoundLog[]> {
  const block = (await rpc.request('eth_getBlockByNumber', [toQuantity(blockNumber), false])) as {
    hash?: Hex
  } | null
  // Asked by its hash, a node that lacks the block answers with an error, and not with no logs.
  const blockHash = block?.hash
  const answers =
    blockHash === undefined ? [] : await rpc.everywhere('eth_getLogs', [{ ...filter, blockHash }])
  const lists = answers.flatMap((answer) => (answer.ok ? [answer.value as FoundLog[]] : []))
  if (lists.length === 0) throw new RpcUnavailableError('no chain node has the logs of a block')
  return lists.flat()
}

/**
 * Reads all logs of a block that is not empty from the receipts of every node, for a second opinion on its logs;
 * `undefined` where no node gives them. Never rejects.
 */
export async function readReceiptLogs(
  rpc: Rpc,
  blockNumber: number,
): Promise<FoundLog[] | undefined> {
  const answers = await rpc.everywhere('eth_getBlockReceipts', [toQuantity(blockNumber)])
  const blocks = answers.flatMap((answer) =>
    answer.ok && Array.isArray(answer.value) && answer.value.length > 0 ? [answer.value] : [],
  )
  if (blocks.length === 0) return undefined
  return blocks.flat().flatMap(({ logs = [] }: { logs?: FoundLog[] }) => logs)
}

/**
 * Reads the logs of a range of blocks, however wide, the newest first. A node that refuses a part is asked for half of it.
 * Throws `RpcUnavailableError`, and `RpcResponseError` when even a single block is refused.
 */
export async function* readLogs(
  rpc: Rpc,
  filter: LogFilter,
  { from, to }: BlockRange,
  options?: RpcOptions,
): AsyncGenerator<FoundLog> {
  for (let last = to; last >= from; last -= LOG_RANGE_BLOCKS) {
    const first = Math.max(from, last - LOG_RANGE_BLOCKS + 1)
    yield* readPart(rpc, filter, { from: first, to: last }, options)
  }
}

async function* readPart(
  rpc: Rpc,
  filter: LogFilter,
  { from, to }: BlockRange,
  options?: RpcOptions,
): AsyncGenerator<FoundLog> {
  const range = { fromBlock: toQuantity(from), toBlock: toQuantity(to) }
  let logs: FoundLog[]
  try {
    logs = (await rpc.request('eth_getLogs', [{ ...filter, ...range }], options)) as FoundLog[]
  } catch (error) {
    if (!(error instanceof RpcResponseError) || from >= to) throw error
    const middle = Math.floor((from + to) / 2)
    yield* readPart(rpc, filter, { from: middle + 1, to }, options)
    yield* readPart(rpc, filter, { from, to: middle }, options)
    return
  }
  yield* logs.reverse()
}
