import type { Hex } from 'viem'
import { addressTopic, wordOf } from '../../chain/abi.js'
import {
  batchContracts,
  claimedTopic,
  findClaim,
  findPayout,
  readChannel,
  readClaimed,
  readHead,
  readReceiver,
  readSettlementLogs,
  refundedTopic,
  type SettlementLog,
  settledTopic,
} from '../../chain/batch-settlement.js'
import { findReceiptAnywhere, type Receipt } from '../../chain/receipts.js'
import type { Rpc } from '../../chain/rpc.js'
import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import type { Examination } from '../../relayer/jobs.js'
import { reject } from '../ladder.js'
import type { ClaimDetails, RefundDetails, SettleDetails } from './actions.js'

/** Since when a job is known, and the block behind which no answer counts. */
export interface Since {
  from: number
  atLeastBlock: number
}

/** How far back what was done already is looked for: some minutes of blocks. A node may have lagged when a job began. */
export const LOOK_BACK_BLOCKS = 5_000

/** Claimed is claimed, whoever sent it: the totals on chain decide. */
export async function examineClaim(
  rpc: Rpc,
  { claims }: ClaimDetails,
  since: Since,
): Promise<Examination> {
  const to = await headAfter(rpc, since)
  const ids = claims.map(({ channelId }) => channelId)
  const claimed = await readClaimed(rpc, ids, to)
  if (!claims.every(({ totalClaimed }, i) => BigInt(totalClaimed) <= (claimed[i] ?? 0n))) {
    return { state: 'open' }
  }
  const log = await findClaims(rpc, claims, { from: lookBack(since.from), to })
  if (log !== undefined) return confirmedBy(rpc, log)
  throw new RpcUnavailableError('the chain node shows the totals claimed but not yet by whom')
}

/** The newest transaction that claimed one of these totals. Throws `RpcUnavailableError`. */
export async function findClaims(
  rpc: Rpc,
  claims: ClaimDetails['claims'],
  blocks: { from: number; to: number },
): Promise<SettlementLog | undefined> {
  let newest: SettlementLog | undefined
  for (const { channelId, totalClaimed } of claims) {
    const log = await findClaim(rpc, { channelId, totalClaimed: BigInt(totalClaimed) }, blocks)
    if (log !== undefined && log.blockNumber >= (newest?.blockNumber ?? 0)) newest = log
  }
  return newest
}

/** Paid out is paid out, whoever asked for it. */
export async function examineSettle(
  rpc: Rpc,
  details: SettleDetails,
  since: Since,
): Promise<Examination> {
  const { receiver, token } = details
  const settledBefore = BigInt(details.settledBefore)
  const to = await headAfter(rpc, since)
  const { totalSettled } = await readReceiver(rpc, receiver, token, to)
  if (totalSettled <= settledBefore) return { state: 'open' }
  const log = await findPayout(rpc, details, { from: lookBack(since.from), to }, settledBefore)
  if (log !== undefined) return confirmedBy(rpc, log)
  throw new RpcUnavailableError('the chain node shows the payout but not yet its transaction')
}

/** A nonce that went by was used by this refund if its own amount was given back under it. */
export async function examineRefund(
  rpc: Rpc,
  details: RefundDetails,
  calldata: Hex,
  since: Since,
): Promise<Examination> {
  const { channelId, nonce } = details
  const to = await headAfter(rpc, since)
  const { refundNonce } = await readChannel(rpc, channelId, to)
  if (refundNonce <= BigInt(nonce)) return { state: 'open' }
  const topics = [refundedTopic, channelId]
  for await (const log of readSettlementLogs(rpc, topics, { from: since.from, to })) {
    if (await isOwnRefund(rpc, log, details, calldata)) return confirmedBy(rpc, log)
  }
  const message = `Nonce ${nonce} of channel ${channelId} was used by another refund.`
  return { state: 'failed', ...reject('batchRefundSimulationFailed', message) }
}

/** Selector, and the words of the channel's configuration that follow it. */
const REFUND_CALL = /b77433e9[0-9a-f]{448}/

/**
 * Less than was asked for may be given back, where less was left; then only the call itself tells this refund from
 * another one under its nonce.
 */
async function isOwnRefund(
  rpc: Rpc,
  { transactionHash, data }: SettlementLog,
  { amount, nonce }: RefundDetails,
  calldata: Hex,
): Promise<boolean> {
  const moved = BigInt(data)
  const asked = BigInt(amount)
  if (moved > asked) return false
  const transaction = await rpc.request('eth_getTransactionByHash', [transactionHash])
  const input = (transaction as { input?: string } | null)?.input?.toLowerCase()
  if (input === undefined) throw new RpcUnavailableError('no node shows the refund')
  const [call] = REFUND_CALL.exec(calldata) ?? []
  if (call === undefined || !input.includes(call)) return moved === asked
  return input.includes(`${call}${wordOf(asked)}${wordOf(BigInt(nonce))}`)
}

/** Whether something of these channels was claimed in a transaction. */
export function isClaimed({ logs, isSuccess }: Receipt, { claims }: ClaimDetails): boolean {
  const ids = new Set(claims.map(({ channelId }) => channelId as string))
  const isOwn = ({ address, topics }: Receipt['logs'][number]) =>
    address === batchContracts.settlement &&
    topics[0] === claimedTopic &&
    ids.has(topics[1]?.toLowerCase() ?? '')
  return isSuccess && logs.some(isOwn)
}

/** What a transaction gave back to the payer of a channel, 6-decimal units. */
export function refundedIn(receipt: Receipt, { channelId }: { channelId: Hex }) {
  return amountIn(receipt, [refundedTopic, channelId])
}

/** What a transaction paid out to the receiver, 6-decimal units. */
export function paidOutIn(receipt: Receipt, { receiver, token }: SettleDetails) {
  return amountIn(receipt, [settledTopic, addressTopic(receiver), addressTopic(token)])
}

function amountIn({ logs }: Receipt, wanted: readonly Hex[]): bigint | undefined {
  const log = logs.find(
    ({ address, topics }) =>
      address === batchContracts.settlement &&
      wanted.every((topic, i) => topics[i]?.toLowerCase() === topic),
  )
  return log === undefined ? undefined : BigInt(log.data)
}

/** What a transaction claimed for receivers, of all its channels, 6-decimal units. */
export function claimedIn(receipt: Receipt): bigint {
  return receipt.logs
    .filter((it) => it.address === batchContracts.settlement && it.topics[0] === claimedTopic)
    .reduce((sum, { data }) => sum + BigInt(data.slice(0, 2 + 64)), 0n)
}

/** What each of these totals adds to what is claimed of its channel by now, 6-decimal units. Throws `RpcUnavailableError`. */
export async function readGains(
  rpc: Rpc,
  totals: readonly { channelId: Hex; totalClaimed: string }[],
): Promise<bigint[]> {
  const ids = totals.map(({ channelId }) => channelId)
  const before = await readClaimed(rpc, ids, 'latest')
  return totals.map(({ totalClaimed }, i) => BigInt(totalClaimed) - (before[i] ?? 0n))
}

/** What totals claim together; what was claimed before takes nothing away. */
export function gainOf(gains: readonly bigint[]): bigint {
  return gains.reduce((sum, gain) => (gain > 0n ? sum + gain : sum), 0n)
}

async function confirmedBy(rpc: Rpc, { transactionHash }: SettlementLog): Promise<Examination> {
  const receipt = await findReceiptAnywhere(rpc, transactionHash)
  if (receipt !== undefined) return { state: 'confirmed', receipt }
  throw new RpcUnavailableError('the chain node shows an event but no node its receipt yet')
}

function lookBack(block: number): number {
  return Math.max(0, block - LOOK_BACK_BLOCKS)
}

async function headAfter(rpc: Rpc, { atLeastBlock }: Since): Promise<number> {
  const head = await readHead(rpc)
  if (head >= atLeastBlock) return head
  throw new RpcUnavailableError('the chain node is behind the block that was already seen')
}
