import type { Address, Hex } from 'viem'
import { addressOf, topics } from '../../chain/abi.js'
import {
  addressTopic,
  batchContracts,
  claimedTopic,
  findSettlementReceipt,
  readChannel,
  readClaimed,
  readHead,
  readReceiver,
  settledTopic,
} from '../../chain/batch-settlement.js'
import type { Receipt } from '../../chain/receipts.js'
import type { Rpc } from '../../chain/rpc.js'
import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import type { Examination } from '../../relayer/job-kind.js'
import { reject } from '../ladder.js'
import type { ClaimDetails, RefundDetails, SettleDetails } from './actions.js'

/** Since when a job is known, and the block behind which no answer counts. */
export interface Since {
  from: number
  atLeastBlock: number
}

/** Claimed is claimed, whoever sent it: the totals on chain decide. */
export async function examineClaim(
  rpc: Rpc,
  { claims }: ClaimDetails,
  since: Since,
): Promise<Examination> {
  const head = await headAfter(rpc, since)
  const ids = claims.map(({ channelId }) => channelId)
  const claimed = await readClaimed(rpc, ids, head)
  if (!claims.every(({ totalClaimed }, i) => BigInt(totalClaimed) <= (claimed[i] ?? 0n))) {
    return { state: 'open' }
  }
  for (const channelId of ids) {
    const receipt = await findClaim(rpc, channelId, since.from, head)
    if (receipt !== undefined) return { state: 'confirmed', receipt }
  }
  throw new RpcUnavailableError('the chain node shows the totals claimed but not yet by whom')
}

/** Paid out is paid out, whoever asked for it. */
export async function examineSettle(
  rpc: Rpc,
  details: SettleDetails,
  since: Since,
): Promise<Examination> {
  const { receiver, token, settledBefore } = details
  const head = await headAfter(rpc, since)
  const { totalSettled } = await readReceiver(rpc, receiver, token, head)
  if (totalSettled <= BigInt(settledBefore)) return { state: 'open' }
  const receipt = await findPayout(rpc, receiver, token, since.from, head)
  if (receipt !== undefined) return { state: 'confirmed', receipt }
  throw new RpcUnavailableError('the chain node shows the payout but not yet its transaction')
}

/** A nonce that went by was used by this refund if the money of this refund moved with it. */
export async function examineRefund(
  rpc: Rpc,
  details: RefundDetails,
  since: Since,
): Promise<Examination> {
  const { channelId, nonce, amount } = details
  const head = await headAfter(rpc, since)
  const { refundNonce } = await readChannel(rpc, channelId, head)
  if (refundNonce <= BigInt(nonce)) return { state: 'open' }
  const fits = (receipt: Receipt) => {
    const moved = refundedIn(receipt, details)
    return moved !== undefined && moved <= BigInt(amount)
  }
  // Every event about a channel has its id as the topic after its name.
  const blocks = { from: since.from, to: head }
  const receipt = await findSettlementReceipt(rpc, [null, channelId], blocks, fits)
  if (receipt !== undefined) return { state: 'confirmed', receipt }
  const message = `Nonce ${nonce} of channel ${channelId} was used by another refund.`
  return { state: 'failed', ...reject('batchRefundSimulationFailed', message) }
}

/** What a transaction gave back to the payer, 6-decimal units. */
export function refundedIn(
  receipt: Receipt,
  { asset, payer }: { asset: Address; payer: Address },
): bigint | undefined {
  const log = receipt.logs.find(
    (it) =>
      it.address === asset &&
      it.topics[0] === topics.transfer &&
      addressOf(it.topics[1] ?? '') === batchContracts.settlement &&
      addressOf(it.topics[2] ?? '') === payer,
  )
  return log === undefined ? undefined : BigInt(log.data)
}

export function isPaidOut(receipt: Receipt, details: SettleDetails): boolean {
  return paidOutIn(receipt, details) !== undefined
}

/** What a transaction paid out to the receiver, 6-decimal units. */
export function paidOutIn(
  receipt: Receipt,
  { receiver, token }: { receiver: Address; token: Address },
): bigint | undefined {
  const log = receipt.logs.find(
    (it) =>
      it.address === batchContracts.settlement &&
      it.topics[0] === settledTopic &&
      addressOf(it.topics[1] ?? '') === receiver &&
      addressOf(it.topics[2] ?? '') === token,
  )
  return log === undefined ? undefined : BigInt(log.data)
}

async function headAfter(rpc: Rpc, { atLeastBlock }: Since): Promise<number> {
  const head = await readHead(rpc)
  if (head >= atLeastBlock) return head
  throw new RpcUnavailableError('the chain node is behind the block that was already seen')
}

/** The newest transaction in which something was claimed of a channel. Throws `RpcUnavailableError`. */
export function findClaim(rpc: Rpc, channelId: Hex, from: number, to: number) {
  return findSettlementReceipt(rpc, [claimedTopic, channelId], { from, to }, () => true)
}

/** The newest transaction in which a receiver was paid out. Throws `RpcUnavailableError`. */
export function findPayout(rpc: Rpc, receiver: Address, token: Address, from: number, to: number) {
  const wanted = [settledTopic, addressTopic(receiver), addressTopic(token)]
  return findSettlementReceipt(rpc, wanted, { from, to }, () => true)
}
