import type { Address, Hex } from 'viem'
import { encodeTransferWithAuthorization } from '../chain/abi.js'
import {
  type ExpectedTransfer,
  findAuthorizationUse,
  isPaidBy,
} from '../chain/authorization-uses.js'
import type { ReadPaymentFacts } from '../chain/payment-facts.js'
import type { Rpc } from '../chain/rpc.js'
import { RpcUnavailableError } from '../chain/rpc-errors.js'
import type { Examination, JobKind } from '../relayer/job-kind.js'
import type { Job, NewJob } from '../store/settlement-journal.js'
import type { Payment } from '../x402/payment.js'
import { judgeFacts, reject } from './ladder.js'
import { rejectionOfRevert } from './revert-reasons.js'

export const EXACT = 'exact'

/** What an `exact` job keeps of its payment. Amounts and times as decimal strings, seconds. */
export interface ExactDetails {
  asset: Address
  payer: Address
  payTo: Address
  value: string
  nonce: Hex
  validAfter: string
  validBefore: string
  signature: Hex
  isAlone: boolean
  resourceUrl?: string
}

/** The job's key is what the token lets happen once. */
export function exactKey(asset: Address, payer: Address, nonce: Hex): string {
  return `${asset}/${payer}/${nonce}`
}

/** Makes the job that brings a payment on chain. `signature` is the one the token will see, without any ERC-6492 wrap. */
export function createExactJob(options: {
  id: string
  payment: Payment
  digest: Hex
  signature: Hex
  isAlone: boolean
  seenBlock: number
}): NewJob {
  const { id, payment, digest, signature, isAlone, seenBlock } = options
  const { from, value, validAfter, validBefore, nonce } = payment.authorization
  const details: ExactDetails = {
    asset: payment.asset,
    payer: from,
    payTo: payment.payTo,
    value: value.toString(),
    nonce,
    validAfter: validAfter.toString(),
    validBefore: validBefore.toString(),
    signature,
    isAlone,
    ...(payment.resourceUrl === undefined ? {} : { resourceUrl: payment.resourceUrl }),
  }
  return {
    id,
    kind: EXACT,
    network: payment.network,
    key: exactKey(payment.asset, from, nonce),
    digest,
    to: payment.asset,
    calldata: encodeTransferWithAuthorization(payment.authorization, signature),
    details: JSON.stringify(details),
    seenBlock,
    expiresAt: toSafeSeconds(validBefore),
  }
}

export function readExactDetails(job: Job): ExactDetails {
  return JSON.parse(job.details) as ExactDetails
}

export function expectedTransfer(job: Job): ExpectedTransfer {
  const { asset, payer, payTo, value, nonce } = readExactDetails(job)
  return { asset, payer, payTo, value: BigInt(value), nonce }
}

/** The handler of `exact` jobs for the relayer. */
export function createExactKind(rpc: Rpc, readFacts: ReadPaymentFacts): JobKind {
  return {
    ride(job) {
      const { isAlone, payer, payTo } = readExactDetails(job)
      return { isAlone, payer, payTo }
    },
    validAfter: (job) => toSafeSeconds(BigInt(readExactDetails(job).validAfter)),
    isSettledBy: (job, receipt) => isPaidBy(receipt.logs, expectedTransfer(job)),
    rejectionOf: (_job, revert) => rejectionOfRevert(revert),
    examine: (job, atLeastBlock) => examine(rpc, readFacts, job, atLeastBlock),
  }
}

async function examine(
  rpc: Rpc,
  readFacts: ReadPaymentFacts,
  job: Job,
  atLeastBlock: number,
): Promise<Examination> {
  const expected = expectedTransfer(job)
  const facts = await readFacts(expected)
  if (facts.blockNumber < atLeastBlock) {
    throw new RpcUnavailableError('the chain node is behind the block that was already seen')
  }
  if (facts.isNonceUsed) {
    const use = await findAuthorizationUse(rpc, expected, job.seenBlock, facts.blockNumber)
    switch (use.state) {
      case 'paid':
        return { state: 'confirmed', receipt: use.receipt }
      case 'cancelled':
        return failed(
          reject(
            'nonceAlreadyUsed',
            `The payer cancelled the authorization in ${use.transaction}.`,
          ),
        )
      case 'otherTransfer':
        return failed(
          use.transaction === job.transaction
            ? reject(
                'transferEventMismatch',
                `Transaction ${use.transaction} used the authorization without the expected transfer.`,
              )
            : reject(
                'nonceAlreadyUsed',
                `Another authorization with this nonce was used in ${use.transaction}.`,
              ),
        )
      case 'unread':
      case 'notFound':
        throw new RpcUnavailableError('the chain node shows the nonce used but not yet by whom')
    }
  }
  if (facts.blockTimestamp >= job.expiresAt) {
    return failed(
      reject(
        'validBefore',
        `The authorization expired at ${job.expiresAt} unused; the chain's time is ${facts.blockTimestamp}.`,
      ),
    )
  }
  const { payer, payTo, asset, value, nonce } = expected
  const rejection = judgeFacts(
    { asset, payTo, authorization: { from: payer, value, nonce } } as Payment,
    facts,
  )
  return rejection === undefined ? { state: 'open' } : { state: 'refused', ...rejection }
}

function failed(rejection: ReturnType<typeof reject>): Examination {
  return { state: 'failed', ...rejection }
}

/** A uint256 of seconds as a number; what is past 2^53 is never. */
function toSafeSeconds(seconds: bigint): number {
  return seconds > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(seconds)
}
