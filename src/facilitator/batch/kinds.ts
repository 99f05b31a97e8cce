import { type ReasonKey, type Rejection, reject } from '@arcus/protocol/x402/reasons'
import { type Address, type Hex, toFunctionSelector } from 'viem'
import { addressTopic, wordOf } from '../../chain/abi.js'
import type { AuthorizationUse, FindAuthorizationUse } from '../../chain/authorization-uses.js'
import {
  batchContracts,
  claimedTopic,
  findClaim,
  findPayout,
  readBalances,
  readChannel,
  readHead,
  readReceiver,
  readSettlementLogs,
  refundedTopic,
  type SettlementLog,
  settledTopic,
} from '../../chain/batch-settlement.js'
import { WALLET_GAS_CAP } from '../../chain/contract-wallet.js'
import type { ReadPaymentFacts } from '../../chain/payment-facts.js'
import { findReceiptAnywhere, type Receipt } from '../../chain/receipts.js'
import type { Rpc } from '../../chain/rpc.js'
import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import { PAYOUTS } from '../journal/budgets.js'
import type { Job } from '../journal/settlement-journal.js'
import { examine, settledBy, USED_AND_NOT_FOUND } from '../methods/exact-job.js'
import type { Examination, GasBounds, JobKind, JobProfile, Settled } from '../relayer/jobs.js'
import {
  type BroughtDetails,
  batchKinds,
  type ClaimDetails,
  type DepositDetails,
  type RefundDetails,
  type SettleDetails,
} from './jobs.js'

/** The gas of a payout is fixed: on a node that lags, the simulation finds nothing to pay out. */
const SETTLE_GAS = { least: 150_000n, most: 400_000n }
/** The payer's own code may run in a deposit. */
const DEPOSIT_GAS = { least: 0n, most: WALLET_GAS_CAP }
/** A row takes some 25,000 gas with a plain signature; the check of a contract wallet may take much more. */
const CLAIM_ROW_GAS = 120_000n
const CLAIM_BASE_GAS = 200_000n

/**
 * Makes the handlers of the jobs of `batch-settlement`. Each job is sent in a transaction of its own, so that the status
 * of the transaction is that of the job.
 */
export function createBatchKinds(
  rpc: Rpc,
  findUse: FindAuthorizationUse,
  readFacts: ReadPaymentFacts,
): Record<string, JobKind> {
  return {
    [batchKinds.deposit]: {
      profile(job) {
        const { payer, asset, payTo, amount } = detailsOf<DepositDetails>(job)
        return {
          ...alone(job, payer, payTo, DEPOSIT_GAS),
          asset,
          accountsThatRun: [payer],
          value: BigInt(amount),
        }
      },
      validAfter: (job) => Number(detailsOf<DepositDetails>(job).validAfter),
      findSettled: (job, receipt) => settledBy(receipt, expectedDeposit(job)),
      movedIn: (job) => BigInt(detailsOf<DepositDetails>(job).amount),
      rejectionOf: (_job, revert) =>
        /authorization is (used|canceled)/i.test(revert)
          ? reject('nonceAlreadyUsed', 'The authorization of the deposit was used or cancelled.')
          : reverted('batchDepositSimulationFailed', 'deposit', revert),
      examine: (job, atLeastBlock) =>
        examine(expectedDeposit(job), { findUse, readFacts }, job, atLeastBlock, {
          decide: decideDeposit,
          expired: 'batchValidBefore',
        }),
    },
    [batchKinds.claim]: {
      profile(job) {
        const { authorizer, payTo, claims, accountsThatRun } = detailsOf<ClaimDetails>(job)
        return { ...alone(job, authorizer, payTo, rowsGas(claims.length)), accountsThatRun }
      },
      validAfter: () => 0,
      // Another claim may have been mined first, so that this one changed nothing.
      findSettled: (job, receipt) =>
        isClaimed(receipt, detailsOf<ClaimDetails>(job)) ? {} : undefined,
      movedIn: (_job, receipt) => claimedIn(receipt),
      gain: async (job) => gainOf(await readGains(rpc, detailsOf<ClaimDetails>(job).claims)),
      rejectionOf: (_job, revert) => reverted('batchClaimSimulationFailed', 'claim', revert),
      examine: (job, atLeastBlock) =>
        examineClaim(rpc, detailsOf<ClaimDetails>(job), { from: job.seenBlock, atLeastBlock }),
    },
    [batchKinds.settle]: {
      profile(job) {
        const { receiver } = detailsOf<SettleDetails>(job)
        const { caller } = detailsOf<BroughtDetails>(job)
        return { ...alone(job, PAYOUTS + caller, receiver, SETTLE_GAS), accountsThatRun: [] }
      },
      validAfter: () => 0,
      findSettled: (job, receipt) =>
        paidOutIn(receipt, detailsOf<SettleDetails>(job)) === undefined ? undefined : {},
      movedIn: (job, receipt) => paidOutIn(receipt, detailsOf<SettleDetails>(job)) ?? 0n,
      rejectionOf: (_job, revert) => reverted('batchSettleSimulationFailed', 'payout', revert),
      examine: (job, atLeastBlock) =>
        examineSettle(rpc, detailsOf<SettleDetails>(job), { from: job.seenBlock, atLeastBlock }),
    },
    [batchKinds.refund]: {
      profile(job) {
        const { authorizer, payTo, rows, accountsThatRun, gain } = detailsOf<RefundDetails>(job)
        const value = gain === undefined ? undefined : BigInt(gain)
        return { ...alone(job, authorizer, payTo, rowsGas(rows)), accountsThatRun, value }
      },
      validAfter: () => 0,
      findSettled: succeeded,
      movedIn: (job, receipt) =>
        claimedIn(receipt) + (refundedIn(receipt, detailsOf<RefundDetails>(job)) ?? 0n),
      rejectionOf: (_job, revert) => {
        // The simulation passed once, so the nonce was used since: a newer block than the one read shows how.
        return nameRevert(revert) === 'InvalidRefundNonce'
          ? reject('nonceAlreadyUsed', 'The nonce of the refund was used.')
          : reverted('batchRefundSimulationFailed', 'refund', revert)
      },
      examine: (job, atLeastBlock) =>
        examineRefund(rpc, detailsOf<RefundDetails>(job), job.calldata, {
          from: job.seenBlock,
          atLeastBlock,
        }),
    },
  }
}

/** Reads the details that a row stores. */
export function detailsOf<Details>(job: Job): Details {
  return JSON.parse(job.details) as Details
}

function alone(job: Job, payer: string, payTo: string, gas: GasBounds): JobProfile {
  const { caller, standing } = detailsOf<BroughtDetails>(job)
  return {
    isAlone: true,
    payer,
    payTo,
    caller,
    standing,
    gas,
    accountsThatRun: [payer],
    value: undefined,
  }
}

/** Returns the gas that a claim of so many rows may take. */
export function rowsGas(rows: number) {
  return { least: 0n, most: CLAIM_BASE_GAS + CLAIM_ROW_GAS * BigInt(rows) }
}

/** Takes the status of the transaction as that of the job, which is alone in it. */
function succeeded(_job: Job, receipt: Receipt): Settled | undefined {
  return receipt.isSuccess ? {} : undefined
}

function reverted(reason: ReasonKey, action: string, revert: string): Rejection {
  return reject(reason, `The simulated ${action} reverted: ${JSON.stringify(nameRevert(revert))}.`)
}

/** Returns the transfer of a deposit. It goes to the collector, and only the settlement contract can start it. */
function expectedDeposit(job: Job) {
  const { asset, payer, amount, nonce } = detailsOf<DepositDetails>(job)
  const payTo: Address = batchContracts.erc3009Collector
  return { asset, payer, payTo, value: BigInt(amount), nonce }
}

/** Decides a deposit by the end of its authorization. It counts for any sender at any time, because it fills this channel. */
async function decideDeposit(use: AuthorizationUse): Promise<Examination> {
  if (use.state === 'paid') {
    const { receipt, transferLog } = use
    return { state: 'confirmed', receipt, transferLog }
  }
  if (use.state === 'notFound' && use.isFinal) {
    return { state: 'failed', ...reject('batchDepositSimulationFailed', USED_AND_NOT_FOUND) }
  }
  if (use.state === 'unread' || use.transaction === undefined) {
    throw new RpcUnavailableError('the node shows the nonce used, but not the transaction yet')
  }
  const end = use.state === 'cancelled' ? 'cancelled' : 'used for something else'
  const message = `The authorization of the deposit was ${end} in ${use.transaction}.`
  const { transaction } = use
  return { state: 'failed', transaction, ...reject('batchDepositSimulationFailed', message) }
}

/** The block since which a job is known, and the block that a node must have reached for its answer to count. */
interface Since {
  from: number
  atLeastBlock: number
}

/** The number of blocks, some minutes, before a job that are searched as well: a node may have lagged when it began. */
export const LOOK_BACK_BLOCKS = 5_000

/** Examines a claim. The totals on chain decide, for any sender of the transaction. */
async function examineClaim(
  rpc: Rpc,
  { claims }: ClaimDetails,
  since: Since,
): Promise<Examination> {
  const to = await headAfter(rpc, since)
  const ids = claims.map(({ channelId }) => channelId)
  const channels = await readBalances(rpc, ids, to)
  const claimed = channels.map(({ totalClaimed }) => totalClaimed)
  if (!claims.every(({ totalClaimed }, i) => BigInt(totalClaimed) <= (claimed[i] ?? 0n))) {
    return { state: 'open' }
  }
  const log = await findClaims(rpc, claims, { from: lookBack(since.from), to })
  if (log !== undefined) return confirmedBy(rpc, log)
  throw new RpcUnavailableError('the node shows the totals claimed, but not the transaction yet')
}

/** Finds the newest transaction that claimed one of these totals. Throws `RpcUnavailableError`. */
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

/** Examines a payout. The total on chain decides, for any sender of the transaction. */
async function examineSettle(rpc: Rpc, details: SettleDetails, since: Since): Promise<Examination> {
  const { receiver, token } = details
  const settledBefore = BigInt(details.settledBefore)
  const to = await headAfter(rpc, since)
  const { totalSettled } = await readReceiver(rpc, receiver, token, to)
  if (totalSettled <= settledBefore) return { state: 'open' }
  const log = await findPayout(rpc, details, { from: lookBack(since.from), to }, settledBefore)
  if (log !== undefined) return confirmedBy(rpc, log)
  throw new RpcUnavailableError('the node shows the payout, but not its transaction yet')
}

/** Examines a refund. Its nonce was used by this refund if the refund's own amount was returned under it. */
async function examineRefund(
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

/** The selector of a refund and the words of the channel's configuration that follow it. */
const REFUND_CALL = /b77433e9[0-9a-f]{448}/

/**
 * Returns whether a log belongs to this refund. A refund may return less than was asked for if less was left; then only the
 * call itself distinguishes it from another refund with the same nonce.
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

/** Returns whether a transaction claimed something of these channels. */
function isClaimed({ logs, isSuccess }: Receipt, { claims }: ClaimDetails): boolean {
  const ids = new Set(claims.map(({ channelId }) => channelId as string))
  const isOwn = ({ address, topics }: Receipt['logs'][number]) =>
    address === batchContracts.settlement &&
    topics[0] === claimedTopic &&
    ids.has(topics[1]?.toLowerCase() ?? '')
  return isSuccess && logs.some(isOwn)
}

/** Returns the amount that a transaction returned to the payer of a channel, 6-decimal units. */
export function refundedIn(receipt: Receipt, { channelId }: { channelId: Hex }) {
  return amountIn(receipt, [refundedTopic, channelId])
}

/** Returns the amount that a transaction paid out to the receiver, 6-decimal units. */
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

/** Returns the amount that a transaction claimed for receivers over all its channels, 6-decimal units. */
function claimedIn(receipt: Receipt): bigint {
  return receipt.logs
    .filter((it) => it.address === batchContracts.settlement && it.topics[0] === claimedTopic)
    .reduce((sum, { data }) => sum + BigInt(data.slice(0, 2 + 64)), 0n)
}

/**
 * Reads how much each of these totals adds to the claimed total of its channel, 6-decimal units; `undefined` where the
 * channel holds less than the total. Throws `RpcUnavailableError`.
 */
export async function readGains(
  rpc: Rpc,
  totals: readonly { channelId: Hex; totalClaimed: string }[],
): Promise<(bigint | undefined)[]> {
  const ids = totals.map(({ channelId }) => channelId)
  const channels = await readBalances(rpc, ids, 'latest')
  return totals.map(({ totalClaimed }, i) => {
    const { balance = 0n, totalClaimed: before = 0n } = channels[i] ?? {}
    const total = BigInt(totalClaimed)
    return total > balance ? undefined : total - before
  })
}

/** Adds the gains up; a total that is not covered, or below what was claimed before, counts as zero. */
export function gainOf(gains: readonly (bigint | undefined)[]): bigint {
  return gains.reduce<bigint>((sum, gain = 0n) => (gain > 0n ? sum + gain : sum), 0n)
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

/** The errors of the settlement contract and its libraries, which a revert names only by their selectors. */
const errors = [
  'ClaimExceedsBalance()',
  'ClaimExceedsCeiling()',
  'DepositCollectionFailed()',
  'DepositOverflow()',
  'ECDSAInvalidSignature()',
  'ECDSAInvalidSignatureLength(uint256)',
  'ECDSAInvalidSignatureS(bytes32)',
  'EmptyBatch()',
  'InvalidChannel()',
  'InvalidCollector()',
  'InvalidRefundNonce()',
  'InvalidSignature()',
  'NotReceiverAuthorizer()',
  'OnlyX402BatchSettlement()',
  'ReentrancyGuardReentrantCall()',
  'SafeERC20FailedOperation(address)',
  'WithdrawDelayOutOfRange()',
  'ZeroDeposit()',
  'ZeroRefund()',
] as const

const bySelector = new Map<string, string>(
  errors.map((error) => [toFunctionSelector(error), error.slice(0, error.indexOf('('))]),
)

/** Names a revert: by the name of the error, or by its text without URLs of nodes. */
export function nameRevert(revert: string): string {
  const selector = /^custom error (0x[0-9a-f]{8})/.exec(revert)?.[1]
  const name = selector === undefined ? undefined : bySelector.get(selector)
  return name ?? revert.replace(/https?:\/\/\S+/g, '…')
}
