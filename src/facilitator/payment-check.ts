import { LRUCache } from 'lru-cache'
import { type Address, bytesToHex, type Hex } from 'viem'
import { encodeTransferWithAuthorization } from '../chain/abi.js'
import type { ReadCoded } from '../chain/accounts.js'
import type { FindAuthorizationUse } from '../chain/authorization-uses.js'
import { isAcceptedByWallet, simulateTransfer } from '../chain/contract-wallet.js'
import type { PaymentFacts, ReadPaymentFacts } from '../chain/payment-facts.js'
import type { Receipt } from '../chain/receipts.js'
import type { Rpc } from '../chain/rpc.js'
import type { Job, SettlementJournal } from '../store/settlement-journal.js'
import type { AuthorizationDigest } from '../x402/authorization-digest.js'
import type { Payment } from '../x402/payment.js'
import type { Rejection } from '../x402/reasons.js'
import { isErc6492Signature, unwrapErc6492Signature } from '../x402/signature-forms.js'
import type { SignerRecovery } from '../x402/signer-recovery.js'
import {
  checkFacts,
  checkTerms,
  findTerms,
  findToken,
  isRejection,
  reject,
  type Terms,
} from './checks.js'
import {
  blockBefore,
  createOwnTransactions,
  EXACT,
  exactKey,
  type IsOurs,
  isSinceClaim,
  rejectionOfRevert,
} from './exact-job.js'
import type { GasGuard } from './gas-guard.js'

/** A network as the facilitator serves it. */
export interface ServedNetwork {
  terms: Terms
  rpc: Rpc
  readFacts: ReadPaymentFacts
  findUse: FindAuthorizationUse
  /** The newest block seen; 0 before the first. */
  headBlock(): number
  /** The newest block's time, Unix seconds; undefined before the first block. */
  chainSeconds(): number | undefined
  /** The wallets that send transactions; simulations use the first. */
  relayers: readonly [Address, ...Address[]]
  guardGas: GasGuard
  readCoded: ReadCoded
  /** Returns the price of one gas now, 18-decimal units. */
  gasPrice(): bigint
  /** Tells whether the contracts of `batch-settlement` are deployed on the network. */
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
  /** The payment was claimed here, failed, and was later used in a transaction that no node shows yet. */
  | { state: 'unclear'; transaction: Hex | undefined }

/** The facts that are needed to claim a payment. */
export interface Intent {
  payment: Payment
  digest: Hex
  /** The signature that the token will see, without any ERC-6492 wrapper. */
  signature: Hex
  isAlone: boolean
  /** The newest block at this moment. Once the payment is claimed, its use in a later block counts as settled. */
  seenBlock: number
  /** The row of an earlier settlement that failed. */
  failedJob: Job | undefined
}

interface PaymentCheckOptions {
  served: ReadonlyMap<string, ServedNetwork>
  journal: SettlementJournal
  computeDigest: AuthorizationDigest
  recovery: SignerRecovery
  now: () => number
}

/** Some 2 MB at most. Settle follows verify within seconds, so few signatures need to be remembered. */
const MAX_RECENT_SIGNATURES = 4_000

/** Checks a payment. Its authorization must still be valid for `marginSeconds`; sums of gas may be `maxAgeMs` old. */
export type CheckPayment = (
  payment: Payment,
  marginSeconds: number,
  maxAgeMs?: number,
) => Promise<CheckResult>

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

  return async (payment, marginSeconds, maxAgeMs = 0) => {
    const terms = findTerms(payment, termsByNetwork)
    if (isRejection(terms)) return rejected(terms)
    const network = served.get(payment.network) as ServedNetwork
    const mismatch = network.tokenMismatch(payment.asset)
    if (mismatch !== undefined) throw mismatch
    const nowSeconds = Math.max(Math.floor(now() / 1000), network.chainSeconds() ?? 0)
    const refusal = checkTerms(payment, terms, { nowSeconds, marginSeconds })
    const isOnlyClock =
      refusal !== undefined && isClockReason(refusal) && passesApartFromClock(payment, terms)
    if (refusal !== undefined && !isOnlyClock) return rejected(refusal)

    const token = findToken(payment.asset, terms)
    if (isRejection(token)) return rejected(token)
    const digestBytes = computeDigest(token.domainSeparator, payment.authorization)
    const digest = bytesToHex(digestBytes)
    const { from, nonce } = payment.authorization
    const key = exactKey(payment.asset, from, nonce)
    const row = await journal.findJob(EXACT, payment.network, key)
    const active = row?.state === 'failed' ? undefined : row
    const isSame = active?.digest === digest
    if (isSame && isStoredSignature(active, payment.signature)) {
      return { state: 'known', job: active }
    }
    // An expired authorization may have been used in time, but none can be used too early.
    if (refusal?.reason === 'validAfter' && !isSame) return rejected(refusal)

    const facts = await network.readFacts({
      asset: payment.asset,
      payer: from,
      payTo: payment.payTo,
      nonce,
    })
    if (refusal !== undefined && !isSame && !facts.isNonceUsed) return rejected(refusal)
    const signature = await checkSignature(payment, network, facts, digestBytes, digest)
    if (typeof signature !== 'string') return rejected(isSame ? signature : (refusal ?? signature))
    if (isSame || (active !== undefined && refusal === undefined)) return byRow(active, digest)

    const intent: Intent = {
      payment,
      digest,
      signature,
      isAlone: facts.payerHasCode,
      seenBlock: Math.max(facts.blockNumber, network.headBlock()),
      failedJob: row,
    }
    const chainRefusal = checkFacts(payment, facts)
    if (chainRefusal !== undefined) {
      const since = await findNewRow(payment.network, key, digest)
      if (since !== undefined) return since
      if (facts.isNonceUsed) {
        return checkUsedNonce(intent, network.findUse, facts, chainRefusal, isOurs)
      }
      return rejected(chainRefusal)
    }
    const gasRefusal = await network.guardGas({
      account: from,
      hasCode: facts.payerHasCode,
      amount: payment.amount,
      maxAgeMs,
    })
    if (gasRefusal !== undefined) return rejected(gasRefusal)
    const walletRefusal = facts.payerHasCode ? await simulate(intent, network) : undefined
    if (walletRefusal !== undefined) {
      return (await findNewRow(payment.network, key, digest)) ?? rejected(walletRefusal)
    }
    return { state: 'valid', intent }
  }

  /** Reads the journal again: the chain may have been read after this payment settled, and then its row is there by now. */
  async function findNewRow(network: string, key: string, digest: Hex) {
    const row = await journal.findJob(EXACT, network, key)
    return row === undefined || row.state === 'failed' ? undefined : byRow(row, digest)
  }

  /** Checks the terms without the clock: a payment that settled in time must not be refused because of a late request. */
  function passesApartFromClock(payment: Payment, terms: Terms): boolean {
    const { validAfter } = payment.authorization
    const anyTime = { nowSeconds: Number(validAfter), marginSeconds: -Number.MAX_SAFE_INTEGER }
    return checkTerms(payment, terms, anyTime) === undefined
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
    const isWrapped = isErc6492Signature(payment.signature)
    if (!facts.payerHasCode) {
      if (isWrapped) {
        return reject(
          'factoryNotAllowed',
          `The signature of ${from} deploys a wallet (ERC-6492); deploy it before paying here.`,
        )
      }
      if (isPayers(digest, payment.signature, digestBytes, from)) return payment.signature
      return reject(
        'signature',
        `The signature does not recover to the payer ${from} under the domain of ${payment.asset} on ${payment.network}.`,
      )
    }
    const signature = isWrapped ? unwrapErc6492Signature(payment.signature) : payment.signature
    if (
      signature !== undefined &&
      (await isAcceptedByWallet(network.rpc, from, digest, signature))
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
  async function simulate({ payment, signature }: Intent, network: ServedNetwork) {
    const data = encodeTransferWithAuthorization(payment.authorization, signature)
    const call = { from: network.relayers[0], to: payment.asset, data }
    const simulation = await simulateTransfer(network.rpc, call)
    const rejection = simulation.ok ? undefined : rejectionOfRevert(simulation.revert)
    return rejection?.reason === 'validAfter' ? undefined : rejection
  }
}

function byRow(job: Job, digest: Hex): CheckResult {
  return { state: job.digest === digest ? 'known' : 'held', job }
}

function rejected(rejection: Rejection): CheckResult {
  return { state: 'rejected', rejection }
}

function isClockReason({ reason }: Rejection): boolean {
  return reason === 'validBefore' || reason === 'validAfter'
}

/** Tells whether a row has this signature: bytes that passed once need no second check. */
function isStoredSignature(job: Job, signature: Hex): boolean {
  return (JSON.parse(job.details) as { signature: Hex }).signature === signature
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
  findUse: FindAuthorizationUse,
  facts: PaymentFacts,
  rejection: Rejection,
  isOurs: IsOurs,
): Promise<CheckResult> {
  const { payment, digest, failedJob } = intent
  const { asset, payTo, authorization } = payment
  const { from: payer, value, nonce } = authorization
  const claimed = failedJob?.digest === digest ? failedJob : undefined
  const afterBlock =
    claimed === undefined
      ? Math.max(0, facts.blockNumber - HINT_BLOCKS)
      : blockBefore(claimed.seenBlock)
  const use = await findUse({ asset, payer, payTo, value, nonce }, afterBlock, facts.blockNumber)
  if (claimed !== undefined) {
    if (use.state === 'unread' || (use.state === 'notFound' && !use.isFinal)) {
      return { state: 'unclear', transaction: use.transaction }
    }
    if (use.state === 'paid' && (await isSinceClaim(use, claimed, isOurs))) {
      const { receipt, transferLog } = use
      return { state: 'paidElsewhere', intent, failedJob: claimed, receipt, transferLog }
    }
  }
  const transaction = use.state === 'paid' ? use.receipt.transactionHash : use.transaction
  return { state: 'rejected', rejection, ...(transaction === undefined ? {} : { transaction }) }
}
