import type { Address, Hex } from 'viem'
import { addressOf, addressWord, topics, toQuantity, wordOf } from './abi.js'
import { findReceiptAnywhere, type Log, type Receipt } from './receipts.js'
import type { Rpc } from './rpc.js'
import { RpcResponseError } from './rpc-errors.js'

/** A payment as its logs must show it. */
export interface ExpectedTransfer {
  asset: Address
  payer: Address
  payTo: Address
  value: bigint
  nonce: Hex
}

/** How a used authorization ended on chain. */
export type AuthorizationUse =
  /** The expected transfer went with it. */
  | { state: 'paid'; receipt: Receipt }
  /** The nonce was consumed by another authorization of the same payer. */
  | { state: 'otherTransfer'; transaction: Hex }
  | { state: 'cancelled'; transaction: Hex }
  /** Used by this transaction, whose receipt no node shows yet. */
  | { state: 'unread'; transaction: Hex }
  | { state: 'notFound'; transaction?: undefined }

/** Nodes bound the range of a log query; Arc makes about two blocks a second, so this is some 40 minutes. */
const RANGE_BLOCKS = 5_000
/** More ranges than any authorization waits in practice; what is older is answered without its hash. */
const MAX_RANGES = 40

/** Whether the logs of one transaction carry the authorization's use *and* its transfer, both by the asset itself. */
export function isPaidBy(logs: readonly Log[], expected: ExpectedTransfer): boolean {
  return isUsedIn(logs, expected) && hasTransfer(logs, expected)
}

/** Whether the logs carry the use of the authorization's nonce, with whatever transfer. */
export function isUsedIn(logs: readonly Log[], { asset, payer, nonce }: ExpectedTransfer): boolean {
  return logs.some(
    (log) =>
      log.address === asset &&
      log.topics[0] === topics.authorizationUsed &&
      addressOf(log.topics[1] ?? '') === payer &&
      log.topics[2]?.toLowerCase() === nonce,
  )
}

function hasTransfer(logs: readonly Log[], { asset, payer, payTo, value }: ExpectedTransfer) {
  return logs.some(
    (log) =>
      log.address === asset &&
      log.topics[0] === topics.transfer &&
      addressOf(log.topics[1] ?? '') === payer &&
      addressOf(log.topics[2] ?? '') === payTo &&
      log.data === `0x${wordOf(value)}`,
  )
}

/**
 * Finds the transaction that used or cancelled an authorization, newest blocks first, between the block of
 * first sight and the head. Throws `RpcUnavailableError`.
 */
export async function findAuthorizationUse(
  rpc: Rpc,
  expected: ExpectedTransfer,
  fromBlock: number,
  headBlock: number,
): Promise<AuthorizationUse> {
  let to = headBlock
  for (let i = 0; i < MAX_RANGES && to >= fromBlock; i++) {
    const from = Math.max(fromBlock, to - RANGE_BLOCKS + 1)
    const found = await findInRange(rpc, expected, from, to)
    if (found !== undefined) return found
    to = from - 1
  }
  return { state: 'notFound' }
}

async function findInRange(
  rpc: Rpc,
  expected: ExpectedTransfer,
  from: number,
  to: number,
): Promise<AuthorizationUse | undefined> {
  const either = [topics.authorizationUsed, topics.authorizationCanceled]
  const filter = {
    address: expected.asset,
    fromBlock: toQuantity(from),
    toBlock: toQuantity(to),
    topics: [either, `0x${addressWord(expected.payer)}`, expected.nonce],
  }
  const logs = await readLogs(rpc, filter)
  const log = logs[logs.length - 1]
  if (log === undefined) return undefined
  const transaction = log.transactionHash.toLowerCase() as Hex
  if (log.topics[0] === topics.authorizationCanceled) return { state: 'cancelled', transaction }
  // A receipt without the log that led to it is not this transaction's.
  const isOfUse = ({ logs }: Receipt) => isUsedIn(logs, expected)
  const receipt = await findReceiptAnywhere(rpc, transaction, isOfUse)
  if (receipt === undefined) return { state: 'unread', transaction }
  return isPaidBy(receipt.logs, expected)
    ? { state: 'paid', receipt }
    : { state: 'otherTransfer', transaction }
}

/** A node that refuses the range is asked for half of it. */
async function readLogs(
  rpc: Rpc,
  filter: { fromBlock: string; toBlock: string },
): Promise<(Log & { transactionHash: string })[]> {
  try {
    return (await rpc.request('eth_getLogs', [filter])) as (Log & { transactionHash: string })[]
  } catch (error) {
    const from = Number(filter.fromBlock)
    const to = Number(filter.toBlock)
    if (!(error instanceof RpcResponseError) || from >= to) throw error
    const middle = Math.floor((from + to) / 2)
    const newer = await readLogs(rpc, { ...filter, fromBlock: toQuantity(middle + 1) })
    return newer.length > 0 ? newer : readLogs(rpc, { ...filter, toBlock: toQuantity(middle) })
  }
}
