import type { Address } from 'viem'
import { readChannel, readClaimed, readReceiver } from '../../chain/batch-settlement.js'
import { zeroAddress } from '../../x402/address.js'
import type { Claim, Deposit, EnrichedRefund, ReceiverSettle } from '../../x402/batch-schemas.js'
import { type Rejection, reasons } from '../../x402/reasons.js'
import { judgeMinimum, reject } from '../ladder.js'
import {
  type BatchJob,
  type ClaimDetails,
  identifyClaim,
  identifyDeposit,
  identifyRefund,
  identifySettle,
} from './actions.js'
import type { BatchNetwork } from './ground.js'
import { hashChannel } from './typed-data.js'

export type SettledPayload = Deposit | Claim | ReceiverSettle | EnrichedRefund

/** What a request asks for, before the scheme looks at it. */
export type Work =
  | { state: 'refused'; rejection: Rejection }
  | {
      state: 'toDo'
      job: BatchJob
      /** Whom gas that buys nothing is booked on. */
      gasPayer: Address
      /** Said unless a row answers. */
      refusal?: Rejection
      /** It is done already: a transaction would change nothing. */
      isDone?: boolean
    }

/**
 * Names the job a request is about and weighs whether it is worth its gas: what moves nothing, or less than the
 * minimum, is not sent. Throws `RpcUnavailableError`.
 */
export async function judgeWork(payload: SettledPayload, ground: BatchNetwork): Promise<Work> {
  const { chainId, served } = ground
  switch (payload.type) {
    case 'deposit':
      return toDo(
        identifyDeposit(payload, chainId, served.terms.token),
        payload.channelConfig.payer,
      )
    case 'claim':
      return judgeClaim(payload, ground)
    case 'settle':
      return judgeSettle(payload, ground)
    case 'refund':
      return judgeRefund(payload, ground)
  }
}

async function judgeRefund(payload: EnrichedRefund, ground: BatchNetwork): Promise<Work> {
  const { claims, refundAuthorizerSignature, claimAuthorizerSignature } = payload
  if (refundAuthorizerSignature === undefined) return unsigned
  if (claims.length > 0 && claimAuthorizerSignature === undefined) return unsigned
  const { receiverAuthorizer } = payload.channelConfig
  const job = identifyRefund(payload, ground.chainId, refundAuthorizerSignature)
  const refusal = judgeMinimum(BigInt(payload.amount), ground.served.terms)
  const isLast = refusal !== undefined && (await isEmptying(payload, ground))
  return toDo(job, receiverAuthorizer, isLast ? undefined : refusal)
}

/**
 * Whether a refund leaves nothing behind. Then no minimum stands between a payer and the last of his money, and no
 * gas is drained either: to be emptied once more, the channel needs another deposit, for which the minimum holds.
 */
async function isEmptying(
  { channelConfig, amount, claims }: EnrichedRefund,
  { served, chainId }: BatchNetwork,
): Promise<boolean> {
  const channelId = hashChannel(channelConfig, chainId)
  const { balance, totalClaimed } = await readChannel(served.rpc, channelId, 'latest')
  const claimed = claims
    .filter(({ voucher }) => hashChannel(voucher.channel, chainId) === channelId)
    .reduce(
      (most, row) => (BigInt(row.totalClaimed) > most ? BigInt(row.totalClaimed) : most),
      totalClaimed,
    )
  return balance > claimed && BigInt(amount) >= balance - claimed
}

async function judgeClaim(payload: Claim, { served, chainId }: BatchNetwork): Promise<Work> {
  const { claimAuthorizerSignature: signature } = payload
  if (signature === undefined) return unsigned
  const job = identifyClaim(payload.claims, chainId, signature)
  const { claims, authorizer } = job.details as ClaimDetails
  const ids = claims.map(({ channelId }) => channelId)
  const before = await readClaimed(served.rpc, ids, 'latest')
  const gain = claims.reduce((sum, { totalClaimed }, i) => {
    const more = BigInt(totalClaimed) - (before[i] ?? 0n)
    return more > 0n ? sum + more : sum
  }, 0n)
  if (gain === 0n) return { state: 'toDo', job, gasPayer: authorizer, isDone: true }
  return toDo(job, authorizer, judgeMinimum(gain, served.terms))
}

async function judgeSettle(payload: ReceiverSettle, { served }: BatchNetwork): Promise<Work> {
  const { receiver, token } = payload
  const { totalClaimed, totalSettled } = await readReceiver(served.rpc, receiver, token, 'latest')
  const job = identifySettle(receiver, token, totalSettled)
  const due = totalClaimed - totalSettled
  if (due === 0n) return { state: 'toDo', job, gasPayer: zeroAddress, isDone: true }
  return toDo(job, zeroAddress, judgeMinimum(due, served.terms))
}

function toDo(job: BatchJob, gasPayer: Address, refusal?: Rejection): Work {
  return { state: 'toDo', job, gasPayer, ...(refusal && { refusal }) }
}

const unsigned: Work = {
  state: 'refused',
  rejection: reject('batchAuthorizerNotConfigured', reasons.batchAuthorizerNotConfigured.meaning),
}
