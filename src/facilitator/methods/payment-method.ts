import { permit2Contracts } from '@arcus/protocol/x402/address'
import { createAuthorizationDigest } from '@arcus/protocol/x402/authorization-digest'
import type { Keccak256 } from '@arcus/protocol/x402/keccak'
import type { ParsedPayment, TokenPermit } from '@arcus/protocol/x402/payment'
import { createPermit2Digest } from '@arcus/protocol/x402/permit2-digest'
import type { Rejection } from '@arcus/protocol/x402/reasons'
import { canonicalSignature } from '@arcus/protocol/x402/signature-forms'
import type { Address, Hex } from 'viem'
import { encodeTransferWithAuthorization } from '../../chain/abi.js'
import type { AuthorizationUse, ExpectedTransfer } from '../../chain/authorization-uses.js'
import type { PaymentFacts } from '../../chain/payment-facts.js'
import { encodePermit2Settle, proxyOf, transferOfPayment } from '../../chain/permit2.js'
import type { Token } from '../../chain/token.js'
import type { Job, NewJob } from '../journal/settlement-journal.js'
import type { Standing } from '../relayer/jobs.js'
import { type Clock, checkFacts, checkTerms } from './checks.js'
import { createExactJob, EXACT, exactKey, PERMIT2, rejectionOfRevert } from './exact-job.js'
import type { Network, NetworkTerms } from './network.js'
import { checkPermit2Terms, checkTokenPermit } from './permit2-checks.js'
import {
  checkAllowance,
  createPermit2Job,
  permit2Gas,
  permit2Key,
  rejectionOfPermit2Revert,
} from './permit2-job.js'

/** The facts that are needed to claim a payment. */
export interface Intent {
  payment: ParsedPayment
  digest: Hex
  /** The signature that the token will see, without any ERC-6492 wrapper. */
  signature: Hex
  isAlone: boolean
  /** The permit of the token that goes with the payment. */
  permit: TokenPermit | undefined
  /** What the payer holds of the token. */
  balance: bigint
  /** The newest block at this moment. Once the payment is claimed, its use in a later block counts as settled. */
  seenBlock: number
  /** The block whose facts show all that the token asks of the payment; absent where only a simulation shows it. */
  provenInBlock: number | undefined
  /** The row of an earlier settlement that failed. */
  failedJob: Job | undefined
  /** Names the network address that brought it; '' within the process. */
  caller: string
  standing: Standing
}

/** How a payment is checked and claimed: by EIP-3009, where the token takes the authorization, or by Permit2. */
export interface PaymentMethod {
  /** The kind of its jobs. */
  kind: string
  keyOf(payment: ParsedPayment): string
  checkTerms(payment: ParsedPayment, terms: NetworkTerms, clock: Clock): Rejection | undefined
  readFacts(payment: ParsedPayment, network: Network): Promise<PaymentFacts>
  /** Checks the facts next to what the other payments of the payer take that wait here. */
  checkFacts(
    payment: ParsedPayment,
    facts: PaymentFacts,
    nowSeconds: number,
    waiting: bigint,
  ): Rejection | undefined
  findUse(
    payment: ParsedPayment,
    network: Network,
    afterBlock: number,
    headBlock: number,
    purpose?: 'hint',
  ): Promise<AuthorizationUse>
  /** Returns the signature of an account in the one form that recovers; `undefined` if the contract does not take it. */
  toRecoverable(signature: Hex): Hex | undefined
  /** The contract that asks a wallet about the signature; absent where it does not matter. */
  asker?: Address
  /** Returns the permit of the token that must go with the payment, as far as these facts show. */
  permitFor(payment: ParsedPayment, facts: PaymentFacts): TokenPermit | undefined
  /** Returns whether these facts show all that the token asks of the payment, so that a simulation adds nothing. */
  isProvenBy(payment: ParsedPayment, facts: PaymentFacts, network: Network): boolean
  /** Returns the gas it takes, in units of gas; `undefined` for that of a plain payment. */
  gasOf(permit: TokenPermit | undefined): bigint | undefined
  /** Returns the transaction that settles it. */
  callOf(intent: Intent, network: Network): { from: Address; to: Address; data: Hex }
  rejectionOf(revert: string, permit: TokenPermit | undefined): Rejection
  createJob(intent: Intent, claim: { id: string; claimedAt: number }): NewJob
}

const byEip3009: PaymentMethod = {
  kind: EXACT,
  keyOf: ({ asset, authorization: { from, nonce } }) => exactKey(asset, from, nonce),
  checkTerms,
  readFacts: (payment, { readFacts }) => readFacts(expectedOf(payment)),
  checkFacts: (payment, facts, _now, waiting) => checkFacts(expectedOf(payment), facts, waiting),
  findUse: (payment, { findUse }, afterBlock, headBlock) =>
    findUse(expectedOf(payment), afterBlock, headBlock),
  toRecoverable: (signature) => signature,
  permitFor: () => undefined,
  isProvenBy({ asset }, { payerHasCode }, { terms }) {
    const token = terms.tokens.get(asset)
    return !payerHasCode && token !== undefined && token.hasBlocklist && token.hasPause
  },
  gasOf: () => undefined,
  callOf: (
    { payment, signature },
    {
      relayer: {
        addresses: [from],
      },
    },
  ) => ({
    from,
    to: payment.asset,
    data: encodeTransferWithAuthorization(payment.authorization, signature),
  }),
  rejectionOf: rejectionOfRevert,
  createJob: (intent, claim) => createExactJob({ ...intent, ...claim }),
}

const byPermit2: PaymentMethod = {
  kind: PERMIT2,
  keyOf: ({ authorization: { from, nonce } }) => permit2Key(from, nonce),
  checkTerms: checkPermit2Terms,
  readFacts: (payment, { permit2 }) => permit2.readFacts(transferOfPayment(payment)),
  checkFacts(payment, facts, nowSeconds, waiting) {
    const transfer = transferOfPayment(payment)
    const refusal = checkFacts(transfer, facts, waiting)
    if (refusal !== undefined) return refusal
    const lack = checkAllowance(transfer.value, facts.allowance, transfer.payer)
    const hasPermit = payment.permit2?.permit !== undefined
    return lack !== undefined && hasPermit ? checkTokenPermit(payment, nowSeconds) : lack
  },
  findUse: (payment, { permit2 }, ...blocks) =>
    permit2.findUse(transferOfPayment(payment), ...blocks),
  toRecoverable(signature) {
    const isPlain = /^0x[0-9a-f]{128}(1b|1c)$/.test(signature)
    const isCompact = signature.length === 2 + 128
    return isPlain || isCompact ? canonicalSignature(signature) : undefined
  },
  asker: permit2Contracts.permit2,
  permitFor(payment, { allowance }) {
    const permit = payment.permit2?.permit
    const isNeeded = allowance < payment.amount && permit !== 'malformed'
    return isNeeded ? permit : undefined
  },
  isProvenBy: () => false,
  gasOf: (permit) => permit2Gas(permit !== undefined),
  callOf(
    { payment, signature, permit },
    {
      relayer: {
        addresses: [any],
      },
    },
  ) {
    const transfer = transferOfPayment(payment)
    const from = transfer.facilitator ?? any
    return { from, to: proxyOf(transfer), data: encodePermit2Settle(transfer, signature, permit) }
  },
  rejectionOf: (revert, permit) => rejectionOfPermit2Revert(revert, permit !== undefined),
  createJob: (intent, claim) => createPermit2Job({ ...intent, ...claim }),
}

export function methodOf({ permit2 }: Pick<ParsedPayment, 'permit2'>): PaymentMethod {
  return permit2 === undefined ? byEip3009 : byPermit2
}

/** Returns the transfer that a payment by EIP-3009 makes: all that was authorized. */
function expectedOf({
  asset,
  payTo,
  authorization,
}: Pick<ParsedPayment, 'asset' | 'payTo' | 'authorization'>): ExpectedTransfer {
  const { from: payer, value, nonce } = authorization
  return { asset, payer, payTo, value, nonce }
}

/** Digests what the payer of a payment signed, to 32 fresh bytes. */
export type PaymentDigest = (
  payment: Pick<ParsedPayment, 'authorization' | 'permit2'>,
  token: Pick<Token, 'chainId' | 'domainSeparator'>,
) => Uint8Array

export function createPaymentDigest(keccak256: Keccak256): PaymentDigest {
  const digestEip3009 = createAuthorizationDigest(keccak256)
  const digestPermit2 = createPermit2Digest(keccak256)
  return ({ authorization, permit2 }, { chainId, domainSeparator }) =>
    permit2 === undefined
      ? digestEip3009(domainSeparator, authorization)
      : digestPermit2(chainId, authorization, permit2)
}
