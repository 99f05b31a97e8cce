import { permit2Contracts } from '@arcus/protocol/x402/address'
import type { Hex } from 'viem'
import {
  addressOf,
  addressTopic,
  addressWord,
  callsOf,
  selectors,
  topics,
  toQuantity,
  wordOf,
} from './abi.js'
import {
  type AuthorizationUse,
  createUseSearch,
  type FindAuthorizationUse,
  type FoundUse,
} from './authorization-uses.js'
import { readBlock } from './blocks.js'
import { createCallTraces, type ReadEffectiveCalls } from './call-trace.js'
import {
  findSettlement,
  isSettleCall,
  type Permit2Transfer,
  proxyOf,
  readSettlements,
  relationOf,
} from './permit2.js'
import {
  type BlockRange,
  type FoundLog,
  findReceiptAnywhere,
  LOG_RANGE_BLOCKS,
  type LogFilter,
  type Receipt,
  readBlockLogs,
  readLogs,
  readReceiptLogs,
  readTransactions,
  type Transaction,
} from './receipts.js'
import type { NodeResult, Rpc } from './rpc.js'
import { RpcResponseError, RpcUnavailableError } from './rpc-errors.js'

const { permit2 } = permit2Contracts

/** The transactions that are read in one round trip. */
const TRANSACTIONS_AT_ONCE = 50
/** Traces cost a node much: transactions beyond this number count as untraced. */
const MAX_TRACES = 10
/** The heights at which a bit of the nonces is read in one round trip. */
const HEIGHTS_AT_ONCE = 8

/**
 * Makes the search for settlements and cancellations of Permit2 authorizations; `now` is monotonic, for tests.
 *
 * Permit2 keeps a bit for each nonce, and logs only its cancellation. Where the logs do not prove the use, the block in
 * which the bit was set is found by reading it at several heights: whatever used the nonce is in that block. Nodes that do
 * not keep the state of old blocks are asked for the logs of every block instead.
 */
export function createPermit2Uses(
  rpc: Rpc,
  now?: () => number,
): FindAuthorizationUse<Permit2Transfer> {
  const traces = createCallTraces(rpc, now)
  const createSearch = (readCalls: ReadEffectiveCalls) =>
    createUseSearch(
      // The same authorization of `upto` may have been sent with several amounts.
      ({ payer, nonce, asset, value }: Permit2Transfer) => `${payer}/${nonce}/${asset}/${value}`,
      (expected, blocks) => findInRange(rpc, expected, blocks, readCalls),
      now,
    )
  const search = createSearch(traces)
  const searchHint = createSearch(noTraces)

  return async (expected, afterBlock, headBlock, purpose) => {
    if (purpose === 'hint') return searchHint(expected, afterBlock, headBlock)
    // Most uses are recent and plain, and then the logs of some blocks are all that it takes.
    const isRecent = afterBlock < headBlock && headBlock - afterBlock <= LOG_RANGE_BLOCKS
    const blocks = { from: afterBlock + 1, to: headBlock }
    const plain = isRecent ? await findInRange(rpc, expected, blocks, noTraces) : undefined
    if (plain !== undefined && !isDoubtful(plain.use)) return plain.use
    const guess = plain?.blockNumber
    const block = await findBlockOfUse(rpc, expected, [afterBlock, headBlock], guess)
    if (block === undefined) return search(expected, afterBlock, headBlock)
    const logs = await readBlockLogs(rpc, filterOf(expected), block)
    const found = await findAmong(rpc, expected, logs, traces, () => true)
    if (found !== undefined) return found.use
    // Nothing but the state shows this end, so no node may say otherwise, and none may hide logs.
    const all = await readReceiptLogs(rpc, block)
    const hidden = all && (await findAmong(rpc, expected, all, traces, () => true))
    if (hidden !== undefined) return hidden.use
    return all !== undefined && (await isAgreed(rpc, expected, block))
      ? { state: 'otherUse', blockNumber: block }
      : search(expected, afterBlock, headBlock)
  }
}

const noTraces: ReadEffectiveCalls = async () => undefined

/** Returns whether a trace, or another block, may show another end than this. */
function isDoubtful({ state }: AuthorizationUse): boolean {
  return state === 'cancelled' || state === 'untraced'
}

/**
 * Finds the block in which the nonce was used, among those after the first of these and up to the last; `guess` is tried
 * before the others. Returns `undefined` where nodes do not have the state of these blocks, or the nonce was used before.
 */
async function findBlockOfUse(
  rpc: Rpc,
  expected: Permit2Transfer,
  [afterBlock, headBlock]: readonly [number, number],
  guess: number | undefined,
): Promise<number | undefined> {
  let [unused, used] = [afterBlock, headBlock]
  try {
    if (unused >= used) return undefined
    if (guess !== undefined) {
      const [before, after] = await readBits(rpc, expected, [guess - 1, guess])
      if (before === false && after === true) return guess
    }
    const ends = await readBits(rpc, expected, [unused, used])
    if (ends[0] !== false || ends[1] !== true) return undefined
    while (used - unused > 1) {
      const step = Math.max(1, Math.ceil((used - unused) / HEIGHTS_AT_ONCE))
      const heights: number[] = []
      for (let at = unused + step; at < used; at += step) heights.push(at)
      const bits = await readBits(rpc, expected, heights)
      const first = bits.indexOf(true)
      ;[unused, used] = [
        (first < 0 ? heights.at(-1) : heights[first - 1]) ?? unused,
        (first < 0 ? undefined : heights[first]) ?? used,
      ]
    }
    return used
  } catch (error) {
    // Some nodes call a state that they no longer keep an unknown block.
    if (error instanceof RpcResponseError || error instanceof RpcUnavailableError) return undefined
    throw error
  }
}

/** Returns whether every node that answers shows the nonce used in this block and unused before it. */
async function isAgreed(rpc: Rpc, expected: Permit2Transfer, block: number): Promise<boolean> {
  const [before, after] = await Promise.all(
    [block - 1, block].map((height) =>
      rpc.everywhere('eth_call', [bitmapCall(expected), toQuantity(height)]),
    ),
  )
  const isAll = (answers: NodeResult[] = [], isUsed: boolean) => {
    const answered = answers.flatMap((answer) => (answer.ok ? [answer.value] : []))
    return answered.length > 0 && answered.every((value) => hasBit(value, expected) === isUsed)
  }
  return isAll(before, false) && isAll(after, true)
}

/** Reads at these blocks whether the nonce is used. Throws `RpcUnavailableError` and `RpcResponseError`. */
async function readBits(
  rpc: Rpc,
  expected: Permit2Transfer,
  heights: readonly number[],
): Promise<boolean[]> {
  const call = bitmapCall(expected)
  const answers = await rpc.batch(
    heights.map((height) => ({ method: 'eth_call', params: [call, toQuantity(height)] })),
  )
  return answers.map((answer) => {
    if (!answer.ok) throw answer.error
    const isUsed = hasBit(answer.value, expected)
    if (isUsed === undefined) throw new RpcUnavailableError('Permit2 answered no bitmap')
    return isUsed
  })
}

function bitmapCall({ payer, nonce }: Permit2Transfer) {
  const word = wordOf(BigInt(nonce) >> 8n)
  return { to: permit2, data: `${selectors.nonceBitmap}${addressWord(payer)}${word}` }
}

/** Returns whether a bitmap has the bit of the nonce; `undefined` for an answer that is no bitmap. */
function hasBit(bitmap: unknown, { nonce }: Permit2Transfer): boolean | undefined {
  if (typeof bitmap !== 'string' || bitmap.length !== 66) return undefined
  return ((BigInt(bitmap) >> (BigInt(nonce) & 255n)) & 1n) === 1n
}

/**
 * Returns the filter of the logs that can be about a payment. One answer must show transfers and cancellations: two
 * queries may reach two nodes, of which one is behind.
 */
function filterOf({ asset, payer }: Permit2Transfer): LogFilter {
  return {
    address: [asset, permit2],
    topics: [[topics.transfer, topics.nonceInvalidation], addressTopic(payer)],
  }
}

async function findInRange(
  rpc: Rpc,
  expected: Permit2Transfer,
  blocks: BlockRange,
  readCalls: ReadEffectiveCalls,
): Promise<FoundUse | undefined> {
  const { payTo, value } = expected
  const logs: FoundLog[] = []
  for await (const log of readLogs(rpc, filterOf(expected), blocks)) logs.push(log)
  return findAmong(rpc, expected, logs, readCalls, ({ topics: [, , to], data }) => {
    return data === `0x${wordOf(value)}` && addressOf(to ?? '') === payTo
  })
}

/**
 * Finds the use of the nonce among these logs and the transactions of those transfers that `mayBe` it. A proven settlement
 * goes before a cancellation that was logged after it, because Permit2 logs that of a used nonce as well. Any other
 * cancellation goes before whatever is not proven.
 */
async function findAmong(
  rpc: Rpc,
  expected: Permit2Transfer,
  logs: readonly FoundLog[],
  readCalls: ReadEffectiveCalls,
  mayBe: (transfer: FoundLog) => boolean,
): Promise<FoundUse | undefined> {
  const candidates = new Map<Hex, number>()
  let cancellation: FoundLog | undefined
  for (const log of logs) {
    if (isTransferOfPayer(log, expected)) {
      if (mayBe(log)) candidates.set(lower(log.transactionHash), Number(log.blockNumber))
    } else if (cancels(log, expected) && !(cancellation && isBefore(cancellation, log))) {
      cancellation = log
    }
  }
  const found = await findInTransactions(rpc, expected, [...candidates.keys()], readCalls)
  if (cancellation === undefined || (await isOlder(rpc, found, cancellation, expected))) {
    return found && { blockNumber: blockOf(found, candidates), use: found }
  }
  const transaction = lower(cancellation.transactionHash)
  return {
    blockNumber: Number(cancellation.blockNumber),
    use: { state: 'cancelled', transaction },
  }
}

/**
 * Returns whether a use is proven, and older than a cancellation. No cancellation can be older than a settlement that is
 * proven, so one that seems to be must be in a receipt.
 */
async function isOlder(
  rpc: Rpc,
  use: AuthorizationUse | undefined,
  cancellation: FoundLog,
  expected: Permit2Transfer,
): Promise<boolean> {
  if (use === undefined || use.state === 'untraced') return false
  if (use.state !== 'paid') return true
  const { blockNumber, logIndex, transactionHash } = cancellation
  const blocks = use.receipt.blockNumber - Number(blockNumber)
  if (blocks < 0 || (blocks === 0 && use.transferLog < Number(logIndex))) return true
  const isCredible = ({ logs }: Receipt) => logs.some((log) => cancels(log, expected))
  return (await findReceiptAnywhere(rpc, transactionHash, isCredible)) === undefined
}

const lower = (hash: Hex) => hash.toLowerCase() as Hex

function blockOf(use: AuthorizationUse, candidates: ReadonlyMap<Hex, number>): number {
  if ('receipt' in use) return use.receipt.blockNumber
  return candidates.get(use.transaction as Hex) as number
}

function isBefore(one: FoundLog, other: FoundLog): boolean {
  const blocks = Number(one.blockNumber) - Number(other.blockNumber)
  return blocks < 0 || (blocks === 0 && Number(one.logIndex) < Number(other.logIndex))
}

type AnyLog = Pick<FoundLog, 'address' | 'topics' | 'data'>

function isTransferOfPayer(
  { address, topics: [topic, from] }: AnyLog,
  { asset, payer }: Permit2Transfer,
): boolean {
  const isTransfer = address.toLowerCase() === asset && topic === topics.transfer
  return isTransfer && addressOf(from ?? '') === payer
}

/** Returns whether a log is an invalidation by the payer whose data, a word of the bitmap and its bits, cover the nonce. */
function cancels(
  { address, topics: [topic, owner], data }: AnyLog,
  { payer, nonce }: Permit2Transfer,
): boolean {
  if (address.toLowerCase() !== permit2 || topic !== topics.nonceInvalidation) return false
  if (addressOf(owner ?? '') !== payer) return false
  const word = BigInt(data.slice(0, 66))
  const mask = BigInt(`0x${data.slice(66, 130)}`)
  return word === BigInt(nonce) >> 8n && ((mask >> (BigInt(nonce) & 255n)) & 1n) === 1n
}

/** Finds what used the nonce among transactions that moved the payer's tokens. No log names the nonce, only a call does. */
async function findInTransactions(
  rpc: Rpc,
  expected: Permit2Transfer,
  hashes: readonly Hex[],
  readCalls: ReadEffectiveCalls,
): Promise<AuthorizationUse | undefined> {
  let tracesLeft = MAX_TRACES
  const readSome: ReadEffectiveCalls = async (...asked) =>
    tracesLeft-- > 0 ? readCalls(...asked) : undefined
  let untraced: AuthorizationUse | undefined
  for (let i = 0; i < hashes.length; i += TRANSACTIONS_AT_ONCE) {
    const part = hashes.slice(i, i + TRANSACTIONS_AT_ONCE)
    for (const transaction of await readTransactions(rpc, part)) {
      const use = await readUse(rpc, expected, transaction, readSome)
      if (use?.state === 'untraced') untraced ??= use
      else if (use !== undefined) return use
    }
  }
  return untraced
}

/**
 * Returns what a transaction did with the nonce; `undefined` if nothing. It counts only by the arguments of calls that
 * ran: its own call of the proxy, the calls of the relayers' multicall, which logs those that succeeded, and of any other
 * contract the calls in a trace. Words in an input prove nothing.
 */
async function readUse(
  rpc: Rpc,
  expected: Permit2Transfer,
  transaction: Transaction,
  readCalls: ReadEffectiveCalls,
): Promise<AuthorizationUse | undefined> {
  const { hash, to, input } = transaction
  const proxy = proxyOf(expected)
  const isMulticall = to !== undefined && to === expected.facilitator
  const direct = isMulticall ? callsOf({ to, data: input }) : [{ to, data: input }]
  const call = direct.find((it) => it.to === proxy && relationOf(it.data, expected) === 'settles')
  if (call === undefined && isMulticall) return undefined
  if (call === undefined && to === proxy) {
    const isOther = relationOf(input, expected) === 'usesNonce'
    return isOther ? { state: 'otherTransfer', transaction: hash } : undefined
  }
  // A receipt without the log that led to it belongs to another transaction.
  const isCredible = ({ logs }: Receipt) => logs.some((log) => isTransferOfPayer(log, expected))
  const receipt = await findReceiptAnywhere(rpc, hash, isCredible)
  const block = receipt && (await readBlock(rpc, receipt.blockNumber))
  if (receipt === undefined || block === undefined) return { state: 'unread', transaction: hash }
  const minedAt = block.timestamp
  const paidBy = (transferLog: number | undefined): AuthorizationUse =>
    transferLog === undefined
      ? { state: 'otherTransfer', transaction: hash }
      : { state: 'paid', receipt, transferLog, minedAt }
  if (call !== undefined) {
    const settlement = findSettlement(receipt.logs, expected, call.data)
    return settlement && paidBy(settlement.transferLog)
  }
  const settlements = readSettlements(receipt.logs, expected)
  if (settlements.every(({ transferLog }) => transferLog === undefined)) return undefined
  // A trace that shows other settlements than the logs is not believed.
  const isWhole = (calls: readonly Hex[]) =>
    calls.filter(isSettleCall).length === settlements.length
  const calls = (await readCalls(transaction, proxy, isWhole))?.filter(isSettleCall)
  if (calls === undefined) return { state: 'untraced', receipt, minedAt }
  const relations = calls.map((data) => relationOf(data, expected))
  const place = relations.indexOf('settles')
  if (place >= 0) return paidBy(settlements[place]?.transferLog)
  return relations.includes('usesNonce') ? paidBy(undefined) : undefined
}
