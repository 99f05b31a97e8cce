import type { ParsedPayment } from '@arcus/protocol/x402/payment'
import { isRejection, type Rejection, reject } from '@arcus/protocol/x402/reasons'
import { isErc6492Signature, unwrapErc6492Signature } from '@arcus/protocol/x402/signature-forms'
import { LRUCache } from 'lru-cache'
import { type Address, bytesToHex, type Hex } from 'viem'
import { toSeconds } from '../../async/time.js'
import { isAcceptedByWallet, simulateTransfer } from '../../chain/contract-wallet.js'
import type { PaymentFacts } from '../../chain/payment-facts.js'
import type { Receipt } from '../../chain/receipts.js'
import type { SignerRecovery } from '../../chain/signer-recovery.js'
import type { Job, SettlementJournal } from '../journal/settlement-journal.js'
import { type Clock, findTerms, findToken } from '../methods/checks.js'
import {
  blockBefore,
  createOwnTransactions,
  digestOfSignature,
  type IsOurs,
  isWhileOpen,
  readExactDetails,
  untraced,
} from '../methods/exact-job.js'
import type { Network, NetworkTerms } from '../methods/network.js'
import {
  type Intent,
  methodOf,
  type PaymentDigest,
  type PaymentMethod,
} from '../methods/payment-method.js'
import { isFreeOfCharge } from '../methods/permit2-checks.js'

/** The outcome of the checks that verify and settle share. */
export type CheckResult =
  | { state: 'rejected'; rejection: Rejection; transaction?: Hex }
  /** The journal has a row for this authorization, in progress or confirmed; the row decides. */
  | { state: 'known'; job: Job }
  /** The journal has a row for another authorization with the same nonce, in progress or confirmed. */
  | { state: 'held'; job: Job }
  | { state: 'valid'; intent: Intent }
  /** The payment was claimed here, was brought on chain by somebody else, and failed here all the same. */
  | {
      state: 'paidElsewhere'
      intent: Intent
      failedJob: Job
      receipt: Receipt
      transferLog: number
    }
  /** The payment was claimed here, failed, and was used in a transaction that no node shows, or traces, yet. */
  | { state: 'unclear'; transaction: Hex | undefined; message?: string }

/** Some 2 MB at most. Settle follows verify within seconds, so few signatures need to be remembered. */
const MAX_RECENT_SIGNATURES = 4_000

export interface Purpose {
  isSettle: boolean
  /** The authorization must still be valid for so long. */
  marginSeconds: number
  /** How old sums of gas may be. */
  maxAgeMs: number
  /** Names the network address that asks; left out within the process. */
  caller?: string
}

export type CheckPayment = (payment: ParsedPayment, purpose: Purpose) => Promise<CheckResult>

/** A payment on a network that serves it, with what the terms alone say about it. */
interface Asked {
  payment: ParsedPayment
  purpose: Purpose
  network: Network
  method: PaymentMethod
  /** The later one of our clock and the chain's, Unix seconds. */
  nowSeconds: number
  digestBytes: Uint8Array
  digest: Hex
  /** The rejection by the clock alone. It does not stand against a payment that settled in time. */
  clock: Rejection | undefined
}

interface PaymentCheckOptions {
  served: ReadonlyMap<string, Network>
  journal: SettlementJournal
  computeDigest: PaymentDigest
  recovery: SignerRecovery
  /** Unix milliseconds. */
  now: () => number
}

/** Creates the check that verify and settle share. */
export function createPaymentCheck(options: PaymentCheckOptions): CheckPayment {
  const checks = new PaymentChecks(options)
  return (payment, purpose) => checks.check(payment, purpose)
}

/** The checks that verify and settle share. */
class PaymentChecks {
  readonly #options: PaymentCheckOptions
  readonly #terms: ReadonlyMap<string, NetworkTerms>
  readonly #isOurs: IsOurs
  readonly #recent = new LRUCache<Hex, Hex>({ max: MAX_RECENT_SIGNATURES })

  constructor(options: PaymentCheckOptions) {
    this.#options = options
    this.#terms = new Map([...options.served].map(([name, { terms }]) => [name, terms]))
    this.#isOurs = createOwnTransactions(options.journal)
  }

  /**
   * Checks a payment in this order, so that the caller learns the real cause: the terms, the journal, the signature, the
   * screening of both sides, the chain's facts, the gas budgets, the simulation of a contract wallet. Rejects with
   * `RpcUnavailableError` when the chain could not be read and with `TokenMismatchError` when the token has changed.
   */
  async check(payment: ParsedPayment, purpose: Purpose): Promise<CheckResult> {
    const asked = this.#checkTerms(payment, purpose)
    if (isRejection(asked)) return rejected(asked)
    const row = await this.#findRow(payment)
    const active = row?.state === 'failed' ? undefined : row
    const early = checkRow(asked, active)
    if (early !== undefined) return early
    const standing = await checkRecipient(asked, active)
    if (typeof standing !== 'string') return rejected(standing)
    const isScreenedFirst = active === undefined && this.#isSignedByAccount(asked)
    const screenedOut = isScreenedFirst ? await screen(asked) : undefined
    if (screenedOut !== undefined) return rejected(screenedOut)
    const facts = await asked.method.readFacts(payment, asked.network)
    const signature = await this.#checkSigner(asked, active, facts)
    if (typeof signature !== 'string') return rejected(signature)
    if (active !== undefined) return byRow(asked, active)
    const walletScreenedOut = isScreenedFirst ? undefined : await screen(asked)
    if (walletScreenedOut !== undefined) return rejected(walletScreenedOut)
    const intent: Intent = {
      payment,
      digest: asked.digest,
      signature,
      isAlone: facts.payerHasCode,
      permit: asked.method.permitFor(payment, facts),
      balance: facts.balance,
      provenInBlock: asked.method.isProvenBy(payment, facts, asked.network)
        ? facts.blockNumber
        : undefined,
      seenBlock: Math.max(facts.blockNumber, asked.network.headBlock()),
      failedJob: row,
      caller: purpose.caller ?? '',
      standing,
    }
    const refused = await this.#checkChain(asked, intent, facts)
    if (refused !== undefined) return refused
    // Nothing is sent for a charge of nothing.
    if (isFreeOfCharge(payment, purpose)) return { state: 'valid', intent }
    const unpaid = await checkGas(asked, intent)
    if (unpaid !== undefined) return rejected(unpaid)
    return (await this.#checkSimulation(asked, intent)) ?? { state: 'valid', intent }
  }

  /** Checks the terms. Only the clock may speak against the payment afterwards. */
  #checkTerms(payment: ParsedPayment, purpose: Purpose): Asked | Rejection {
    const terms = findTerms(payment, this.#terms)
    if (isRejection(terms)) return terms
    const network = this.#options.served.get(payment.network) as Network
    const unserved = checkOffered(payment, network)
    if (unserved !== undefined) return unserved
    const mismatch = network.tokenMismatch(payment.asset)
    if (mismatch !== undefined) throw mismatch
    const method = methodOf(payment)
    const nowSeconds = Math.max(toSeconds(this.#options.now()), network.chainSeconds() ?? 0)
    const clock = method.checkTerms(payment, terms, { ...purpose, nowSeconds })
    const passesAtAnyTime = () =>
      method.checkTerms(payment, terms, anyTime(payment, purpose)) === undefined
    if (clock !== undefined && !(isClockReason(clock) && passesAtAnyTime())) return clock
    const token = findToken(payment.asset, terms)
    if (isRejection(token)) return token
    const digestBytes = this.#options.computeDigest(payment, token)
    const digest = bytesToHex(digestBytes)
    return { payment, purpose, network, method, nowSeconds, digestBytes, digest, clock }
  }

  #findRow(payment: ParsedPayment): Promise<Job | undefined> {
    const { kind, keyOf } = methodOf(payment)
    return this.#options.journal.findJob(kind, payment.network, keyOf(payment))
  }

  /** Returns the signature that the token will see, or a rejection. */
  async #checkSigner(
    asked: Asked,
    active: Job | undefined,
    facts: PaymentFacts,
  ): Promise<Hex | Rejection> {
    const isSame = active?.digest === asked.digest
    const late = isSame ? undefined : asked.clock
    if (late !== undefined && !facts.isNonceUsed) return late
    const signature = await this.#checkSignature(asked, facts)
    return typeof signature === 'string' ? signature : (late ?? signature)
  }

  async #checkSignature(asked: Asked, facts: PaymentFacts): Promise<Hex | Rejection> {
    const { payment, network, method, digest } = asked
    const { from } = payment.authorization
    const isWrapped = isErc6492Signature(payment.signature)
    if (!facts.payerHasCode) {
      if (isWrapped) {
        return reject(
          'factoryNotAllowed',
          `The signature of ${from} deploys a wallet (ERC-6492); deploy it before paying here.`,
        )
      }
      const recoverable = method.toRecoverable(payment.signature)
      const isRecovered =
        recoverable !== undefined && this.#isPayers(digest, recoverable, asked.digestBytes, from)
      if (isRecovered) {
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

  /** Returns whether a payment that is to be screened has a signature that is right without a look at the chain. */
  #isSignedByAccount({ payment, network, method, digest, digestBytes }: Asked): boolean {
    if (network.screening === undefined) return false
    const recoverable = method.toRecoverable(payment.signature)
    const { from } = payment.authorization
    return recoverable !== undefined && this.#isPayers(digest, recoverable, digestBytes, from)
  }

  /** Recovers the signer once for verify and settle: the digest names the payer, so a match stays valid. */
  #isPayers(digest: Hex, signature: Hex, digestBytes: Uint8Array, payer: Address): boolean {
    if (this.#recent.get(digest) === signature) return true
    const isMatch = this.#options.recovery.signerMatches(digestBytes, signature, payer)
    if (isMatch) this.#recent.set(digest, signature)
    return isMatch
  }

  /** Checks the chain's facts. A payment that they show as used may have been paid in a transaction of somebody else. */
  async #checkChain(
    asked: Asked,
    intent: Intent,
    facts: PaymentFacts,
  ): Promise<CheckResult | undefined> {
    const { payment, network, method, nowSeconds } = asked
    const { asset, authorization } = payment
    const waiting = network.relayer.openClaims.besides({
      kind: method.kind,
      key: method.keyOf(payment),
      asset,
      payer: authorization.from,
    })
    const refusal = method.checkFacts(payment, facts, nowSeconds, waiting)
    if (refusal === undefined) return undefined
    const since = await this.#findNewRow(asked)
    if (since !== undefined) return since
    return facts.isNonceUsed
      ? checkUsedNonce(intent, network, facts, refusal, this.#isOurs)
      : rejected(refusal)
  }

  /** Reads the journal again: the chain may have been read after this payment settled, and then its row is there by now. */
  async #findNewRow(asked: Asked): Promise<CheckResult | undefined> {
    const row = await this.#findRow(asked.payment)
    return row === undefined || row.state === 'failed' ? undefined : byRow(asked, row)
  }

  /** Simulates the transfer where facts alone do not show enough: what a wallet's code does, whether the token takes a permit. */
  async #checkSimulation(asked: Asked, intent: Intent): Promise<CheckResult | undefined> {
    if (!intent.isAlone && intent.permit === undefined) return undefined
    const { network, method } = asked
    const simulation = await simulateTransfer(network.rpc, method.callOf(intent, network))
    if (simulation.ok) return undefined
    const refusal = method.rejectionOf(simulation.revert, intent.permit)
    // The clock has been checked, and a node may simulate in the past.
    if (refusal.reason === 'validAfter') return undefined
    return (await this.#findNewRow(asked)) ?? rejected(refusal)
  }
}

/** Answers a repeat of the same signed payment from its row. Refuses a payment that is not valid yet. */
function checkRow(asked: Asked, active: Job | undefined): CheckResult | undefined {
  const { payment, digest, clock } = asked
  if (active?.digest === digest) {
    const isSameSignature =
      readExactDetails(active).signatureDigest === digestOfSignature(payment.signature)
    return isSameSignature ? byRow(asked, active) : undefined
  }
  // An expired authorization may have been used in time, but none can be used too early.
  return clock?.reason === 'validAfter' ? rejected(clock) : undefined
}

/** Refuses a recipient for whom the operator pays no gas. A payment that has its row is not asked any more. */
async function checkRecipient({ payment, network }: Asked, active: Job | undefined) {
  if (active !== undefined) return 'none'
  const { authorization, payTo } = payment
  return network.recipients.check({ payer: authorization.from, payTo })
}

/** Refuses parties that the operator screens out. It is asked about payments that are signed and not claimed. */
async function screen({ payment, network }: Asked): Promise<Rejection | undefined> {
  const { authorization, payTo } = payment
  return network.screening?.check({
    network: payment.network,
    payer: authorization.from,
    payTo,
  })
}

/** Checks that the operator pays the gas. */
function checkGas(
  { payment, purpose, network, method }: Asked,
  { isAlone, permit, caller, standing }: Intent,
): Promise<Rejection | undefined> {
  return network.guardGas({
    account: payment.authorization.from,
    hasCode: isAlone,
    payTo: payment.payTo,
    caller,
    standing,
    gas: method.gasOf(permit),
    maxAgeMs: purpose.maxAgeMs,
  })
}

/** Lets a row decide. A charge of `upto` that another settle claimed stands: this one must not get its answer. */
function byRow({ payment, purpose, digest }: Asked, job: Job): CheckResult {
  if (job.digest !== digest) return { state: 'held', job }
  const { value } = readExactDetails(job)
  if (payment.scheme === 'upto' && purpose.isSettle && BigInt(value) !== payment.amount) {
    const message = `This payment is settled here for ${value}, and cannot be settled for ${payment.amount} as well.`
    return rejected(reject('nonceAlreadyUsed', message))
  }
  return { state: 'known', job }
}

/** Returns a clock that stands against no payment: one that settled in time must not be refused because of a late request. */
function anyTime({ authorization }: ParsedPayment, { isSettle }: Purpose): Clock {
  const nowSeconds = Number(authorization.validAfter)
  return { nowSeconds, marginSeconds: -Number.MAX_SAFE_INTEGER, isSettle }
}

/** Checks that the contracts which a payment needs are there. */
function checkOffered(
  { scheme, permit2, network }: ParsedPayment,
  { permit2: access }: Network,
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

/** The blocks that are searched for the use of an authorization never claimed here, so that the answer can name the hash. */
const HINT_BLOCKS = 5_000

/**
 * Checks an authorization that is used on chain and has no active row. It counts as paid if the use landed while a settle
 * of it was open here. Any other use may have bought something elsewhere. A verify before it proves nothing, nor does a
 * settle that failed before it, because both are open to anybody. Rejects with `RpcUnavailableError`.
 */
async function checkUsedNonce(
  intent: Intent,
  network: Network,
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
    if (use.state === 'untraced' && (await isWhileOpen(use, claimed, isOurs))) {
      return { state: 'unclear', ...untraced(use.receipt.transactionHash) }
    }
    if (use.state === 'paid' && (await isWhileOpen(use, claimed, isOurs))) {
      const { receipt, transferLog } = use
      return { state: 'paidElsewhere', intent, failedJob: claimed, receipt, transferLog }
    }
  }
  const transaction = use.state === 'paid' ? use.receipt.transactionHash : use.transaction
  return { state: 'rejected', rejection, ...(transaction === undefined ? {} : { transaction }) }
}
