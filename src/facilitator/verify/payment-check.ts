import type { Payment } from '@arcus/protocol/x402/payment'
import type { Rejection } from '@arcus/protocol/x402/reasons'
import { isErc6492Signature, unwrapErc6492Signature } from '@arcus/protocol/x402/signature-forms'
import { LRUCache } from 'lru-cache'
import { type Address, bytesToHex, type Hex } from 'viem'
import type { ReadCoded } from '../../chain/accounts.js'
import { isAcceptedByWallet, simulateTransfer } from '../../chain/contract-wallet.js'
import type { PaymentFacts } from '../../chain/payment-facts.js'
import type { Receipt } from '../../chain/receipts.js'
import type { Rpc } from '../../chain/rpc.js'
import type { SignerRecovery } from '../../chain/signer-recovery.js'
import type { Job, SettlementJournal } from '../journal/settlement-journal.js'
import {
  blockBefore,
  createOwnTransactions,
  digestOfSignature,
  type IsOurs,
  isSinceClaim,
  readExactDetails,
  untraced,
} from '../schemes/exact-job.js'
import {
  type Intent,
  methodOf,
  type NetworkAccess,
  type PaymentDigest,
} from '../schemes/payment-method.js'
import { isFreeOfCharge } from '../schemes/permit2-checks.js'
import { findTerms, findToken, isRejection, reject, type Terms } from './checks.js'
import type { GasGuard } from './gas-guard.js'

export interface ServedNetwork extends NetworkAccess {
  terms: Terms
  rpc: Rpc
  /** The newest block seen; 0 before the first. */
  headBlock(): number
  /** The newest block's time, Unix seconds; undefined before the first block. */
  chainSeconds(): number | undefined
  guardGas: GasGuard
  readCoded: ReadCoded
  /** Returns the price of one gas now, 18-decimal units. */
  gasPrice(): bigint
  /** Returns whether the contracts of `batch-settlement` are deployed on the network. */
  isBatchOffered(): boolean
  /** Returns an error if the token at this lower-case address is no longer the pinned one. */
  tokenMismatch(asset: Address): Error | undefined
}

/** The outcome of the checks that verify and settle share. */
export type CheckResult =
  | { state: 'rejected'; rejection: Rejection; transaction?: Hex }
  /** The journal has a row for this authorization, in progress or confirmed; the row decides. */
  | { state: 'known'; job: Job }
  /** The journal has a row for another authorization with the same nonce, in progress or confirmed. */
  | { state: 'held'; job: Job }
  | { state: 'valid'; intent: Intent }
  /** The payment was claimed here, failed, and was later brought on chain by somebody else. */
  | {
      state: 'paidElsewhere'
      intent: Intent
      failedJob: Job
      receipt: Receipt
      transferLog: number
    }
  /** The payment was claimed here, failed, and was later used in a transaction that no node shows, or traces, yet. */
  | { state: 'unclear'; transaction: Hex | undefined; message?: string }

interface PaymentCheckOptions {
  served: ReadonlyMap<string, ServedNetwork>
  journal: SettlementJournal
  computeDigest: PaymentDigest
  recovery: SignerRecovery
  now: () => number
}

/** Some 2 MB at most. Settle follows verify within seconds, so few signatures need to be remembered. */
const MAX_RECENT_SIGNATURES = 4_000

export interface Purpose {
  isSettle: boolean
  /** The authorization must still be valid for so long. */
  marginSeconds: number
  /** How old sums of gas may be. */
  maxAgeMs: number
}

export type CheckPayment = (payment: Payment, purpose: Purpose) => Promise<CheckResult>

/**
 * Makes the checks that verify and settle share. They run in this order, so that the caller learns the real cause: the
 * terms, the journal, the signature, the chain's facts, the gas budgets, the simulation of a contract wallet. The check
 * rejects with `RpcUnavailableError` when the chain could not be read and with `TokenMismatchError` when the token has
 * changed.
 */
export function createPaymentCheck(options: PaymentCheckOptions): CheckPayment {
  const { served, journal, computeDigest, recovery, now } = options
  const isOurs = createOwnTransactions(journal)
  const recent = new LRUCache<Hex, Hex>({ max: MAX_RECENT_SIGNATURES })
  const termsByNetwork = new Map([...served].map(([name, network]) => [name, network.terms]))

  return async (payment, { isSettle, marginSeconds, maxAgeMs }) => {
    const terms = findTerms(payment, termsByNetwork)
    if (isRejection(terms)) return rejected(terms)
    const network = served.get(payment.network) as ServedNetwork
    const method = methodOf(payment)
    const unserved = checkOffered(payment, network)
    if (unserved !== undefined) return rejected(unserved)
    const mismatch = network.tokenMismatch(payment.asset)
    if (mismatch !== undefined) throw mismatch
    const nowSeconds = Math.max(Math.floor(now() / 1000), network.chainSeconds() ?? 0)
    const refusal = method.checkTerms(payment, terms, {
      nowSeconds,
      marginSeconds,
      isSettle,
    })
    const isOnlyClock =
      refusal !== undefined &&
      isClockReason(refusal) &&
      passesApartFromClock(payment, terms, isSettle)
    if (refusal !== undefined && !isOnlyClock) return rejected(refusal)

    const token = findToken(payment.asset, terms)
    if (isRejection(token)) return rejected(token)
    const digestBytes = computeDigest(payment, token)
    const digest = bytesToHex(digestBytes)
    const { from } = payment.authorization
    const row = await findRow(payment)
    const active = row?.state === 'failed' ? undefined : row
    const isSame = active?.digest === digest
    // Bytes that passed once need no second check.
    if (isSame && isSignatureOf(active, payment.signature)) {
      return byRow(active, digest, payment, isSettle)
    }
    // An expired authorization may have been used in time, but none can be used too early.
    if (refusal?.reason === 'validAfter' && !isSame) return rejected(refusal)

    const facts = await method.readFacts(payment, network)
    if (refusal !== undefined && !isSame && !facts.isNonceUsed) return rejected(refusal)
    const signature = await checkSignature(payment, network, facts, digestBytes, digest)
    if (typeof signature !== 'string') return rejected(isSame ? signature : (refusal ?? signature))
    if (isSame || (active !== undefined && refusal === undefined)) {
      return byRow(active, digest, payment, isSettle)
    }

    const intent: Intent = {
      payment,
      digest,
      signature,
      isAlone: facts.payerHasCode,
      permit: method.permitFor(payment, facts),
      seenBlock: Math.max(facts.blockNumber, network.headBlock()),
      failedJob: row,
    }
    const chainRefusal = method.checkFacts(payment, facts, nowSeconds)
    if (chainRefusal !== undefined) {
      const since = await findNewRow(payment, digest, isSettle)
      if (since !== undefined) return since
      if (facts.isNonceUsed) {
        return checkUsedNonce(intent, network, facts, chainRefusal, isOurs)
      }
      return rejected(chainRefusal)
    }
    if (isFreeOfCharge(payment, { isSettle })) return { state: 'valid', intent }
    const gasRefusal = await network.guardGas({
      account: from,
      hasCode: facts.payerHasCode,
      amount: payment.amount,
      gas: method.gasOf(intent.permit),
      maxAgeMs,
    })
    if (gasRefusal !== undefined) return rejected(gasRefusal)
    // Facts alone show nothing of what a wallet's code does, and whether the token accepts a permit.
    const isSimulated = facts.payerHasCode || intent.permit !== undefined
    const refused = isSimulated ? await simulate(intent, network) : undefined
    if (refused !== undefined) {
      return (await findNewRow(payment, digest, isSettle)) ?? rejected(refused)
    }
    return { state: 'valid', intent }
  }

  function findRow(payment: Payment): Promise<Job | undefined> {
    const { kind, keyOf } = methodOf(payment)
    return journal.findJob(kind, payment.network, keyOf(payment))
  }

  /** Reads the journal again: the chain may have been read after this payment settled, and then its row is there by now. */
  async function findNewRow(payment: Payment, digest: Hex, isSettle: boolean) {
    const row = await findRow(payment)
    if (row === undefined || row.state === 'failed') return undefined
    return byRow(row, digest, payment, isSettle)
  }

  /** Checks the terms without the clock: a payment that settled in time must not be refused because of a late request. */
  function passesApartFromClock(payment: Payment, terms: Terms, isSettle: boolean): boolean {
    const { validAfter } = payment.authorization
    const nowSeconds = Number(validAfter)
    const anyTime = { nowSeconds, marginSeconds: -Number.MAX_SAFE_INTEGER, isSettle }
    return methodOf(payment).checkTerms(payment, terms, anyTime) === undefined
  }

  /** Returns the signature that the token will see, or a rejection. */
  async function checkSignature(
    payment: Payment,
    network: ServedNetwork,
    facts: PaymentFacts,
    digestBytes: Uint8Array,
    digest: Hex,
  ): Promise<Hex | Rejection> {
    const { from } = payment.authorization
    const method = methodOf(payment)
    const isWrapped = isErc6492Signature(payment.signature)
    if (!facts.payerHasCode) {
      if (isWrapped) {
        return reject(
          'factoryNotAllowed',
          `The signature of ${from} deploys a wallet (ERC-6492); deploy it before paying here.`,
        )
      }
      const recoverable = method.toRecoverable(payment.signature)
      if (recoverable !== undefined && isPayers(digest, recoverable, digestBytes, from)) {
        return payment.signature
      }
      const token = network.terms.tokens.get(payment.asset)
      const domain =
        payment.permit2 === undefined
          ? `${payment.asset} (name "${token?.name}", version "${token?.version}")`
          : 'Permit2'
      return reject(
        'signature',
        `The signature does not recover to the payer ${from} under the EIP-712 domain of ${domain} on ${payment.network}.`,
      )
    }
    const signature = isWrapped ? unwrapErc6492Signature(payment.signature) : payment.signature
    if (
      signature !== undefined &&
      (await isAcceptedByWallet(network.rpc, from, digest, signature, { from: method.asker }))
    ) {
      return signature
    }
    return reject(
      'signature',
      `The payer ${from} has code, and its isValidSignature (ERC-1271) does not accept the signature.`,
    )
  }

  /** Recovers the signer once for verify and settle: the digest names the payer, so a match stays valid. */
  function isPayers(digest: Hex, signature: Hex, digestBytes: Uint8Array, payer: Address): boolean {
    if (recent.get(digest) === signature) return true
    const isMatch = recovery.signerMatches(digestBytes, signature, payer)
    if (isMatch) recent.set(digest, signature)
    return isMatch
  }

  /** Simulates the transfer. "Not valid yet" is ignored: the clock has been checked, and a node may simulate in the past. */
  async function simulate(intent: Intent, network: ServedNetwork) {
    const method = methodOf(intent.payment)
    const simulation = await simulateTransfer(network.rpc, method.callOf(intent, network))
    const rejection = simulation.ok
      ? undefined
      : method.rejectionOf(simulation.revert, intent.permit)
    return rejection?.reason === 'validAfter' ? undefined : rejection
  }
}

/** Lets a row decide. A charge of `upto` that another settle claimed stands: this one must not get its answer. */
function byRow(job: Job, digest: Hex, payment: Payment, isSettle: boolean): CheckResult {
  if (job.digest !== digest) return { state: 'held', job }
  const { value } = readExactDetails(job)
  if (payment.scheme === 'upto' && isSettle && BigInt(value) !== payment.amount) {
    const message = `This payment is settled here for ${value}, and cannot be settled for ${payment.amount} as well.`
    return rejected(reject('nonceAlreadyUsed', message))
  }
  return { state: 'known', job }
}

/** Checks that the contracts which a payment needs are there. */
function checkOffered(
  { scheme, permit2, network }: Payment,
  { permit2: access }: ServedNetwork,
): Rejection | undefined {
  if (permit2 === undefined || access.isOffered(scheme)) return undefined
  return scheme === 'upto'
    ? reject('unsupportedScheme', `The contracts of scheme "upto" are not deployed on ${network}.`)
    : reject(
        'unsupportedPayloadType',
        `The contracts of payments by Permit2 are not deployed on ${network}; expected an EIP-3009 authorization.`,
      )
}

function rejected(rejection: Rejection): CheckResult {
  return { state: 'rejected', rejection }
}

function isClockReason({ reason }: Rejection): boolean {
  return reason === 'validBefore' || reason === 'validAfter'
}

/** Returns whether a row has this signature: bytes that passed once need no second check. */
function isSignatureOf(job: Job, signature: Hex): boolean {
  return readExactDetails(job).signatureDigest === digestOfSignature(signature)
}

/** The blocks that are searched for the use of an authorization never claimed here, so that the answer can name the hash. */
const HINT_BLOCKS = 5_000

/**
 * Checks an authorization that is used on chain and has no active row. It counts as paid if the use landed after a settle
 * of it was claimed here. An earlier use may have bought something elsewhere, and a verify before it proves nothing,
 * because verify is open to anybody. Rejects with `RpcUnavailableError`.
 */
async function checkUsedNonce(
  intent: Intent,
  network: ServedNetwork,
  facts: PaymentFacts,
  rejection: Rejection,
  isOurs: IsOurs,
): Promise<CheckResult> {
  const { payment, digest, failedJob } = intent
  const claimed = failedJob?.digest === digest ? failedJob : undefined
  const afterBlock =
    claimed === undefined
      ? Math.max(0, facts.blockNumber - HINT_BLOCKS)
      : blockBefore(claimed.seenBlock)
  const { findUse } = methodOf(payment)
  const purpose = claimed === undefined ? 'hint' : undefined
  const use = await findUse(payment, network, afterBlock, facts.blockNumber, purpose)
  if (claimed !== undefined) {
    if (use.state === 'unread' || (use.state === 'notFound' && !use.isFinal)) {
      return { state: 'unclear', transaction: use.transaction }
    }
    if (use.state === 'untraced' && (await isSinceClaim(use, claimed, isOurs))) {
      return { state: 'unclear', ...untraced(use.receipt.transactionHash) }
    }
    if (use.state === 'paid' && (await isSinceClaim(use, claimed, isOurs))) {
      const { receipt, transferLog } = use
      return { state: 'paidElsewhere', intent, failedJob: claimed, receipt, transferLog }
    }
  }
  const transaction = use.state === 'paid' ? use.receipt.transactionHash : use.transaction
  return { state: 'rejected', rejection, ...(transaction === undefined ? {} : { transaction }) }
}
