import { hash } from 'node:crypto'
import { keptResourceOf, type PaidResource, type ParsedPayment } from '@arcus/protocol/x402/payment'
import { refundText } from '@arcus/protocol/x402/payment-identifier'
import { type ReasonKey, type Rejection, reject } from '@arcus/protocol/x402/reasons'
import type { Address, Hex } from 'viem'
import { encodeTransferWithAuthorization } from '../../chain/abi.js'
import {
  type AuthorizationUse,
  type ExpectedTransfer,
  type FindAuthorizationUse,
  findOwnTransfer,
} from '../../chain/authorization-uses.js'
import { PAYER_IS_SHORT } from '../../chain/deployments.js'
import type { PaymentFacts, ReadPaymentFacts } from '../../chain/payment-facts.js'
import type { Receipt } from '../../chain/receipts.js'
import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import type { Job, NewJob, SettlementJournal } from '../journal/settlement-journal.js'
import type { Examination, JobKind, Settled, Standing } from '../relayer/jobs.js'
import type { Attestor, SettledTransfer } from './attestor.js'
import { checkFacts } from './checks.js'

/** The kind of payments by EIP-3009. */
export const EXACT = 'exact'
/** The kind of payments by Permit2, of both proxies: Permit2 has one set of nonces for each payer, over all tokens. */
export const PERMIT2 = 'permit2'

export function isPayment({ kind }: Pick<Job, 'kind'>): boolean {
  return kind === EXACT || kind === PERMIT2
}

/** The payment as an `exact` job stores it. Amounts and times are decimal strings, times in seconds. */
export interface ExactDetails {
  asset: Address
  payer: Address
  payTo: Address
  value: string
  nonce: Hex
  validAfter: string
  validBefore: string
  /** The digest of the signature, which itself stands in the calldata alone. */
  signatureDigest: string
  isAlone: boolean
  /** The time of the claim, Unix milliseconds. */
  claimedAt: number
  caller: string
  standing: Standing
}

/** Returns what a row remembers of a signature: enough to recognise a repeat, also once the row has no calldata any more. */
export function digestOfSignature(signature: Hex): string {
  return hash('sha256', signature, 'base64url')
}

/** Returns the key of a job: the token accepts each payer's nonce once. */
export function exactKey(asset: Address, payer: Address, nonce: Hex): string {
  return `${asset}/${payer}/${nonce}`
}

/** Returns the nonce that all refunds of a payment have. */
export function refundNonceOf(payment: Parameters<typeof refundText>[0]): Hex {
  return `0x${hash('sha256', refundText(payment))}`
}

/** Makes the job that brings a payment on chain. `signature` is the one the token will see, without any ERC-6492 wrapper. */
export function createExactJob(options: {
  id: string
  payment: Pick<ParsedPayment, 'network' | 'asset' | 'payTo' | 'authorization'> & PaidResource
  digest: Hex
  signature: Hex
  isAlone: boolean
  seenBlock: number
  /** The time of the claim, Unix milliseconds. */
  claimedAt: number
  /** Names the network address that brought it; left out within the process. */
  caller?: string
  standing?: Standing
}): NewJob {
  const { id, payment, digest, signature, isAlone, seenBlock, claimedAt } = options
  const { caller = '', standing = 'none' } = options
  const { from, value, validAfter, validBefore, nonce } = payment.authorization
  const details: ExactDetails = {
    asset: payment.asset,
    payer: from,
    payTo: payment.payTo,
    value: value.toString(),
    nonce,
    validAfter: validAfter.toString(),
    validBefore: validBefore.toString(),
    signatureDigest: digestOfSignature(signature),
    isAlone,
    claimedAt,
    caller,
    standing,
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
    resource: writeResource(payment),
    seenBlock,
    expiresAt: toSafeSeconds(validBefore),
  }
}

/** Returns what a job keeps of the resource that is paid for; `null` where none is named. */
export function writeResource(paid: PaidResource): string | null {
  const kept = keptResourceOf(paid)
  return Object.keys(kept).length === 0 ? null : JSON.stringify(kept)
}

/** Returns the resource that a job was paid for; it is empty where none was named or the payment failed. */
export function readResource({ resource }: Pick<Job, 'resource'>): PaidResource {
  return resource === null ? {} : (JSON.parse(resource) as PaidResource)
}

export function readExactDetails({ details }: Pick<Job, 'details'>): ExactDetails {
  return JSON.parse(details) as ExactDetails
}

/** Reads a payment with the resource that it was paid for. */
export function readPayment(job: Pick<Job, 'details' | 'resource'>): ExactDetails & PaidResource {
  return { ...readExactDetails(job), ...readResource(job) }
}

/** Returns the transfer of a job, as an attestation states it. */
export function transferOf(job: Pick<Job, 'details'>): SettledTransfer {
  const { payer, payTo, asset, value } = readExactDetails(job)
  return { payer, payTo, asset, amount: value }
}

function expectedTransfer(job: Job): ExpectedTransfer {
  const { asset, payer, payTo, value, nonce } = readExactDetails(job)
  return { asset, payer, payTo, value: BigInt(value), nonce }
}

/** Returns whether a transaction was signed here for this job. */
export type IsOurs = (job: Job, transaction: Hex) => Promise<boolean>

/** Makes `IsOurs` from the transactions in the journal. */
export function createOwnTransactions(
  journal: Pick<SettlementJournal, 'findByTransaction'>,
): IsOurs {
  return async (job, transaction) => {
    const rows = await journal.findByTransaction(transaction)
    return rows.some(({ id }) => id === job.id)
  }
}

/** The parts of a network with which the jobs of a method of payment are examined and attested. */
export interface PaymentKindOptions<Expected = ExpectedTransfer> {
  findUse: FindAuthorizationUse<Expected>
  readFacts: ReadPaymentFacts
  isOurs: IsOurs
  /** `undefined` where nothing is attested. */
  attestor?: Attestor | undefined
}

/** Makes the handler of `exact` jobs for the relayer. */
export function createExactKind(options: PaymentKindOptions): JobKind {
  return {
    ...paymentKind(options.attestor),
    findSettled: (job, receipt) => settledBy(receipt, expectedTransfer(job)),
    rejectionOf: (_job, revert) => rejectionOfRevert(revert),
    examine: (job, atLeastBlock, receipt) =>
      examine(expectedTransfer(job), options, job, atLeastBlock, {
        decide: (use) => examineUse(use, job, options.isOurs, receipt),
      }),
  }
}

/** Returns the part of a handler that is the same for every method of payment. */
export function paymentKind(
  attestor: Attestor | undefined,
): Pick<JobKind, 'profile' | 'validAfter' | 'movedIn' | 'attest'> {
  return {
    profile(job) {
      const { isAlone, payer, asset, payTo, nonce, value, caller, standing } = readExactDetails(job)
      return {
        isAlone,
        payer,
        asset,
        payTo,
        nonce,
        caller,
        standing,
        accountsThatRun: [payer],
        value: BigInt(value),
      }
    },
    validAfter: (job) => toSafeSeconds(BigInt(readExactDetails(job).validAfter)),
    movedIn: (job) => BigInt(readExactDetails(job).value),
    attest: (job, receipt) => attestor?.attest(job, transferOf(job), receipt),
  }
}

/** Finds the transfer that belongs to the use of an authorization in a receipt. */
export function settledBy(receipt: Receipt, expected: ExpectedTransfer): Settled | undefined {
  const transferLog = findOwnTransfer(receipt.logs, expected)
  return transferLog === undefined ? undefined : { transferLog }
}

/** Examines a job that an authorization backs, by the facts and the uses of its method. Throws `RpcUnavailableError`. */
export async function examine<Expected extends ExpectedTransfer>(
  expected: Expected,
  { findUse, readFacts }: Pick<PaymentKindOptions<Expected>, 'findUse' | 'readFacts'>,
  job: Job,
  atLeastBlock: number,
  options: {
    /** Decides the job by the end that its authorization found. */
    decide(use: AuthorizationUse): Promise<Examination>
    /** Checks what the token alone does not ask. */
    checkMore?(facts: PaymentFacts): Rejection | undefined
    /** The reason of a job whose time is over; `validBefore` if left out. */
    expired?: ReasonKey
  },
): Promise<Examination> {
  const { decide, checkMore = () => undefined, expired = 'validBefore' } = options

  const facts = await readFacts(expected)
  if (facts.blockNumber < atLeastBlock) {
    throw new RpcUnavailableError('the chain node is behind the block that was already seen')
  }
  if (facts.isNonceUsed) {
    return decide(await findUse(expected, blockBefore(job.seenBlock), facts.blockNumber))
  }
  if (facts.blockTimestamp >= job.expiresAt) {
    return failed(
      reject(
        expired,
        `The authorization expired at ${job.expiresAt} unused; the chain's time is ${facts.blockTimestamp}.`,
      ),
    )
  }
  const rejection = checkFacts(expected, facts) ?? checkMore(facts)
  return rejection === undefined ? { state: 'open' } : { state: 'refused', ...rejection }
}

/**
 * Decides the outcome of a job by the transaction that used the nonce. `own` is the receipt of a transaction of ours that
 * did not settle it.
 */
export async function examineUse(
  use: AuthorizationUse,
  job: Job,
  isOurs: IsOurs,
  own?: Receipt,
): Promise<Examination> {
  const usedBy = (transaction: Hex, message: string) => ({
    ...failed(reject('nonceAlreadyUsed', message)),
    transaction,
  })
  switch (use.state) {
    case 'paid': {
      const { receipt, transferLog } = use
      const { transactionHash } = receipt
      if (await isWhileOpen(use, job, isOurs)) {
        const isOwn = await isOurs(job, transactionHash)
        return { state: 'confirmed', receipt, transferLog, isOwn }
      }
      return usedBy(
        transactionHash,
        `It was used in ${transactionHash} before it was settled here.`,
      )
    }
    case 'cancelled':
      return usedBy(use.transaction, `The payer cancelled the authorization in ${use.transaction}.`)
    case 'otherTransfer':
      return (await isOurs(job, use.transaction))
        ? withoutTransfer(use.transaction)
        : usedBy(
            use.transaction,
            `Another authorization with this nonce was used in ${use.transaction}.`,
          )
    case 'otherUse': {
      const message = `Something other than this payment used the nonce in block ${use.blockNumber}`
      const sent = own?.transactionHash ?? job.transaction
      if (sent === null || !(await isOurs(job, sent))) {
        return failed(reject('nonceAlreadyUsed', `${message}.`))
      }
      return usedBy(sent, `${message}, so ${sent}, which was sent for it, could not settle it.`)
    }
    case 'untraced': {
      const { blockNumber, transactionHash: transaction } = use.receipt
      if (await isWhileOpen(use, job, isOurs))
        return { state: 'uncertain', ...untraced(transaction) }
      const message = `It was used in block ${blockNumber}, before it was settled here.`
      return failed(reject('nonceAlreadyUsed', message))
    }
    case 'notFound':
      if (use.isFinal) return failed(reject('nonceAlreadyUsed', USED_AND_NOT_FOUND))
  }
  throw new RpcUnavailableError('the chain node shows the nonce used but not yet by whom')
}

/**
 * Returns whether a use counts for this job: it is our own, or it was mined while the job was open, after its claim and
 * before its failure was decided. After the claim means a later block than the newest seen at it, and not an earlier second,
 * because nodes that lag may have hidden blocks. Before the failure means an earlier second: anybody can make a claim that
 * fails, and spend the payment elsewhere afterwards.
 */
export async function isWhileOpen(
  { receipt, minedAt }: AuthorizationUse & { state: 'paid' | 'untraced' },
  job: Job,
  isOurs: IsOurs,
): Promise<boolean> {
  if (receipt.blockNumber <= job.seenBlock) return false
  const isSinceClaim = minedAt >= Math.floor(readExactDetails(job).claimedAt / 1000)
  const isInTime = job.state !== 'failed' || minedAt < Math.floor(job.updatedAt / 1000)
  if (isSinceClaim && isInTime) return true
  return isOurs(job, receipt.transactionHash)
}

/** Says why nobody knows whether a transaction of somebody else settled a payment. */
export function untraced(transaction: Hex): { transaction: Hex; message: string } {
  const message = `The payment was used on chain, and ${transaction} moved the same amount from payer to recipient in that block, through a contract. Only a trace of it (debug_traceTransaction) shows whether it settled this payment, and no chain node of this facilitator gave one; settle it again to ask again.`
  return { transaction, message }
}

/** The end of a job whose own call took effect and did not make the expected transfer. */
export function withoutTransfer(transaction: Hex): Examination {
  const message = `Transaction ${transaction} used the authorization without the expected transfer.`
  return { ...failed(reject('transferEventMismatch', message)), transaction }
}

/** The message when every block since the claim was searched repeatedly and no node shows the use. */
export const USED_AND_NOT_FOUND =
  'The authorization was used on chain, and no node shows in which transaction.'

/** Returns where to begin the search: the facts of a claim may be a block old, so a use in that block counts as well. */
export function blockBefore(seenBlock: number): number {
  return Math.max(0, seenBlock - 2)
}

function failed(rejection: Rejection): { state: 'failed' } & Rejection {
  return { state: 'failed', ...rejection }
}

/** Returns a uint256 of seconds as a number; a time past 2^53 never comes. */
function toSafeSeconds(seconds: bigint): number {
  return seconds > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(seconds)
}

/** The revert texts of Circle's FiatToken v2.2 and OpenZeppelin's errors; the first match counts. */
const causes: readonly [RegExp, Rejection['reason']][] = [
  [
    /authorization is (used|canceled)|AuthorizationAlreadyUsed|AuthorizationUsedOrCanceled/i,
    'nonceAlreadyUsed',
  ],
  [/authorization is expired|AuthorizationExpired/i, 'validBefore'],
  [/authorization is not yet valid|AuthorizationNotYetValid/i, 'validAfter'],
  [/exceeds balance|insufficient balance|ERC20InsufficientBalance/i, 'insufficientBalance'],
  [/invalid signature|SignerMismatch|InvalidSignature/i, 'signature'],
  [/paused/i, 'assetPaused'],
]

/** Returns the rejection for a revert of the transfer. Its message quotes the revert text, without URLs of nodes. */
export function rejectionOfRevert(revert: string): Rejection {
  if (revert === PAYER_IS_SHORT) {
    return reject('insufficientBalance', 'The payer holds less than the payment moves.')
  }
  const reason = causes.find(([wording]) => wording.test(revert))?.[1] ?? 'simulationFailed'
  const text = JSON.stringify(revert.replace(/https?:\/\/\S+/g, '…'))
  return { reason, message: `The simulated transfer reverted: ${text}.` }
}
