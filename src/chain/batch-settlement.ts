import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { addressWord, multicall3Address, toQuantity } from './abi.js'
import { type Receipt, readReceipts } from './receipts.js'
import type { Rpc } from './rpc.js'
import { RpcUnavailableError } from './rpc-errors.js'

/** Where x402 has them on every chain; lower-case. */
export const batchContracts = {
  settlement: '0x4020074e9df2ce1dee5a9c1b5c3f541d02a10003',
  erc3009Collector: '0x4020806089470a89826cb9fb1f4059150b550004',
} as const satisfies Record<string, Address>

/** What is read of the settlement contract. */
const batchAbi = parseAbi([
  'function channels(bytes32 channelId) view returns (uint128 balance, uint128 totalClaimed)',
  'function pendingWithdrawals(bytes32 channelId) view returns (uint128 amount, uint40 initiatedAt)',
  'function refundNonce(bytes32 channelId) view returns (uint256)',
  'function receivers(address receiver, address token) view returns (uint128 totalClaimed, uint128 totalSettled)',
])

/** keccak256 of Settled(address,address,address,uint128): receiver, token and sender are its topics. */
export const settledTopic: Hex =
  '0x7337b4386b690fdb8ba66905b92b9d45d33bc6626ee2620c905fb150ec0cc47d'

/** keccak256 of Claimed(bytes32,address,uint128,uint128): channel and sender are its topics. */
export const claimedTopic: Hex =
  '0x36bd546bb573e8921fdbfd934bbed62d872796b01792cd240cce27f79dd3eddd'

export interface Channel {
  balance: bigint
  totalClaimed: bigint
  /** Unix seconds, 0 when no withdrawal is under way. */
  withdrawRequestedAt: number
  refundNonce: bigint
}

/** Whether both contracts, and Multicall3 through which they are read, have code. Throws `RpcUnavailableError`. */
export async function readHasBatchSettlement(rpc: Rpc): Promise<boolean> {
  const addresses = [batchContracts.settlement, batchContracts.erc3009Collector, multicall3Address]
  const codes = await rpc.batch(
    addresses.map((address) => ({ method: 'eth_getCode', params: [address, 'latest'] })),
  )
  return codes.every((code) => code.ok && typeof code.value === 'string' && code.value.length > 2)
}

/** A channel as it stood at a block. Throws `RpcUnavailableError`. */
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

/** What is claimed of each channel. Throws `RpcUnavailableError`. */
export async function readClaimed(
  rpc: Rpc,
  channelIds: readonly Hex[],
  block: number | 'latest',
): Promise<bigint[]> {
  const calls = channelIds.map((channelId) =>
    encodeFunctionData({ abi: batchAbi, functionName: 'channels', args: [channelId] }),
  )
  return (await readAt(rpc, block, calls)).map((answer) => decode(answer, 2)[1] ?? 0n)
}

/** What a receiver has claimed and what of it was paid out. Throws `RpcUnavailableError`. */
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

/** The head that the preferred node knows. Throws `RpcUnavailableError`. */
export async function readHead(rpc: Rpc): Promise<number> {
  return Number(await rpc.request('eth_blockNumber', []))
}

/** A topic that names an address. */
export function addressTopic(address: Address): Hex {
  return `0x${addressWord(address)}`
}

/** Blocks one log query spans, as nodes bound it. */
const RANGE_BLOCKS = 5_000
const MAX_RANGES = 40

/**
 * The newest transaction, between two blocks, in which the settlement contract logged these topics and which `fits`.
 * Throws `RpcUnavailableError`.
 */
export async function findSettlementReceipt(
  rpc: Rpc,
  topics: readonly (Hex | null)[],
  blocks: { from: number; to: number },
  fits: (receipt: Receipt) => boolean,
): Promise<Receipt | undefined> {
  let to = blocks.to
  for (let i = 0; i < MAX_RANGES && to >= blocks.from; i++) {
    const from = Math.max(blocks.from, to - RANGE_BLOCKS + 1)
    const range = { fromBlock: toQuantity(from), toBlock: toQuantity(to) }
    const filter = { address: batchContracts.settlement, topics, ...range }
    const logs = (await rpc.request('eth_getLogs', [filter])) as { transactionHash: Hex }[]
    const hashes = new Set(logs.map(({ transactionHash }) => transactionHash).reverse())
    for (const receipt of await readReceipts(rpc, [...hashes])) if (fits(receipt)) return receipt
    to = from - 1
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

/** The ABI words of an answer; every view here gives plain numbers. */
function decode(data: Hex | undefined, count: number): bigint[] {
  const digits = data?.slice(2) ?? ''
  if (digits.length !== count * 64) {
    throw new RpcUnavailableError('the settlement contract gave no answer that can be read')
  }
  return Array.from({ length: count }, (_, i) => BigInt(`0x${digits.slice(i * 64, i * 64 + 64)}`))
}
