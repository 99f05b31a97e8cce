import type { CheckReason } from '@arcus/protocol/answers/paid-checks'
import type { CheckStatement } from '@arcus/protocol/x402/check-statement'
import type { PaymentAnswer } from '@arcus/protocol/x402/payment'
import { reasons } from '@arcus/protocol/x402/reasons'
import { LRUCache } from 'lru-cache'
import type { Address, Hex } from 'viem'
import type { MayGoOn } from '../../async/background.js'
import { toSeconds } from '../../async/time.js'
import type { FindAuthorizationUse } from '../../chain/authorization-uses.js'
import type { BlockHead } from '../../chain/blocks.js'
import type { SharedPorts } from '../ports.js'
import type { ListingStore } from '../store/listings.js'
import type { CheckStore, PaidCheck } from '../store/paid-checks.js'
import { statementOf, unread } from './verdicts.js'

/** Signs verdicts. */
export interface CheckSigner {
  address: Address
  sign(statement: CheckStatement): Promise<Hex>
}

export interface OpenChecksOptions extends Pick<SharedPorts, 'findPayment' | 'now'> {
  store: Pick<CheckStore, 'open'>
  listings: Pick<ListingStore, 'saveCheck'>
  /** `undefined` where verdicts are not signed. */
  signer: CheckSigner | undefined
  findUse: FindAuthorizationUse
  readHead: () => Promise<BlockHead>
  log: {
    warn(details: object, message: string): void
    info(details: object, message: string): void
  }
}

/** More than one a minute can be open: a buyer signs for an hour at most. */
const OPEN_AT_ONCE = 100

/** Why this service refuses a payment of its own wallets without any fault of the seller. */
const ownFaults = new Set<string | null>([
  reasons.payerNotAllowed.code,
  reasons.payerBlocklisted.code,
  reasons.assetPaused.code,
  reasons.insufficientBalance.code,
  reasons.gasBudgetExceeded.code,
  reasons.gasPriceTooHigh.code,
  reasons.notSentInTime.code,
  reasons.settlementPending.code,
  reasons.settlementUnknown.code,
  reasons.unexpectedVerifyError.code,
  reasons.unexpectedSettleError.code,
])

/** The checks of which it is not known yet whether they paid: a seller may settle a payment until it ends. */
export class OpenChecks {
  readonly #options: OpenChecksOptions
  /** The ids of the latest checks by the nonce of their payment: what is answered about it is heard a moment later. */
  readonly #checkOf = new LRUCache<Hex, number>({ max: OPEN_AT_ONCE })
  /** Ids of open checks whose payment this service itself refused last, as far as it knows. */
  readonly #refusedByUs = new Set<number>()

  constructor(options: OpenChecksOptions) {
    this.#options = options
  }

  /** Remembers which payment a check is about to make, for `noteAnswer`. */
  remember(nonce: Hex, checkId: number): void {
    this.#checkOf.set(nonce, checkId)
  }

  /** Takes in an answer of the facilitator, which may be about the payment of a check. */
  noteAnswer({ payment, reason }: Pick<PaymentAnswer, 'payment' | 'reason'>): void {
    const id = payment.nonce && this.#checkOf.get(payment.nonce)
    if (id === undefined) return
    if (ownFaults.has(reason)) this.#refusedByUs.add(id)
    else this.#refusedByUs.delete(id)
  }

  /** Closes the checks of which it is known by now whether they paid. The head of the chain is read once for all. */
  async closeKnown(mayGoOn: MayGoOn): Promise<void> {
    const { store, log } = this.#options
    let head: Promise<BlockHead> | undefined
    const readHead = () => (head ??= this.#options.readHead())
    for (const check of await store.open(OPEN_AT_ONCE)) {
      if (!mayGoOn()) return
      await this.#close(check, readHead).catch((err) =>
        log.warn({ err, checkId: check.id }, 'a paid check could not be closed; trying again'),
      )
    }
  }

  /** Closes a check if it is known by now whether it paid. */
  async #close(check: PaidCheck, readHead: () => Promise<BlockHead>): Promise<void> {
    const { listings, signer, now, log } = this.#options
    const transaction = await this.#findTransaction(check, readHead)
    if (transaction === undefined) return
    // A seller who was paid answers for it, whatever they had this service say of the payment.
    const isOurFault = this.#refusedByUs.has(check.id) && transaction === null
    const isKnown = check.reason === 'delivered' || !isOurFault
    const { ms, bytes, sha256 } = isKnown ? check : unread
    const reason: CheckReason = (isKnown && check.reason) || 'interrupted'
    const verdict = { reason, ms, bytes, sha256, transaction, closedAt: toSeconds(now()) }
    const checker = signer?.address.toLowerCase() as Address | undefined
    const signed =
      signer && (await signer.sign(statementOf({ ...check, ...verdict }, signer.address)))
    await listings.saveCheck(check.id, {
      ...verdict,
      checker: checker ?? null,
      signature: signed ?? null,
    })
    this.#refusedByUs.delete(check.id)
    log.info({ endpointId: check.endpointId, reason, transaction }, 'an endpoint was bought from')
  }

  /** Returns the transaction of the payment, `null` if there is none, and `undefined` while it is not known. */
  async #findTransaction(
    check: PaidCheck,
    readHead: () => Promise<BlockHead>,
  ): Promise<Hex | null | undefined> {
    const { findPayment, findUse } = this.#options
    const { payer, nonce, validBefore, afterBlock } = check
    if (payer === null || nonce === null || validBefore === null) return null
    const which = { asset: check.asset, method: 'eip3009' } as const
    const found = await findPayment(check.network, payer, nonce, which)
    if (found !== undefined && 'status' in found && found.status.state === 'confirmed') {
      return found.status.transaction
    }
    // By the clock of the chain: the one here may be wrong. Until then it may still be settled.
    const head = await readHead()
    if (head.timestamp < validBefore) return undefined
    // Another facilitator may have settled it.
    const value = BigInt(check.amount)
    const expected = { asset: check.asset, payer, payTo: check.payTo, value, nonce }
    const use = await findUse(expected, afterBlock ?? head.number, head.number)
    if (use.state === 'paid') return use.receipt.transactionHash
    if (use.state === 'cancelled' || use.state === 'otherTransfer') return null
    return use.state === 'notFound' && use.isFinal ? null : undefined
  }
}
