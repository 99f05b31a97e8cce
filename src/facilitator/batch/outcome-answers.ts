import type { Address, Hex } from 'viem'
import { type Channel, findPayout, readChannel, readHead } from '../../chain/batch-settlement.js'
import { findReceiptAnywhere, type Receipt } from '../../chain/receipts.js'
import type { Rpc } from '../../chain/rpc.js'
import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import type { Job, SettlementJournal } from '../../store/settlement-journal.js'
import { type BatchRequest, payerOf } from '../../x402/batch-request.js'
import { type ReasonKey, type Rejection, reasons } from '../../x402/reasons.js'
import { isReasonKey, type SettleAnswer, settleRejection } from '../answers.js'
import type { Deliveries } from '../deliveries.js'
import { reject } from '../ladder.js'
import { pendingOf, type SettleRequest, type SettleResult } from '../settler.js'
import {
  type BatchAction,
  type BatchJob,
  batchKinds,
  type DepositDetails,
  identifySettle,
  type RefundDetails,
  type SettleDetails,
} from './actions.js'
import { findClaims, LOOK_BACK_BLOCKS, paidOutIn, refundedIn } from './examinations.js'
import type { BatchNetwork } from './ground.js'
import { detailsOf } from './kinds.js'

export interface OutcomeAnswersOptions {
  journal: SettlementJournal
  deliveries: Deliveries
  checksum: (address: Address) => Address
  log: { warn(details: object, message: string): void }
}

/** Turns rows into answers: for whoever brought one about, waited with him, or asks again later. */
export function createOutcomeAnswers(options: OutcomeAnswersOptions) {
  const { journal, deliveries, checksum, log } = options

  async function of(job: Job, request: BatchRequest, ground: BatchNetwork): Promise<SettleResult> {
    const settlementId = job.id
    if (job.state === 'confirmed') return { ...(await landed(job, request, ground)), settlementId }
    if (job.state === 'failed') {
      const rejection = reject(reasonOf(job), job.message ?? 'It did not settle.')
      return { ...refuse(request, rejection, job.transaction), settlementId }
    }
    return { ...refuse(request, pendingOf(job), job.transaction), settlementId }
  }

  /** What landed is never called failed: where its details cannot be read now, it is pending. */
  async function landed(job: Job, request: BatchRequest, ground: BatchNetwork) {
    try {
      const told = await tell(job, ground)
      const payer = payerOf(request.payload)
      const body: SettleAnswer = {
        success: true,
        transaction: job.transaction as Hex,
        network: job.network,
        ...(payer && { payer: checksum(payer) }),
        ...told,
      }
      return { status: 200, gasCost: job.gasCost, body }
    } catch (err) {
      log.warn({ err, settlementId: job.id }, 'landed, but its state could not be read')
      return refuse(request, unread, job.transaction)
    }
  }

  /** All of it claimed before: told as success where the chain still shows by whom. */
  async function claimed(
    { details }: Extract<BatchJob, { action: 'claim' }>,
    request: BatchRequest,
    { served }: BatchNetwork,
  ): Promise<SettleResult> {
    const log = await findClaims(served.rpc, details.claims, await recentBlocks(served.rpc))
    if (log === undefined) return refuse(request, nothingToClaim)
    const transaction = log.transactionHash
    return { status: 200, body: { success: true, transaction, network: request.network } }
  }

  /** Nothing due: the last payout is told once to somebody, in case its own caller never heard. */
  async function paidOut(
    { details }: Extract<BatchJob, { action: 'settle' }>,
    request: BatchRequest,
    ground: BatchNetwork,
  ): Promise<SettleResult> {
    const { rpc } = ground.served
    const log = await findPayout(rpc, details, await recentBlocks(rpc))
    if (log === undefined) return refuse(request, nothingToSettle)
    const { receiver, token } = details
    const { key } = identifySettle(receiver, token, log.settledBefore)
    const row = await journal.findJob(batchKinds.settle, request.network, key)
    const isOwed = row?.state === 'confirmed' && row.deliveredAt === null
    return isOwed ? of(row, request, ground) : refuse(request, nothingToSettle, log.transactionHash)
  }

  /** Keeps that a success was told, so that a payout of which nobody heard is known. */
  async function noteTelling(
    result: SettleResult,
    { isConnected }: SettleRequest,
  ): Promise<SettleResult> {
    const { body, settlementId } = result
    if (!body.success || settlementId === undefined) return result
    try {
      const turn = await deliveries.take(settlementId, null, isConnected)
      return turn?.state === 'granted' ? { ...result, delivery: turn.delivery } : result
    } catch (err) {
      log.warn({ err, settlementId }, 'that a success is told could not be kept')
      return result
    }
  }

  function refuse(
    request: BatchRequest,
    rejection: Rejection,
    transaction?: Hex | null,
  ): SettleResult {
    const payer = payerOf(request.payload)
    const told = { network: request.network, payer: payer && checksum(payer), transaction }
    return settleRejection(rejection, told)
  }

  const clash = (action: BatchAction): ReasonKey => simulationReasons[action]
  return { of, claimed, paidOut, noteTelling, clash }
}

/** Up to the very head: what was done a moment ago is in a block that the feed may not have seen. */
async function recentBlocks(rpc: Rpc): Promise<{ from: number; to: number }> {
  const to = await readHead(rpc)
  return { from: Math.max(0, to - LOOK_BACK_BLOCKS), to }
}

/** What the answer adds to a success, as of the block it landed in or a later one. */
async function tell(
  job: Job,
  { served: { rpc }, headBlock }: BatchNetwork,
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

const simulationReasons = {
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

/** The relayer knows of no scheme: what it says of any job is said here in the words of this one. */
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
  'The transaction landed, but its outcome could not be read; settle again to have it told.',
)
