import type { Address, Hex } from 'viem'
import { addressOf, addressTopic, topics, wordOf } from './abi.js'
import { readBlock } from './blocks.js'
import {
  type BlockRange,
  type FoundLog,
  findReceiptAnywhere,
  LOG_RANGE_BLOCKS,
  type Log,
  type Receipt,
  readLogs,
} from './receipts.js'
import type { Rpc } from './rpc.js'

/** A payment as its logs must show it. */
export interface ExpectedTransfer {
  asset: Address
  payer: Address
  payTo: Address
  value: bigint
  nonce: Hex
}

/** The end of a used authorization on chain. */
export type AuthorizationUse =
  /** The expected transfer went with it. `transferLog` is the index of its log in the block, `minedAt` the block's Unix seconds. */
  | { state: 'paid'; receipt: Receipt; transferLog: number; minedAt: number }
  /** The nonce was consumed by another authorization of the same payer. */
  | { state: 'otherTransfer'; transaction: Hex }
  | { state: 'cancelled'; transaction: Hex }
  /** Something else used the nonce in this block, and no log names the transaction. */
  | { state: 'otherUse'; blockNumber: number; transaction?: undefined }
  /** Its transfer may have gone with it or not: only a trace of the transaction could show that, and no node gave one. */
  | { state: 'untraced'; receipt: Receipt; minedAt: number; transaction?: undefined }
  /** This transaction used it, and no node shows its receipt yet. */
  | { state: 'unread'; transaction: Hex }
  /** No node shows it yet; `isFinal` once every block was searched and nodes had time enough to catch up. */
  | { state: 'notFound'; isFinal: boolean; transaction?: undefined }

/**
 * Finds the transaction that used or cancelled an authorization, between a block (exclusive) and the head. Blocks that
 * were searched before are not searched again. A search that is only for a `hint` costs nodes little, because anybody can
 * cause it. Throws `RpcUnavailableError`.
 */
export type FindAuthorizationUse<Expected = ExpectedTransfer> = (
  expected: Expected,
  afterBlock: number,
  headBlock: number,
  purpose?: 'hint',
) => Promise<AuthorizationUse>

/** One call searches this many ranges: two hundred thousand blocks, a day on Arc. The next call goes on from there. */
const MAX_RANGES = 40
/** A node that lags shows its newest blocks as empty, so these are searched again each time. */
const UNSETTLED_BLOCKS = 100
/** A use that no node shows is searched for this long after every block was searched, milliseconds. */
const PATIENCE_MS = 60_000
/** The number of searches that are remembered: a few megabytes at most. */
const MAX_SEARCHES = 10_000

/** The state of the search for one authorization, so that asking again costs little. */
interface Search {
  /** The block in which its use was found. */
  foundIn: number | undefined
  /** Every block after `searchedFrom` and up to `searchedTo` was searched without result. */
  searchedFrom: number
  searchedTo: number
  /** A use that only a trace could prove: a better one may still be found. */
  untraced: FoundUse | undefined
  /** The time at which every block had been searched for the first time without result, milliseconds. */
  notFoundSince: number | undefined
}

/**
 * Returns the log index of the transfer that the use of this authorization made, if it is the expected one. Tokens log
 * `AuthorizationUsed` and the transfer it allows one directly after the other (EIP-3009 as Circle's FiatToken has it), so
 * the asset's next log decides: a transfer elsewhere in the transaction belongs to another authorization.
 */
export function findOwnTransfer(
  logs: readonly Log[],
  expected: ExpectedTransfer,
): number | undefined {
  const { asset } = expected
  const ofAsset = logs.filter((log) => log.address === asset).sort((a, b) => a.index - b.index)
  const use = ofAsset.findIndex((log) => isUse(log, expected))
  const next = use < 0 ? undefined : ofAsset[use + 1]
  return next !== undefined && isExpectedTransfer(next, expected) ? next.index : undefined
}

/** Returns whether a log of the asset is the transfer of the expected amount between the expected accounts. */
export function isExpectedTransfer(
  { topics: [topic, from, to], data }: Log,
  { payer, payTo, value }: ExpectedTransfer,
): boolean {
  return (
    topic === topics.transfer &&
    addressOf(from ?? '') === payer &&
    addressOf(to ?? '') === payTo &&
    data === `0x${wordOf(value)}`
  )
}

function isUse(log: Log, { asset, payer, nonce }: ExpectedTransfer): boolean {
  return (
    log.address === asset &&
    log.topics[0] === topics.authorizationUsed &&
    addressOf(log.topics[1] ?? '') === payer &&
    log.topics[2]?.toLowerCase() === nonce
  )
}

/** Makes the search for uses of EIP-3009 authorizations on one network; `now` is monotonic, for tests. */
export function createAuthorizationUses(rpc: Rpc, now?: () => number): FindAuthorizationUse {
  return createUseSearch(
    ({ asset, payer, nonce }) => `${asset}/${payer}/${nonce}`,
    (expected, blocks) => findInRange(rpc, expected, blocks),
    now,
  )
}

/** A use, and the block in which it was found. */
export interface FoundUse {
  blockNumber: number
  use: AuthorizationUse
}

/**
 * Makes the search for uses that `findInRange` finds in a range of blocks, which is never empty. It remembers under the key
 * of each authorization what was searched.
 */
export function createUseSearch<Expected>(
  keyOf: (expected: Expected) => string,
  findInRange: (expected: Expected, blocks: BlockRange) => Promise<FoundUse | undefined>,
  now: () => number = () => performance.now(),
): FindAuthorizationUse<Expected> {
  const searches = new Map<string, Search>()

  function recall(key: string, afterBlock: number): Search {
    const known = searches.get(key)
    const search: Search =
      known !== undefined && known.searchedFrom <= afterBlock
        ? known
        : {
            foundIn: undefined,
            searchedFrom: afterBlock,
            searchedTo: afterBlock,
            untraced: undefined,
            notFoundSince: undefined,
          }
    searches.delete(key)
    searches.set(key, search)
    if (searches.size > MAX_SEARCHES) searches.delete(searches.keys().next().value as string)
    return search
  }

  return async (expected, afterBlock, headBlock) => {
    const search = recall(keyOf(expected), afterBlock)
    const searchRange = async (from: number, to: number) =>
      from > to ? undefined : findInRange(expected, { from, to })
    const remember = ({ blockNumber, use }: FoundUse) => {
      search.foundIn = blockNumber
      return use
    }
    if (search.foundIn !== undefined) {
      const again = await searchRange(search.foundIn, search.foundIn)
      if (again !== undefined) return again.use
    }
    // Most uses are recent, so the newest range comes first; then the others from the oldest on.
    const newest = Math.max(search.searchedTo + 1, headBlock - LOG_RANGE_BLOCKS + 1)
    const recent = await searchRange(newest, headBlock)
    // Permit2 logs a cancellation of a used nonce as well: an older block may have the use.
    if (recent !== undefined && isProof(recent)) return remember(recent)
    for (let i = 1; i < MAX_RANGES && search.searchedTo + 1 < newest; i++) {
      const to = Math.min(newest - 1, search.searchedTo + LOG_RANGE_BLOCKS)
      const found = await searchRange(search.searchedTo + 1, to)
      if (found?.use.state === 'untraced') search.untraced ??= found
      else if (found !== undefined) return remember(found)
      search.searchedTo = to
    }
    if (search.searchedTo + 1 < newest) return { state: 'notFound', isFinal: false }
    if (recent?.use.state === 'cancelled') return remember(recent)
    const untraced = search.untraced ?? recent
    if (untraced !== undefined) return untraced.use
    search.searchedTo = Math.max(search.searchedTo, headBlock - UNSETTLED_BLOCKS)
    search.notFoundSince ??= now()
    return { state: 'notFound', isFinal: now() - search.notFoundSince >= PATIENCE_MS }
  }
}

/** Returns whether a use is proven, so that no other block can have a better one. */
function isProof({ use: { state } }: FoundUse): boolean {
  return state !== 'cancelled' && state !== 'untraced'
}

async function findInRange(
  rpc: Rpc,
  expected: ExpectedTransfer,
  blocks: BlockRange,
): Promise<FoundUse | undefined> {
  const either = [topics.authorizationUsed, topics.authorizationCanceled]
  const filter = {
    address: expected.asset,
    topics: [either, addressTopic(expected.payer), expected.nonce],
  }
  for await (const log of readLogs(rpc, filter, blocks)) {
    const use = await readUse(rpc, expected, log)
    return { blockNumber: Number(log.blockNumber), use }
  }
  return undefined
}

async function readUse(
  rpc: Rpc,
  expected: ExpectedTransfer,
  log: FoundLog,
): Promise<AuthorizationUse> {
  const transaction = log.transactionHash.toLowerCase() as Hex
  if (log.topics[0] === topics.authorizationCanceled) return { state: 'cancelled', transaction }
  const use = await readPaidUse(rpc, transaction, {
    isOfUse: (it) => isUse(it, expected),
    findTransfer: (logs) => findOwnTransfer(logs, expected),
  })
  return use ?? { state: 'otherTransfer', transaction }
}

/**
 * Reads the payment in a transaction whose logs led to it; `undefined` when its receipt has no transfer that belongs to
 * it. Throws `RpcUnavailableError`.
 */
async function readPaidUse(
  rpc: Rpc,
  transaction: Hex,
  {
    isOfUse,
    findTransfer,
  }: {
    isOfUse(log: Log): boolean
    findTransfer(logs: readonly Log[]): number | undefined
  },
): Promise<Extract<AuthorizationUse, { state: 'paid' | 'unread' }> | undefined> {
  // A receipt without the log that led to it belongs to another transaction.
  const isCredible = ({ logs }: Receipt) => logs.some(isOfUse)
  const receipt = await findReceiptAnywhere(rpc, transaction, isCredible)
  if (receipt === undefined) return { state: 'unread', transaction }
  const transferLog = findTransfer(receipt.logs)
  if (transferLog === undefined) return undefined
  const block = await readBlock(rpc, receipt.blockNumber)
  if (block === undefined) return { state: 'unread', transaction }
  return { state: 'paid', receipt, transferLog, minedAt: block.timestamp }
}
