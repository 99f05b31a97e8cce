import { randomUUID } from 'node:crypto'
import { type BatchRequest, payerOf } from '@arcus/protocol/x402/batch-request'
import { type ReasonKey, type Rejection, reasons, reject } from '@arcus/protocol/x402/reasons'
import type { Address, Hex } from 'viem'
import {
  batchContracts,
  type Channel,
  findPayout,
  readChannel,
  readHead,
} from '../../chain/batch-settlement.js'
import { findReceiptAnywhere, type Receipt } from '../../chain/receipts.js'
import type { Rpc } from '../../chain/rpc.js'
import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import { isReasonKey, type SettleAnswer, type SettleResult, settleRejection } from '../answers.js'
import type { Job, SettlementJournal } from '../journal/settlement-journal.js'
import type { Network } from '../methods/network.js'
import { confirmation } from '../relayer/outcomes.js'
import type { Deliveries } from '../settle/deliveries.js'
import { describeOpen, type SettleRequest } from '../settle/settler.js'
import {
  type BatchAction,
  type BatchJob,
  batchKinds,
  type DepositDetails,
  identifySettle,
  type RefundDetails,
  type SettleDetails,
} from './jobs.js'
import { detailsOf, findClaims, LOOK_BACK_BLOCKS, paidOutIn, refundedIn } from './kinds.js'

/** Makes the answers of settle from rows, for the caller that brought a job about and for callers that repeat it. */
export function createOutcomeAnswers(options: {
  journal: SettlementJournal
  deliveries: Deliveries
  checksum: (address: Address) => Address
  log: { warn(details: object, message: string): void }
}) {
  const { journal, deliveries, checksum, log } = options

  async function answerJob(job: Job, request: BatchRequest, chain: Network): Promise<SettleResult> {
    const settlementId = job.id
    if (job.state === 'confirmed')
      return { ...(await answerConfirmed(job, request, chain)), settlementId }
    if (job.state === 'failed') {
      const rejection = reject(reasonOf(job), job.message ?? 'It did not settle.')
      return { ...refuse(request, rejection, job.transaction), settlementId }
    }
    const { rejection, transaction } = await describeOpen(journal, job)
    return { ...refuse(request, rejection, transaction), settlementId }
  }

  /** Answers for a confirmed job. If its details cannot be read now, the answer is pending, never failed. */
  async function answerConfirmed(job: Job, request: BatchRequest, chain: Network) {
    try {
      const details = await readDetails(job, chain)
      const payer = payerOf(request.payload)
      const body: SettleAnswer = {
        success: true,
        transaction: job.transaction as Hex,
        network: job.network,
        ...(payer && { payer: checksum(payer) }),
        ...details,
      }
      return { status: 200, gasCost: job.gasCost, body }
    } catch (err) {
      log.warn({ err, settlementId: job.id }, 'a settled job could not be described')
      return refuse(request, unread, job.transaction)
    }
  }

  /** Answers a claim whose totals were all claimed before: with success if the chain still shows the transaction. */
  async function answerClaimed(
    { details }: Extract<BatchJob, { action: 'claim' }>,
    request: BatchRequest,
    { rpc }: Network,
  ): Promise<SettleResult> {
    const log = await findClaims(rpc, details.claims, await recentBlocks(rpc))
    if (log === undefined) return refuse(request, nothingToClaim)
    const transaction = log.transactionHash
    return { status: 200, body: { success: true, transaction, network: request.network } }
  }

  /** Answers when nothing is due: with success for the last payout, once, in case its own caller was never answered. */
  async function answerPaidOut(
    { details }: Extract<BatchJob, { action: 'settle' }>,
    request: BatchRequest,
    chain: Network,
  ): Promise<SettleResult> {
    const { rpc } = chain
    const log = await findPayout(rpc, details, await recentBlocks(rpc))
    if (log === undefined) return refuse(request, nothingToSettle)
    const { receiver, token } = details
    const { key } = identifySettle(receiver, token, log.settledBefore)
    const row = await journal.findJob(batchKinds.settle, request.network, key)
    const isOwed = row?.state === 'confirmed' && row.deliveredAt === null
    return isOwed
      ? answerJob(row, request, chain)
      : refuse(request, nothingToSettle, log.transactionHash)
  }

  /** Records that a success is delivered, so that a payout about which nobody was answered is known. */
  async function leaseDelivery(
    result: SettleResult,
    { isConnected }: SettleRequest,
  ): Promise<SettleResult> {
    const { body, settlementId } = result
    if (!body.success || settlementId === undefined) return result
    try {
      const turn = await deliveries.take(settlementId, null, isConnected)
      return turn?.state === 'granted' ? { ...result, delivery: turn.delivery } : result
    } catch (err) {
      log.warn({ err, settlementId }, 'the delivery of a success could not be recorded')
      return result
    }
  }

  function refuse(
    request: BatchRequest,
    rejection: Rejection,
    transaction?: Hex | null,
  ): SettleResult {
    const payer = payerOf(request.payload)
    const subject = { network: request.network, payer: payer && checksum(payer), transaction }
    return settleRejection(rejection, subject)
  }

  return { answerJob, answerClaimed, answerPaidOut, leaseDelivery, refuse }
}

/** Returns the recent blocks up to the head of the node: the feed may not have seen the newest yet. */
async function recentBlocks(rpc: Rpc): Promise<{ from: number; to: number }> {
  const to = await readHead(rpc)
  return { from: Math.max(0, to - LOOK_BACK_BLOCKS), to }
}

/** Reads the members that a success adds, as of the block of the transaction or a later one. */
async function readDetails(
  job: Job,
  { rpc, headBlock }: Network,
): Promise<Pick<SettleAnswer, 'amount' | 'extra'>> {
  const block = Math.max(job.blockNumber ?? 0, headBlock())
  const receipt = async (): Promise<Receipt> => {
    const found = await findReceiptAnywhere(rpc, job.transaction as Hex)
    if (found === undefined) throw new RpcUnavailableError('no node shows the receipt')
    return found
  }
  switch (job.kind) {
    case batchKinds.deposit: {
      const { channelId, amount } = detailsOf<DepositDetails>(job)
      return { amount, extra: channelState(channelId, await readChannel(rpc, channelId, block)) }
    }
    case batchKinds.refund: {
      const details = detailsOf<RefundDetails>(job)
      const { channelId } = details
      const amount = refundedIn(await receipt(), details) ?? 0n
      const channel = await readChannel(rpc, channelId, block)
      return { amount: amount.toString(), extra: channelState(channelId, channel) }
    }
    case batchKinds.settle: {
      const amount = paidOutIn(await receipt(), detailsOf<SettleDetails>(job)) ?? 0n
      return { amount: amount.toString() }
    }
    default:
      return {}
  }
}

function channelState(channelId: Hex, channel: Channel) {
  const { balance, totalClaimed, withdrawRequestedAt, refundNonce } = channel
  return {
    channelState: {
      channelId,
      balance: balance.toString(),
      totalClaimed: totalClaimed.toString(),
      withdrawRequestedAt,
      refundNonce: refundNonce.toString(),
    },
  }
}

/** The reasons for a job that another one with the same key made impossible. */
export const simulationReasons = {
  deposit: 'batchDepositSimulationFailed',
  claim: 'batchClaimSimulationFailed',
  settle: 'batchSettleSimulationFailed',
  refund: 'batchRefundSimulationFailed',
} as const satisfies Record<BatchAction, ReasonKey>

const transactionReasons = {
  deposit: 'batchDepositTransactionFailed',
  claim: 'batchClaimTransactionFailed',
  settle: 'batchSettleTransactionFailed',
  refund: 'batchRefundTransactionFailed',
} as const satisfies Record<BatchAction, ReasonKey>

/** Translates the relayer's reason, which knows no scheme, into the codes of this scheme. */
function reasonOf({ kind, reason }: Job): ReasonKey {
  const action = (Object.keys(batchKinds) as BatchAction[]).find((key) => batchKinds[key] === kind)
  const own = action ?? 'deposit'
  if (!isReasonKey(reason) || reason === 'transactionFailed') return transactionReasons[own]
  if (reason === 'nonceAlreadyUsed') return simulationReasons[own]
  if (reason === 'validBefore') return 'batchValidBefore'
  if (reason === 'insufficientBalance') return 'batchInsufficientBalance'
  return reason
}

const nothingToClaim = reject('nothingToClaim', reasons.nothingToClaim.meaning)
const nothingToSettle = reject('batchNothingToSettle', reasons.batchNothingToSettle.meaning)
const unread = reject(
  'settlementPending',
  'The transaction settled, but its outcome could not be read; settle again to get it.',
)

/** The number of recent blocks in which a deposit that others brought on chain is searched for. */
const DEPOSIT_SEARCH_BLOCKS = 20_000

/** The refusals that the scheme gives after it has accepted the payer's signature. */
const reasonsAfterSignature = new Set<Rejection['reason'] | undefined>([
  'batchDepositSimulationFailed',
  'batchInsufficientBalance',
  'batchCumulativeExceedsBalance',
  'batchCumulativeBelowClaimed',
])

/**
 * Finds a deposit that is on chain although no job of ours brought it there, and records it. Unlike a payment it counts
 * for any sender at any time: it can only fill this channel, and the merchant counts in totals what the channel pays
 * for. Throws `RpcUnavailableError`.
 */
export async function recordLandedDeposit(
  journal: SettlementJournal,
  now: () => number,
  job: BatchJob,
  { network }: BatchRequest,
  chain: Network,
  rejection: Rejection | undefined,
): Promise<Job | undefined> {
  if (job.action !== 'deposit' || !isAfterSignature(rejection)) return undefined
  const use = await findLandedDeposit(job.details, chain)
  if (use === undefined) return undefined
  const { blockNumber } = use.receipt
  const { key, digest, expiresAt } = job
  const kind = batchKinds.deposit
  const failed = await journal.findJob(kind, network, key)
  const details = JSON.stringify(job.details)
  const place = { to: batchContracts.settlement, calldata: '0x', seenBlock: blockNumber } as const
  const row = { id: randomUUID(), kind, network, key, digest, expiresAt, details, ...place }
  const outcome = confirmation(use.receipt, use, null)
  const kept = await journal.recordFound(row, failed, outcome, now())
  return kept ?? journal.findJob(kind, network, key)
}

/** Returns whether a refused deposit is on chain all the same. Throws `RpcUnavailableError`. */
export async function isLandedElsewhere(
  job: BatchJob,
  chain: Network,
  rejection: Rejection,
): Promise<boolean> {
  if (job.action !== 'deposit' || !isAfterSignature(rejection)) return false
  return (await findLandedDeposit(job.details, chain)) !== undefined
}

function isAfterSignature(rejection: Rejection | undefined): boolean {
  return reasonsAfterSignature.has(rejection?.reason)
}

/** Finds the transaction in which a deposit's authorization filled its channel. Throws `RpcUnavailableError`. */
async function findLandedDeposit(
  { asset, payer, amount, nonce }: DepositDetails,
  { readFacts, findUse }: Network,
) {
  const payTo = batchContracts.erc3009Collector
  const expected = { asset, payer, payTo, value: BigInt(amount), nonce }
  const facts = await readFacts(expected)
  if (!facts.isNonceUsed) return undefined
  const from = Math.max(0, facts.blockNumber - DEPOSIT_SEARCH_BLOCKS)
  const use = await findUse(expected, from, facts.blockNumber)
  if (use.state === 'unread') {
    throw new RpcUnavailableError('the chain shows the deposit but no node its receipt yet')
  }
  return use.state === 'paid' ? use : undefined
}
