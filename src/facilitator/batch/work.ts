import type { Address, Hex } from 'viem'
import { readChannel, readReceiver } from '../../chain/batch-settlement.js'
import { checkGain, simulateSingle } from '../../relayer/preparation.js'
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
  type RefundDetails,
} from './actions.js'
import { gainOf, readGains } from './examinations.js'
import type { BatchNetwork } from './ground.js'
import { hashChannel } from './typed-data.js'

export type SettledPayload = Deposit | Claim | ReceiverSettle | EnrichedRefund

/** What a request asks for, before the scheme looks at it. */
export type Work =
  | { state: 'refused'; rejection: Rejection }
  | {
      state: 'toDo'
      job: BatchJob
      /** The account that is charged for gas that buys nothing. */
      gasPayer: Address
      /** The accounts whose code runs in it, if they have any. */
      runners: readonly Address[]
      /** What it moves, 6-decimal units; left out of what must bear its gas. */
      amount?: bigint
      /** What must bear the gas, 6-decimal units; left out where it need not. */
      gain?: bigint
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
    case 'deposit': {
      const { payer } = payload.channelConfig
      const job = identifyDeposit(payload, chainId, served.terms.token)
      const amount = BigInt(payload.deposit.amount)
      return { state: 'toDo', job, gasPayer: payer, runners: [payer], amount }
    }
    case 'claim':
      return judgeClaim(payload, ground)
    case 'settle':
      return judgeSettle(payload, ground)
    case 'refund':
      return judgeRefund(payload, ground)
  }
}

/**
 * A refund must reach the minimum, and be worth its gas together with what its rows claim. One that leaves nothing behind need not be: then no
 * minimum stands between a payer and the last of their money. Such a one drains little, for before the next the channel
 * needs another deposit, for which the minimum holds; and it may have no rows but one of its own channel, for rows of
 * others would cost gas each time.
 */
async function judgeRefund(payload: EnrichedRefund, ground: BatchNetwork): Promise<Work> {
  const { claims, refundAuthorizerSignature, claimAuthorizerSignature, channelConfig } = payload
  if (refundAuthorizerSignature === undefined) return unsigned
  if (claims.length > 0 && claimAuthorizerSignature === undefined) return unsigned
  const { served, chainId } = ground
  const job = identifyRefund(payload, chainId, refundAuthorizerSignature)
  const details = job.details as RefundDetails
  const { channelId, runners = [] } = details
  const totals = claims.map(({ voucher, totalClaimed }) => {
    return { channelId: hashChannel(voucher.channel, chainId), totalClaimed }
  })
  const [channel, gains] = await Promise.all([
    readChannel(served.rpc, channelId, 'latest'),
    readGains(served.rpc, totals),
  ])
  const own = totals.findIndex((row) => row.channelId === channelId)
  const claimed = channel.totalClaimed + gainOf(gains.slice(own, own + 1))
  const left = channel.balance > claimed ? channel.balance - claimed : 0n
  const wanted = BigInt(payload.amount)
  const moved = wanted < left ? wanted : left
  const gain = moved + gainOf(gains)
  Object.assign(details, { gain: gain.toString() })
  const work = { state: 'toDo', job, gasPayer: channelConfig.receiverAuthorizer, runners } as const
  // What is wrong with it, the scheme says.
  if (gain === 0n && wanted > 0n) return { ...work, isDone: true }
  const isEmptying =
    left > 0n && wanted >= left && totals.every((row) => row.channelId === channelId)
  if (isEmptying) return { ...work, amount: gain }
  const refusal = judgeMinimum(moved, served.terms)
  return { ...work, gain, ...(refusal && { refusal }) }
}

async function judgeClaim(payload: Claim, { served, chainId }: BatchNetwork): Promise<Work> {
  const { claimAuthorizerSignature: signature } = payload
  if (signature === undefined) return unsigned
  const job = identifyClaim(payload.claims, chainId, signature)
  const { claims, authorizer, runners = [] } = job.details as ClaimDetails
  const gain = gainOf(await readGains(served.rpc, claims))
  const work = { state: 'toDo', job, gasPayer: authorizer, runners } as const
  if (gain === 0n) return { ...work, isDone: true }
  const refusal = judgeMinimum(gain, served.terms)
  return { ...work, gain, ...(refusal && { refusal }) }
}

async function judgeSettle(payload: ReceiverSettle, { served }: BatchNetwork): Promise<Work> {
  const { receiver, token } = payload
  const { totalClaimed, totalSettled } = await readReceiver(served.rpc, receiver, token, 'latest')
  const job = identifySettle(receiver, token, totalSettled)
  const gain = totalClaimed - totalSettled
  const work = { state: 'toDo', job, gasPayer: receiver, runners: [] } as const
  if (gain === 0n) return { ...work, isDone: true }
  const refusal = judgeMinimum(gain, served.terms)
  return { ...work, gain, ...(refusal && { refusal }) }
}

/** Why what must bear its gas does not, as the chain stands. Throws `RpcUnavailableError`. */
export async function judgeWorth(
  { gain }: Pick<Extract<Work, { state: 'toDo' }>, 'gain'>,
  { to, calldata }: { to: Address; calldata: Hex },
  { served }: BatchNetwork,
): Promise<Rejection | undefined> {
  if (gain === undefined) return undefined
  const call = { to, data: calldata }
  const fate = await simulateSingle(served.rpc, served.relayer, call, GAS_CAP)
  // What cannot be simulated says itself why, when it is about to be signed.
  if (!fate.ok || fate.gas >= GAS_CAP) return undefined
  return checkGain(gain, fate.gas * served.gasPrice())
}

/** More than the largest claim takes. */
const GAS_CAP = 25_000_000n

const unsigned: Work = {
  state: 'refused',
  rejection: reject('batchAuthorizerNotConfigured', reasons.batchAuthorizerNotConfigured.meaning),
}
