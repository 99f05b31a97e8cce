import type { Address } from 'viem'
import type { FindAuthorizationUse } from '../../chain/authorization-uses.js'
import { batchContracts } from '../../chain/batch-settlement.js'
import { WALLET_GAS_CAP } from '../../chain/contract-wallet.js'
import type { ReadPaymentFacts } from '../../chain/payment-facts.js'
import type { Receipt } from '../../chain/receipts.js'
import type { Rpc } from '../../chain/rpc.js'
import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import type { Examination, GasBounds, JobKind, JobProfile, Settled } from '../../relayer/jobs.js'
import type { Job } from '../../store/settlement-journal.js'
import type { Payment } from '../../x402/payment.js'
import type { ReasonKey, Rejection } from '../../x402/reasons.js'
import { blockBefore, settledBy, USED_AND_NOT_FOUND } from '../exact-job.js'
import { judgeFacts, reject } from '../ladder.js'
import {
  batchKinds,
  type ClaimDetails,
  type DepositDetails,
  type RefundDetails,
  type SettleDetails,
} from './actions.js'
import {
  claimedIn,
  examineClaim,
  examineRefund,
  examineSettle,
  gainOf,
  isClaimed,
  paidOutIn,
  readGains,
  refundedIn,
} from './examinations.js'
import { wordsOf } from './revert-words.js'

/** Gas of a payout is given in full: simulated on a node that lags it looks as if nothing were due. */
const SETTLE_GAS = { least: 150_000n, most: 400_000n }
/** A payer's own code may run in it. */
const DEPOSIT_GAS = { least: 0n, most: WALLET_GAS_CAP }
/** A row takes some 25,000 with a plain signature; a wallet's own check of it may take much more. */
const CLAIM_ROW_GAS = 120_000n
const CLAIM_BASE_GAS = 200_000n

/**
 * The handlers of the jobs of `batch-settlement`. Each travels in a transaction of its own, so that the status of
 * the transaction is that of the job.
 */
export function createBatchKinds(
  rpc: Rpc,
  findUse: FindAuthorizationUse,
  readFacts: ReadPaymentFacts,
): Record<string, JobKind> {
  return {
    [batchKinds.deposit]: {
      profile(job) {
        const { payer, payTo, amount } = detailsOf<DepositDetails>(job)
        return { ...alone(payer, payTo, DEPOSIT_GAS), runners: [payer], value: BigInt(amount) }
      },
      validAfter: (job) => Number(detailsOf<DepositDetails>(job).validAfter),
      findSettled: (job, receipt) => settledBy(receipt, expectedDeposit(job)),
      movedIn: (job) => BigInt(detailsOf<DepositDetails>(job).amount),
      rejectionOf: (_job, revert) =>
        /authorization is (used|canceled)/i.test(revert)
          ? reject('nonceAlreadyUsed', 'The authorization of the deposit was used or cancelled.')
          : reverted('batchDepositSimulationFailed', 'deposit', revert),
      examine: (job, atLeastBlock) => examineDeposit(findUse, readFacts, job, atLeastBlock),
    },
    [batchKinds.claim]: {
      profile(job) {
        const { authorizer, payTo, claims, runners } = detailsOf<ClaimDetails>(job)
        return { ...alone(authorizer, payTo, rowsGas(claims.length)), ...(runners && { runners }) }
      },
      validAfter: () => 0,
      // Another claim may have gone before it, so that it changed nothing.
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
        // Anybody may ask for a payout; the receiver alone has something of it.
        const { receiver } = detailsOf<SettleDetails>(job)
        return { ...alone(receiver, receiver, SETTLE_GAS), runners: [] }
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
        const { authorizer, payTo, rows, runners, gain } = detailsOf<RefundDetails>(job)
        const value = gain === undefined ? undefined : BigInt(gain)
        return { ...alone(authorizer, payTo, rowsGas(rows)), ...(runners && { runners }), value }
      },
      validAfter: () => 0,
      findSettled: succeeded,
      movedIn: (job, receipt) =>
        claimedIn(receipt) + (refundedIn(receipt, detailsOf<RefundDetails>(job)) ?? 0n),
      rejectionOf: (_job, revert) => {
        const words = wordsOf(revert)
        // Its simulation passed once, so the nonce went by: the truth is in a newer block than the one read.
        return words === 'InvalidRefundNonce'
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

export function detailsOf<Details>(job: Job): Details {
  return JSON.parse(job.details) as Details
}

function alone(payer: string, payTo: string, gas: GasBounds): JobProfile {
  return { isAlone: true, payer, payTo, gas, runners: [payer], value: undefined }
}

/** Units of gas a claim of so many rows may take. */
export function rowsGas(rows: number) {
  return { least: 0n, most: CLAIM_BASE_GAS + CLAIM_ROW_GAS * BigInt(rows) }
}

/** In a transaction of its own nothing else can have failed or passed. */
function succeeded(_job: Job, receipt: Receipt): Settled | undefined {
  return receipt.isSuccess ? {} : undefined
}

function reverted(reason: ReasonKey, what: string, revert: string): Rejection {
  return reject(reason, `The simulated ${what} reverted: ${JSON.stringify(wordsOf(revert))}.`)
}

/** The collector takes the money first; only the settlement contract lets it, and only for this channel. */
function expectedDeposit(job: Job) {
  const { asset, payer, amount, nonce } = detailsOf<DepositDetails>(job)
  const payTo: Address = batchContracts.erc3009Collector
  return { asset, payer, payTo, value: BigInt(amount), nonce }
}

async function examineDeposit(
  findUse: FindAuthorizationUse,
  readFacts: ReadPaymentFacts,
  job: Job,
  atLeastBlock: number,
): Promise<Examination> {
  const expected = expectedDeposit(job)
  const facts = await readFacts(expected)
  if (facts.blockNumber < atLeastBlock) {
    throw new RpcUnavailableError('the chain node is behind the block that was already seen')
  }
  if (facts.isNonceUsed) {
    const use = await findUse(expected, blockBefore(job.seenBlock), facts.blockNumber)
    if (use.state === 'paid') {
      const { receipt, transferLog } = use
      return { state: 'confirmed', receipt, transferLog }
    }
    if (use.state === 'notFound' && use.isFinal) {
      return { state: 'failed', ...reject('batchDepositSimulationFailed', USED_AND_NOT_FOUND) }
    }
    if (use.state === 'notFound' || use.state === 'unread') {
      throw new RpcUnavailableError('the chain node shows the nonce used but not yet by whom')
    }
    const what = use.state === 'cancelled' ? 'cancelled' : 'used for something else'
    const message = `The authorization of the deposit was ${what} in ${use.transaction}.`
    const { transaction } = use
    return { state: 'failed', transaction, ...reject('batchDepositSimulationFailed', message) }
  }
  if (facts.blockTimestamp >= job.expiresAt) {
    const message = `The authorization expired at ${job.expiresAt} unused; the chain's time is ${facts.blockTimestamp}.`
    return { state: 'failed', ...reject('batchValidBefore', message) }
  }
  const { payer, payTo, asset, value, nonce } = expected
  const payment = { asset, payTo, authorization: { from: payer, value, nonce } } as Payment
  const rejection = judgeFacts(payment, facts)
  return rejection === undefined ? { state: 'open' } : { state: 'refused', ...rejection }
}
