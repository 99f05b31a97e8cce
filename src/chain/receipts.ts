import type { Address, Hex } from 'viem'
import type { Rpc } from './rpc.js'
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
  /** 18-decimal units a gas. */
  effectiveGasPrice: bigint
  logs: readonly Log[]
}

/** Receipts of these transactions; one that the node does not hold (yet) is left out: that is no failure. */
export async function readReceipts(rpc: Rpc, hashes: readonly Hex[]): Promise<Receipt[]> {
  if (hashes.length === 0) return []
  const results = await rpc.batch(
    hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
  )
  return results.flatMap((result) =>
    result.ok && result.value !== null ? [parse(result.value)] : [],
  )
}

/** Asks every node for one receipt, for when the preferred one may be behind; the first that is `credible` counts. */
export async function findReceiptAnywhere(
  rpc: Rpc,
  hash: Hex,
  credible: (receipt: Receipt) => boolean = () => true,
): Promise<Receipt | undefined> {
  const results = await rpc.everywhere('eth_getTransactionReceipt', [hash])
  const told = results.flatMap((it) => (it.ok && it.value !== null ? [parse(it.value)] : []))
  return told.find(credible)
}

/** A node that refused `eth_getBlockReceipts` is asked for it again after this: it may have been trouble of another kind. */
const ASK_AGAIN_MS = 600_000

/**
 * Makes the reader of a block's receipts: one `eth_getBlockReceipts`, and for nodes without it one batch of
 * receipts of the wanted hashes, decided at a refusal for the next ten minutes. `now` is monotonic, for tests.
 */
export function createBlockReceiptsReader(rpc: Rpc, now: () => number = () => performance.now()) {
  let withoutUntil = Number.NEGATIVE_INFINITY
  return async (blockNumber: number, wanted: readonly Hex[]): Promise<Receipt[]> => {
    if (now() >= withoutUntil) {
      try {
        const answer = await rpc.request('eth_getBlockReceipts', [`0x${blockNumber.toString(16)}`])
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
  return {
    transactionHash: receipt.transactionHash.toLowerCase() as Hex,
    blockNumber: Number(receipt.blockNumber),
    isSuccess: receipt.status === '0x1',
    gasUsed: BigInt(String(receipt.gasUsed ?? 0)),
    effectiveGasPrice: BigInt(String(receipt.effectiveGasPrice ?? 0)),
    logs: (receipt.logs as Record<string, unknown>[]).map(parseLog),
  }
}

function parseLog(log: Record<string, unknown>): Log {
  const index = Number(log.logIndex)
  // Without its place nobody can say which transfer belongs to which authorization.
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
