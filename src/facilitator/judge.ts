import { type Address, bytesToHex, type Hex } from 'viem'
import { encodeTransferWithAuthorization } from '../chain/abi.js'
import type { ReadCoded } from '../chain/account-codes.js'
import type { FindAuthorizationUse } from '../chain/authorization-uses.js'
import { isAcceptedByWallet, simulateTransfer } from '../chain/contract-wallet.js'
import type { PaymentFacts, ReadPaymentFacts } from '../chain/payment-facts.js'
import type { Receipt } from '../chain/receipts.js'
import type { Rpc } from '../chain/rpc.js'
import type { Job, SettlementJournal } from '../store/settlement-journal.js'
import type { AuthorizationDigest } from '../x402/authorization-digest.js'
import { isErc6492Signature, unwrapErc6492Signature } from '../x402/erc6492.js'
import type { Payment } from '../x402/payment.js'
import type { Rejection } from '../x402/reasons.js'
import type { SignerRecovery } from '../x402/signer-recovery.js'
import { createOwnTransactions, EXACT, exactKey } from './exact-job.js'
import type { GasGuard } from './gas-guard.js'
import { climbLadder, findTerms, isRejection, judgeFacts, reject, type Terms } from './ladder.js'
import { createRecentMemory } from './recent-memory.js'
import { rejectionOfRevert } from './revert-reasons.js'
import { judgeUsed } from './used-authorization.js'

/** One network as the facilitator serves it. */
export interface ServedNetwork {
  terms: Terms
  rpc: Rpc
  readFacts: ReadPaymentFacts
  findUse: FindAuthorizationUse
  /** The newest block seen; 0 before the first. */
  headBlock(): number
  /** The newest block's time, Unix seconds; undefined before the first block. */
  chainSeconds(): number | undefined
  /** The wallet a transfer is simulated from. */
  relayer: Address
  guardGas: GasGuard
  readCoded: ReadCoded
  /** What a gas costs now, 18-decimal units. */
  gasPrice(): bigint
  /** Why the token is not the pinned one any more. */
  tokenMismatch(): Error | undefined
}

/** What is known of a payment before anything is done about it. */
export type Judgement =
  | { state: 'rejected'; rejection: Rejection; transaction?: Hex }
  /** The journal holds this very authorization, under way or landed: its row decides. */
  | { state: 'known'; job: Job }
  /** The journal holds another authorization of the same nonce, under way or landed. */
  | { state: 'held'; job: Job }
  | { state: 'valid'; intent: Intent }
  /** Claimed here once, since then brought on chain by somebody else. */
  | {
      state: 'paidElsewhere'
      intent: Intent
      failedJob: Job
      receipt: Receipt
      transferLog: number
    }
  /** Claimed here once, since then used by a transaction that no node shows yet. */
  | { state: 'unclear'; transaction: Hex | undefined }

/** All that is needed to claim a payment. */
export interface Intent {
  payment: Payment
  digest: Hex
  /** As the token will see it. */
  signature: Hex
  isAlone: boolean
  /** The newest block at this moment: what others bring on chain later counts, once this is claimed. */
  seenBlock: number
  /** The row of an earlier try that failed. */
  failedJob: Job | undefined
}

export interface JudgeOptions {
  served: ReadonlyMap<string, ServedNetwork>
  journal: SettlementJournal
  computeDigest: AuthorizationDigest
  recovery: SignerRecovery
  now: () => number
}

/** Some 2 MB at most; between verify and settle lie seconds. */
const MAX_RECENT_SIGNATURES = 4_000

export type Judge = (payment: Payment, marginSeconds: number) => Promise<Judgement>

/**
 * Makes the one judge that verify and settle share: ladder, journal, chain, signature, in the order a caller
 * learns the real cause. Rejects with `RpcUnavailableError` when the chain could not be
 * read, with `TokenMismatchError` when the token has changed.
 */
export function createJudge(options: JudgeOptions): Judge {
  const { served, journal, computeDigest, recovery, now } = options
  const isOurs = createOwnTransactions(journal)
  const recent = createRecentMemory<Hex, Hex>(MAX_RECENT_SIGNATURES)
  const termsByNetwork = new Map([...served].map(([name, network]) => [name, network.terms]))

  return async (payment, marginSeconds) => {
    const terms = findTerms(payment, termsByNetwork)
    if (isRejection(terms)) return rejected(terms)
    const network = served.get(payment.network) as ServedNetwork
    const mismatch = network.tokenMismatch()
    if (mismatch !== undefined) throw mismatch
    const nowSeconds = Math.max(Math.floor(now() / 1000), network.chainSeconds() ?? 0)
    const refusal = climbLadder(payment, terms, { nowSeconds, marginSeconds })
    const isOnlyClock =
      refusal !== undefined && isClockReason(refusal) && isSoundOtherwise(payment, terms)
    if (refusal !== undefined && !isOnlyClock) return rejected(refusal)

    const digestBytes = computeDigest(terms.token.domainSeparator, payment.authorization)
    const digest = bytesToHex(digestBytes)
    const { from, nonce } = payment.authorization
    const key = exactKey(payment.asset, from, nonce)
    const row = await journal.findJob(EXACT, payment.network, key)
    const active = row?.state === 'failed' ? undefined : row
    const isSame = active?.digest === digest
    if (isSame && isStoredSignature(active, payment.signature)) {
      return { state: 'known', job: active }
    }
    // What is too late may have landed in time; nothing lands too early.
    if (refusal?.reason === 'validAfter' && !isSame) return rejected(refusal)

    const facts = await network.readFacts({ payer: from, payTo: payment.payTo, nonce })
    if (refusal !== undefined && !isSame && !facts.isNonceUsed) return rejected(refusal)
    const signature = await judgeSignature(payment, network, facts, digestBytes, digest)
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
    const chainRefusal = judgeFacts(payment, facts)
    if (chainRefusal !== undefined) {
      const since = await lookAgain(payment.network, key, digest)
      if (since !== undefined) return since
      if (facts.isNonceUsed) {
        return judgeUsed(intent, network.findUse, facts, chainRefusal, isOurs)
      }
      return rejected(chainRefusal)
    }
    const gasRefusal = await network.guardGas({
      account: from,
      hasCode: facts.payerHasCode,
      amount: payment.amount,
    })
    if (gasRefusal !== undefined) return rejected(gasRefusal)
    const walletRefusal = facts.payerHasCode ? await simulate(intent, network) : undefined
    if (walletRefusal !== undefined) {
      return (await lookAgain(payment.network, key, digest)) ?? rejected(walletRefusal)
    }
    return { state: 'valid', intent }
  }

  /** The chain may have been read after this very payment landed: then its row has come since the first look. */
  async function lookAgain(network: string, key: string, digest: Hex) {
    const row = await journal.findJob(EXACT, network, key)
    return row === undefined || row.state === 'failed' ? undefined : byRow(row, digest)
  }

  /** Anything but the clock: whoever was paid in time must not be refused for being asked late. */
  function isSoundOtherwise(payment: Payment, terms: Terms): boolean {
    const { validAfter } = payment.authorization
    const anyTime = { nowSeconds: Number(validAfter), marginSeconds: -Number.MAX_SAFE_INTEGER }
    return climbLadder(payment, terms, anyTime) === undefined
  }

  async function judgeSignature(
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

  /** The digest names the payer, so what was found once holds, and settle need not recover what verify recovered. */
  function isPayers(digest: Hex, signature: Hex, digestBytes: Uint8Array, payer: Address): boolean {
    if (recent.get(digest) === signature) return true
    const isMatch = recovery.signerMatches(digestBytes, signature, payer)
    if (isMatch) recent.set(digest, signature)
    return isMatch
  }

  /** Whether it is early was judged by the clock: a chain that stands still simulates in the past. */
  async function simulate({ payment, signature }: Intent, network: ServedNetwork) {
    const data = encodeTransferWithAuthorization(payment.authorization, signature)
    const call = { from: network.relayer, to: payment.asset, data }
    const fate = await simulateTransfer(network.rpc, call)
    const rejection = fate.ok ? undefined : rejectionOfRevert(fate.revert)
    return rejection?.reason === 'validAfter' ? undefined : rejection
  }
}

function byRow(job: Job, digest: Hex): Judgement {
  return { state: job.digest === digest ? 'known' : 'held', job }
}

function rejected(rejection: Rejection): Judgement {
  return { state: 'rejected', rejection }
}

function isClockReason({ reason }: Rejection): boolean {
  return reason === 'validBefore' || reason === 'validAfter'
}

/** The exact bytes that passed before need no second check. */
function isStoredSignature(job: Job, signature: Hex): boolean {
  return (JSON.parse(job.details) as { signature: Hex }).signature === signature
}
