import type {
  Claim,
  Deposit,
  EnrichedRefund,
  ReceiverSettle,
} from '@arcus/protocol/x402/batch-schemas'
import { type ReasonKey, type Rejection, reasons, reject } from '@arcus/protocol/x402/reasons'
import type { Address, Hex } from 'viem'
import { batchContracts, readChannel, readReceiver } from '../../chain/batch-settlement.js'
import { checkMinimum } from '../methods/checks.js'
import type { AcceptedToken, Network } from '../methods/network.js'
import { checkGain, simulateSingle } from '../relayer/preparation.js'
import {
  type BatchJob,
  batchKinds,
  type ClaimDetails,
  identifyClaim,
  identifyDeposit,
  identifyRefund,
  identifySettle,
  type RefundDetails,
  totalsOf,
} from './jobs.js'
import { gainOf, readGains } from './kinds.js'

export type SettledPayload = Deposit | Claim | ReceiverSettle | EnrichedRefund

/** The job that a request asks for, before the scheme sees the request. */
export type Plan =
  | { state: 'refused'; rejection: Rejection }
  | {
      state: 'toDo'
      job: BatchJob
      /**
       * The account that is charged for gas spent without a settlement. Left out for a payout, which anybody may bring: there
       * it is the caller.
       */
      gasPayer?: Address
      /** The accounts whose code, if they have any, runs in the job. */
      accountsThatRun: readonly Address[]
      /** The amount that must exceed the gas, 6-decimal units; left out where the amount may be smaller. */
      gain?: bigint
      /** The answer, unless a row answers. */
      refusal?: Rejection
      /** Whether the job is done already, so that a transaction would change nothing. */
      isDone?: boolean
    }

/**
 * Makes the job that a request asks for, and decides whether it is worth its gas: a job that moves nothing, or less than
 * the minimum, is not sent. Throws `RpcUnavailableError`.
 */
export async function planJob(
  payload: SettledPayload,
  chain: Network,
  token: AcceptedToken,
): Promise<Plan> {
  switch (payload.type) {
    case 'deposit': {
      const { payer } = payload.channelConfig
      const job = identifyDeposit(payload, token, chain.channelDigests)
      return { state: 'toDo', job, gasPayer: payer, accountsThatRun: [payer] }
    }
    case 'claim':
      return planClaim(payload, chain, token)
    case 'settle':
      return planPayout(payload, chain, token)
    case 'refund':
      return planRefund(payload, chain, token)
  }
}

/**
 * Plans a refund. It must reach the minimum, and exceed its gas together with what its rows claim. A refund that empties
 * the channel is exempt, so that no minimum keeps payers from the last of their money. Such refunds cost little gas:
 * before the next one the channel needs another deposit, which must reach the minimum. An exempt refund may have no rows
 * but one of its own channel, because rows of others would cost gas each time.
 */
async function planRefund(
  payload: EnrichedRefund,
  { rpc, channelDigests }: Network,
  token: AcceptedToken,
): Promise<Plan> {
  const { claims, refundAuthorizerSignature, claimAuthorizerSignature, channelConfig } = payload
  if (refundAuthorizerSignature === undefined) return unsigned
  if (claims.length > 0 && claimAuthorizerSignature === undefined) return unsigned
  const job = identifyRefund(payload, channelDigests, refundAuthorizerSignature)
  const details = job.details as RefundDetails
  const { channelId, accountsThatRun } = details
  const totals = totalsOf(claims, channelDigests)
  const [channel, gains] = await Promise.all([
    readChannel(rpc, channelId, 'latest'),
    readGains(rpc, totals),
  ])
  const own = totals.findIndex((row) => row.channelId === channelId)
  const claimed = channel.totalClaimed + gainOf(gains.slice(own, own + 1))
  const left = channel.balance > claimed ? channel.balance - claimed : 0n
  const wanted = BigInt(payload.amount)
  const moved = wanted < left ? wanted : left
  const gain = moved + gainOf(gains)
  Object.assign(details, { gain: gain.toString() })
  const plan = {
    state: 'toDo',
    job,
    gasPayer: channelConfig.receiverAuthorizer,
    accountsThatRun,
  } as const
  if (gains.includes(undefined)) {
    return { ...plan, refusal: uncovered('batchRefundSimulationFailed') }
  }
  // The scheme says what is wrong with a refund that would move nothing.
  if (gain === 0n && wanted > 0n) return { ...plan, isDone: true }
  const isEmptying =
    left > 0n && wanted >= left && totals.every((row) => row.channelId === channelId)
  if (isEmptying) return plan
  const refusal = checkMinimum(moved, token)
  return { ...plan, gain, ...(refusal && { refusal }) }
}

async function planClaim(
  payload: Claim,
  { rpc, channelDigests }: Network,
  token: AcceptedToken,
): Promise<Plan> {
  const { claimAuthorizerSignature: signature } = payload
  if (signature === undefined) return unsigned
  const job = identifyClaim(payload.claims, channelDigests, signature)
  const { claims, authorizer, accountsThatRun } = job.details as ClaimDetails
  const gains = await readGains(rpc, claims)
  const gain = gainOf(gains)
  const plan = { state: 'toDo', job, gasPayer: authorizer, accountsThatRun } as const
  if (gains.includes(undefined)) {
    return { ...plan, refusal: uncovered('batchClaimSimulationFailed') }
  }
  if (gain === 0n) return { ...plan, isDone: true }
  const refusal = checkMinimum(gain, token)
  return { ...plan, gain, ...(refusal && { refusal }) }
}

async function planPayout(
  { receiver }: ReceiverSettle,
  { rpc }: Network,
  token: AcceptedToken,
): Promise<Plan> {
  const { address } = token
  const { totalClaimed, totalSettled } = await readReceiver(rpc, receiver, address, 'latest')
  const job = identifySettle(receiver, address, totalSettled)
  const gain = totalClaimed - totalSettled
  const plan = { state: 'toDo', job, accountsThatRun: [] } as const
  if (gain === 0n) return { ...plan, isDone: true }
  const refusal = checkMinimum(gain, token)
  return { ...plan, gain, ...(refusal && { refusal }) }
}

/** Simulates a job whose gain must exceed its gas, and refuses it if it does not. Throws `RpcUnavailableError`. */
export async function checkWorth(
  { gain }: Pick<Extract<Plan, { state: 'toDo' }>, 'gain'>,
  { to, calldata }: { to: Address; calldata: Hex },
  { rpc, relayer, gasPrice }: Network,
): Promise<Rejection | undefined> {
  if (gain === undefined) return undefined
  const call = { to, data: calldata }
  const simulation = await simulateSingle(rpc, relayer.addresses[0], call, GAS_CAP)
  // The relayer simulates again before it signs, and then reports why a simulation fails.
  if (!simulation.ok || simulation.gas >= GAS_CAP) return undefined
  return checkGain(gain, simulation.gas * gasPrice())
}

/**
 * Counts a deposit among the open claims of its payer, unless the balance does not cover all of them together. The scheme has
 * simulated it alone. Other jobs take nothing from a balance. Throws `RpcUnavailableError`.
 */
export async function coverDeposit(
  { action, key, details }: BatchJob,
  { relayer: { openClaims }, readFacts }: Network,
): Promise<{ uncount(): void } | Rejection> {
  if (action !== 'deposit') return { uncount() {} }
  const { payer, asset, amount, nonce } = details
  const deposit = { kind: batchKinds.deposit, key, payer, asset, value: BigInt(amount) }
  if (openClaims.besides(deposit) === 0n) return { uncount: openClaims.add(deposit) }
  const { balance } = await readFacts({ ...deposit, payTo: batchContracts.erc3009Collector, nonce })
  const uncount = openClaims.cover(deposit, balance)
  if (uncount !== undefined) return { uncount }
  return reject(
    'batchInsufficientBalance',
    `The payer ${payer} holds ${balance} of ${asset}, and other payments that wait to be sent take ${openClaims.besides(deposit)} of it; the deposit needs ${amount}.`,
  )
}

/** The gas limit of the simulation, more than the largest claim takes. */
const GAS_CAP = 25_000_000n

/** Refuses a claim before the scheme encodes it: a channel that nobody filled costs nothing to invent. */
function uncovered(reason: ReasonKey): Rejection {
  return reject(reason, 'A claim takes more than its channel holds: "ClaimExceedsBalance".')
}

const unsigned: Plan = {
  state: 'refused',
  rejection: reject('batchAuthorizerNotConfigured', reasons.batchAuthorizerNotConfigured.meaning),
}
