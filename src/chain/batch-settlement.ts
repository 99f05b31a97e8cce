import { channelContracts } from '@arcus/protocol/x402/address'
import { type Address, encodeFunctionData, type Hex, parseAbi, toFunctionSelector } from 'viem'
import { addressTopic, toQuantity } from './abi.js'
import { type BlockRange, readLogs } from './receipts.js'
import type { Rpc } from './rpc.js'
import { RpcUnavailableError } from './rpc-errors.js'

const { settlement, erc3009Collector } = channelContracts
/** The contracts of `batch-settlement` that are called here. */
export const batchContracts = { settlement, erc3009Collector }

/** The views of the settlement contract that are read here. */
const batchAbi = parseAbi([
  'function channels(bytes32 channelId) view returns (uint128 balance, uint128 totalClaimed)',
  'function pendingWithdrawals(bytes32 channelId) view returns (uint128 amount, uint40 initiatedAt)',
  'function refundNonce(bytes32 channelId) view returns (uint256)',
  'function receivers(address receiver, address token) view returns (uint128 totalClaimed, uint128 totalSettled)',
])

/** Selector of channels(bytes32). */
const CHANNELS = toFunctionSelector('channels(bytes32)')

/** keccak256 of Settled(address,address,address,uint128): receiver, token and sender are its topics. */
export const settledTopic: Hex =
  '0x7337b4386b690fdb8ba66905b92b9d45d33bc6626ee2620c905fb150ec0cc47d'

/** keccak256 of Claimed(bytes32,address,uint128,uint128): channel and sender are its topics. */
export const claimedTopic: Hex =
  '0x36bd546bb573e8921fdbfd934bbed62d872796b01792cd240cce27f79dd3eddd'

/** keccak256 of Refunded(bytes32,address,uint128): channel and sender are its topics. */
export const refundedTopic: Hex =
  '0xa84286cf8ebc7903a663c77c8d99aa92b600d4c2fcca872a5d4a663db4eb394b'

export interface Channel {
  balance: bigint
  totalClaimed: bigint
  /** Unix seconds; 0 when no withdrawal is under way. */
  withdrawRequestedAt: number
  refundNonce: bigint
}

/** Reads a channel at a block. Throws `RpcUnavailableError`. */
export async function readChannel(
  rpc: Rpc,
  channelId: Hex,
  block: number | 'latest',
): Promise<Channel> {
  const args = [channelId] as const
  const [channel, withdrawal, nonce] = await readAt(rpc, block, [
    encodeFunctionData({ abi: batchAbi, functionName: 'channels', args }),
    encodeFunctionData({ abi: batchAbi, functionName: 'pendingWithdrawals', args }),
    encodeFunctionData({ abi: batchAbi, functionName: 'refundNonce', args }),
  ])
  const [balance = 0n, totalClaimed = 0n] = decode(channel, 2)
  const [, initiatedAt] = decode(withdrawal, 2)
  const [refundNonce = 0n] = decode(nonce, 1)
  return { balance, totalClaimed, withdrawRequestedAt: Number(initiatedAt), refundNonce }
}

/** Reads what was put into each channel, and how much of it is claimed. Throws `RpcUnavailableError`. */
export async function readBalances(
  rpc: Rpc,
  channelIds: readonly Hex[],
  block: number | 'latest',
): Promise<{ balance: bigint; totalClaimed: bigint }[]> {
  // A claim reads many, and the call is a selector and one word.
  const calls = channelIds.map((channelId): Hex => `${CHANNELS}${channelId.slice(2)}`)
  return (await readAt(rpc, block, calls)).map((answer) => {
    const [balance = 0n, totalClaimed = 0n] = decode(answer, 2)
    return { balance, totalClaimed }
  })
}

/** Reads the total that a receiver has claimed and the part of it that was paid out. Throws `RpcUnavailableError`. */
export async function readReceiver(
  rpc: Rpc,
  receiver: Address,
  token: Address,
  block: number | 'latest',
): Promise<{ totalClaimed: bigint; totalSettled: bigint }> {
  const args = [receiver, token] as const
  const data = encodeFunctionData({ abi: batchAbi, functionName: 'receivers', args })
  const [answer] = await readAt(rpc, block, [data])
  const [totalClaimed = 0n, totalSettled = 0n] = decode(answer, 2)
  return { totalClaimed, totalSettled }
}

/** Reads the newest block of the preferred node. Throws `RpcUnavailableError`. */
export async function readHead(rpc: Rpc): Promise<number> {
  return Number(await rpc.request('eth_blockNumber', []))
}

/** One search goes back this far at most: a day on Arc. */
const MAX_SEARCHED_BLOCKS = 200_000

/** An event of the settlement contract, and its transaction. */
export interface SettlementLog {
  transactionHash: Hex
  blockNumber: number
  data: Hex
}

/** Reads the events with these topics between two blocks, the newest first. Throws `RpcUnavailableError`. */
export async function* readSettlementLogs(
  rpc: Rpc,
  topics: readonly (Hex | null)[],
  blocks: BlockRange,
): AsyncGenerator<SettlementLog> {
  const filter = { address: batchContracts.settlement, topics }
  const from = Math.max(blocks.from, blocks.to - MAX_SEARCHED_BLOCKS + 1)
  for await (const log of readLogs(rpc, filter, { from, to: blocks.to })) {
    const { transactionHash, blockNumber, data } = log
    yield { transactionHash, blockNumber: Number(blockNumber), data }
  }
}

/**
 * Finds the event in which a total of a channel was claimed: the one that rose from below it to it or above.
 * Throws `RpcUnavailableError`.
 */
export async function findClaim(
  rpc: Rpc,
  { channelId, totalClaimed }: { channelId: Hex; totalClaimed: bigint },
  blocks: BlockRange,
): Promise<SettlementLog | undefined> {
  for await (const log of readSettlementLogs(rpc, [claimedTopic, channelId], blocks)) {
    const [amount = 0n, newTotal = 0n] = decode(log.data, 2)
    if (newTotal < totalClaimed) return undefined
    if (newTotal - amount < totalClaimed) return log
  }
  return undefined
}

/**
 * Finds the payout that followed on a total paid out before; without that total, the newest payout. The totals
 * distinguish payouts, because their amounts may be the same. Throws `RpcUnavailableError`.
 */
export async function findPayout(
  rpc: Rpc,
  { receiver, token }: { receiver: Address; token: Address },
  blocks: BlockRange,
  settledBefore?: bigint,
): Promise<(SettlementLog & { settledBefore: bigint }) | undefined> {
  let { totalSettled } = await readReceiver(rpc, receiver, token, blocks.to)
  const topics = [settledTopic, addressTopic(receiver), addressTopic(token)]
  for await (const log of readSettlementLogs(rpc, topics, blocks)) {
    const [amount = 0n] = decode(log.data, 1)
    const before = totalSettled - amount
    if (settledBefore === undefined || before === settledBefore) {
      // A node may show a block without its newest logs; then the totals are wrong.
      const then = await readReceiver(rpc, receiver, token, log.blockNumber).catch(() => undefined)
      const isSound = then === undefined || then.totalSettled >= totalSettled
      return isSound ? { ...log, settledBefore: before } : undefined
    }
    if (before < settledBefore) return undefined
    totalSettled = before
  }
  return undefined
}

async function readAt(
  rpc: Rpc,
  block: number | 'latest',
  calls: readonly Hex[],
): Promise<(Hex | undefined)[]> {
  const at = block === 'latest' ? block : toQuantity(block)
  const answers = await rpc.batch(
    calls.map((data) => ({
      method: 'eth_call',
      params: [{ to: batchContracts.settlement, data }, at],
    })),
  )
  return answers.map((answer) => (answer.ok ? (answer.value as Hex) : undefined))
}

/** Decodes the ABI words of an answer; every view here returns plain numbers. */
function decode(data: Hex | undefined, count: number): bigint[] {
  const digits = data?.slice(2) ?? ''
  if (digits.length !== count * 64) {
    throw new RpcUnavailableError('the settlement contract gave an unreadable answer')
  }
  return Array.from({ length: count }, (_, i) => BigInt(`0x${digits.slice(i * 64, i * 64 + 64)}`))
}
