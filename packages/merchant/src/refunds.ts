import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { addressProblem, isSameAddress } from '@arcus/protocol/x402/address'
import { authorizationTypes } from '@arcus/protocol/x402/authorization-types'
import { REFUND, refundText } from '@arcus/protocol/x402/payment-identifier'
import type { FacilitatorClient } from '@x402/core/server'
import { type PaymentPayload, type PaymentRequirements, SettleError } from '@x402/core/types'
import type { ClientEvmSigner } from '@x402/evm'
import { FACILITATOR_TIMEOUT_MS, toFacilitatorClient } from './facilitator.js'
import { findStablecoin, parseAmount } from './price.js'
import { startRounds } from './rounds.js'

export interface RefundsOptions {
  /** Base URL of the facilitator that sends the refunds, or a client of your own. */
  facilitator: string | FacilitatorClient
  /** The account that the money comes from, for example made by `privateKeyToAccount`. It signs, and needs no gas. */
  signer: ClientEvmSigner
  /** The address that is paid, where it differs from `signer`. Then `signer` needs money of its own. */
  payTo?: string
  /** Path of the ledger file, which is made when it is missing, with its folder. One process may use it at a time. */
  path?: string
  /** A ledger of your own, in place of `path`. */
  ledger?: RefundLedger
  /** Interval at which refunds that have not landed are tried again. Default 30. */
  retrySeconds?: number
  /**
   * Returns whether a payment was settled whose answer was lost. Default: asks Arcus at `/payments`. It is required where
   * `facilitator` is a client of your own.
   */
  wasSettled?: (refund: Refund) => Promise<boolean | undefined>
  /**
   * Finds the transaction in which a refund landed, when the facilitator says that its authorization is used. Resolves
   * to `undefined` where there is no proof that this very amount went to this buyer; then the refund stays pending.
   * Default: asks Arcus at `/payments`.
   */
  findTransfer?: (transfer: RefundTransfer) => Promise<string | undefined>
  /**
   * Returns whether a transfer whose time is over never landed. After a change of `signer` it is asked about refunds that
   * the key before has signed: only then the new key sends them. Default: asks Arcus at `/payments`. Where `facilitator`
   * is a client of your own, such refunds stay pending without it.
   */
  isUnused?: (transfer: RefundTransfer) => Promise<boolean>
  log?: { info(details: object, text: string): void; error(details: object, text: string): void }
}

/** Money that goes back to a buyer. Every change is a line of the ledger. */
export interface Refund {
  id: string
  /**
   * `planned` before the payment is settled, `due` once it is, `landed` when the buyer has the money, `dropped` when
   * the payment was not settled, or when another call with the same payment has refunded it.
   */
  state: 'planned' | 'due' | 'landed' | 'dropped'
  network: `${string}:${string}`
  asset: string
  /** EIP-712 domain of the asset. */
  extra: { name: string; version: string }
  /** Atomic units of the asset. */
  amount: string
  /** The buyer who made the payment. */
  payer: string
  /** Nonce of the payment's authorization. */
  paymentNonce: string
  /** How the payment moved the asset; `eip3009` unless given. */
  method?: 'eip3009' | 'permit2'
  /** Unix seconds after which the payment can no longer settle. */
  paymentValidBefore: number
  /** Unix seconds until which the signed transfer is valid. */
  validBefore: number
  /** The account that signs the transfer, once it is due. */
  from?: string
  /** Hash of the transaction that moved the money, once it is known. */
  transaction?: string
}

export interface RefundLedger {
  /** Resolves when the refund is on disk. */
  write(refund: Refund): Promise<void>
  /** Returns the refunds that are neither landed nor dropped. */
  pending(): Refund[]
  /** Returns the refund of a payment that has landed. Without it the facilitator is asked alone. */
  findLanded?(payment: PaymentOfRefund): Promise<Refund | undefined>
  /** Runs before each round of attempts. Takes over refunds of other processes that share the ledger. */
  refresh?(): Promise<void>
  close(): Promise<void>
}

export interface RefundTransfer {
  network: Refund['network']
  asset: string
  from: string
  to: string
  /** Atomic units of the asset. */
  amount: string
  nonce: string
}

export type NewRefund = Omit<Refund, 'id' | 'state' | 'validBefore' | 'from'>

/** A payment by `exact` that was settled: what a handler finds in `request.payment`, also after it was kept as JSON. */
export interface RefundablePayment {
  network: string
  asset: string
  payer: string
  payTo: string
  /** Atomic units that were paid. */
  amount: string
  nonce?: string | undefined
  method?: 'eip3009' | 'permit2'
  /** EIP-712 domain of the asset, where it is neither USDC nor EURC. */
  extra?: { name: string; version: string }
}

/** The money that a buyer gets back. */
interface RefundGiven {
  /** Atomic units. */
  amount: string
  /** `undefined` until it has landed. It is tried on, also after the next start. */
  transaction: string | undefined
}

export interface Refunds {
  /** The address that the money comes from. */
  readonly address: string
  /** The address whose payments are refunded. */
  readonly payTo: string
  /** Records a refund before the payment is settled. Rejects when it cannot be recorded. */
  plan(refund: NewRefund): Promise<PlannedRefund>
  /** Returns whether another call has planned a refund of the same payment. */
  isKnown(payment: NewRefund): boolean
  /**
   * Gives a settled payment back, whole or in part, in its own money or in atomic units. Each payment is given back once: a
   * later call resolves to what the first one gave. Rejects where the payment is not known to be settled, was not paid to
   * `payTo`, or was less.
   */
  refund(payment: RefundablePayment, amount?: string): Promise<RefundGiven>
  /** Returns the refunds that have not landed. */
  pending(): Refund[]
  /** Tries every due refund now. It also runs automatically. */
  run(): Promise<void>
  /** Resolves when nothing is under way. Refunds that have not landed are tried again after the next start. */
  close(): Promise<void>
}

export interface PlannedRefund {
  /**
   * Starts the refund, after the payment was settled. Resolves to its amount, which is that of an earlier call with the
   * same payment where such a refund is on its way already.
   */
  confirm(): Promise<string>
  /** Drops the refund of a payment that was not and will not be settled. */
  drop(): Promise<void>
  /** Leaves the refund to be resolved later, when the outcome of the payment is unknown. */
  leave(): void
}

const DEFAULT_RETRY_SECONDS = 30
/** A transfer stays the same for so long. The facilitator treats identical attempts as one. */
const TRANSFER_LIFETIME_SECONDS = 7 * 86_400
const RENEW_SECONDS = 600
/** Refunds that are sent at the same time. Arcus puts them in one transaction. */
const MAX_AT_ONCE = 20

/** Returns to buyers what metered calls did not use. Each refund is kept on disk and tried until it lands. */
export async function createRefunds(options: RefundsOptions): Promise<Refunds> {
  const { signer, payTo = signer.address } = options
  const problem = addressProblem(payTo)
  if (problem !== undefined) throw new Error(`x402: payTo of refunds ${problem}, got "${payTo}".`)
  return new KeptRefunds(options, options.ledger ?? (await openRefundLedger(pathOf(options))))
}

/** Refunds of one signer, over one ledger. */
class KeptRefunds implements Refunds {
  readonly address: string
  readonly payTo: string
  readonly #options: RefundsOptions
  readonly #ledger: RefundLedger
  readonly #facilitator: FacilitatorClient
  readonly #wasSettled: NonNullable<RefundsOptions['wasSettled']>
  readonly #findTransfer: NonNullable<RefundsOptions['findTransfer']>
  readonly #isUnused: NonNullable<RefundsOptions['isUnused']>
  readonly #onePerPayment = createOnePerPayment()
  /** The transactions of refunds that somebody waits for, once they have landed. */
  readonly #awaited = new Map<string, string | undefined>()
  /** The refunds under way, by their nonces. Calls at the same moment for one payment share one of them. */
  readonly #giving = new Map<string, Promise<RefundGiven>>()
  readonly #rounds: ReturnType<typeof startRounds>

  constructor(options: RefundsOptions, ledger: RefundLedger) {
    const { signer, facilitator } = options
    this.address = signer.address
    this.payTo = options.payTo ?? signer.address
    this.#options = options
    this.#ledger = ledger
    this.#facilitator = toFacilitatorClient(facilitator)
    this.#wasSettled = options.wasSettled ?? askPaymentState(facilitator)
    this.#findTransfer = options.findTransfer ?? askTransfer(facilitator)
    this.#isUnused = options.isUnused ?? askUnused(facilitator)
    for (const refund of ledger.pending()) {
      if (refund.state === 'due') this.#onePerPayment.take(refund)
    }
    this.#rounds = startRounds(() => this.#runOnce(), options.retrySeconds ?? DEFAULT_RETRY_SECONDS)
  }

  plan(wanted: NewRefund): Promise<PlannedRefund> {
    return this.#record(wanted)
  }

  isKnown(payment: NewRefund): boolean {
    if (this.#onePerPayment.isTaken(payment)) return true
    const nonce = refundNonce(payment)
    return this.#ledger.pending().some((it) => refundNonce(it) === nonce)
  }

  async refund(payment: RefundablePayment, part?: string): Promise<RefundGiven> {
    if (!isPaidTo(this, payment)) {
      throw new Error(`x402: refunds come from ${this.payTo}, but ${payment.payTo} was paid`)
    }
    const wanted = newRefundOf(payment, partOf(payment, part))
    const nonce = refundNonce(wanted)
    const given =
      this.#giving.get(nonce) ??
      this.#give(wanted, payment).finally(() => this.#giving.delete(nonce))
    this.#giving.set(nonce, given)
    return given
  }

  pending(): Refund[] {
    return this.#ledger.pending()
  }

  run(): Promise<void> {
    return this.#rounds.run()
  }

  async close(): Promise<void> {
    await this.#rounds.close()
    await this.#ledger.close()
  }

  async #runOnce(): Promise<void> {
    const { log } = this.#options
    await this.#ledger
      .refresh?.()
      .catch((err) => log?.error({ err }, 'x402: refunds could not be read'))
    this.#onePerPayment.prune()
    const waiting = this.#ledger
      .pending()
      .filter((it) => it.state === 'due' || !this.#onePerPayment.isOpen(it))
    while (waiting.length > 0) {
      await Promise.all(waiting.splice(0, MAX_AT_ONCE).map((it) => this.#tryOne(it)))
    }
  }

  async #tryOne(refund: Refund): Promise<void> {
    const attempt = refund.state === 'due' ? this.#send(refund) : this.#resolvePlanned(refund)
    await attempt.catch((err) =>
      this.#options.log?.error({ err, refund: refund.id }, 'x402: refund failed'),
    )
  }

  async #send(refund: Refund): Promise<void> {
    const { signer, log } = this.#options
    const isOurs = refund.from === undefined || isSameAddress(refund.from, signer.address)
    if (!isOurs && !(await this.#isOver(refund, refund.from as string))) return
    const mayStay = isOurs && refund.validBefore >= now() + RENEW_SECONDS
    const fresh = mayStay ? refund : renew({ ...refund, from: signer.address })
    if (fresh !== refund) await this.#ledger.write(fresh)
    const outcome = await transferRefund(fresh, signer, this.#facilitator)
    const { id, payer, amount } = fresh
    const isUsed = outcome.state === 'used'
    const found = isUsed ? await this.#findTransfer(transferOf(fresh, signer.address)) : undefined
    const transaction = outcome.state === 'landed' ? outcome.transaction : found
    if (transaction === undefined) {
      const reason = outcome.state === 'landed' ? undefined : outcome.reason
      log?.error({ refund: id, payer, amount, reason }, 'x402: refund not landed yet')
      return
    }
    await this.#land(fresh, transaction)
  }

  async #land(refund: Refund, transaction: string): Promise<void> {
    const { id, payer, amount } = refund
    await this.#ledger.write({ ...refund, state: 'landed', transaction })
    if (this.#awaited.has(id)) this.#awaited.set(id, transaction)
    this.#options.log?.info({ refund: id, payer, amount, transaction }, 'x402: refund landed')
  }

  /** Returns whether the transfer that another key has signed for a refund can move nothing any more. */
  async #isOver(refund: Refund, from: string): Promise<boolean> {
    const { id, payer, amount, validBefore } = refund
    const transfer = transferOf(refund, from)
    const transaction = await this.#findTransfer(transfer)
    if (transaction !== undefined) {
      await this.#land(refund, transaction)
      return false
    }
    if (validBefore + CLOCK_SECONDS < now() && (await this.#isUnused(transfer))) return true
    this.#options.log?.error(
      { refund: id, payer, amount, from, until: validBefore },
      'x402: refund waits, because the key before has signed it and it may still land',
    )
    return false
  }

  /** Finds the outcome of a payment whose request ended without an answer. */
  async #resolvePlanned(refund: Refund): Promise<void> {
    const isSettled = await this.#wasSettled(refund)
    // The buyer has presented the payment again meanwhile. Then the charge of that call counts.
    if (this.#onePerPayment.isOpen(refund)) return
    if (isSettled === true) {
      await this.#makeDue(refund)
    } else if (isSettled === false && refund.paymentValidBefore + CLOCK_SECONDS < now()) {
      await this.#mark(refund, 'dropped')
    }
  }

  async #mark(refund: Refund, state: 'due' | 'dropped'): Promise<void> {
    const from = state === 'due' ? { from: this.address } : {}
    await this.#ledger.write({ ...refund, state, ...from })
  }

  /** Makes the refund due, unless the payment has an earlier one. Returns the amount of the one that counts. */
  async #makeDue(refund: Refund): Promise<string> {
    const standing = this.#onePerPayment.take(refund)
    const isDue = standing.id === refund.id && refund.amount !== '0'
    await this.#mark(refund, isDue ? 'due' : 'dropped')
    return standing.amount
  }

  /** Records a refund; somebody may wait for it by its id. */
  async #record(wanted: NewRefund, id: string = randomUUID()): Promise<PlannedRefund> {
    const refund = renew({ ...wanted, id, state: 'planned', validBefore: 0 })
    this.#onePerPayment.open(refund)
    const end = () => this.#onePerPayment.close(refund)
    await this.#ledger.write(refund).catch((error) => {
      end()
      throw error
    })
    return {
      confirm: async () => {
        const amount = await this.#makeDue(refund).finally(end)
        void this.#rounds.run()
        return amount
      },
      drop: () => this.#mark(refund, 'dropped').finally(end),
      leave: end,
    }
  }

  async #give(wanted: NewRefund, payment: RefundablePayment): Promise<RefundGiven> {
    const nonce = refundNonce(wanted)
    const isOfPayment = (it: Refund) => it.state === 'due' && refundNonce(it) === nonce
    const due = this.#ledger.pending().find(isOfPayment)
    if (due !== undefined) return this.#tryNow(due.id, async () => due.amount)
    const settled = await this.#askSettled(wanted, payment.amount)
    const before = settled.refund ?? (await this.#ledger.findLanded?.(wanted))
    if (before !== undefined) return { amount: before.amount, transaction: before.transaction }
    const id = randomUUID()
    return this.#tryNow(id, async () => (await this.#record(wanted, id)).confirm())
  }

  /** Has every due refund tried after `begin`, and returns what became of one of them. */
  async #tryNow(id: string, begin: () => Promise<string>): Promise<RefundGiven> {
    this.#awaited.set(id, undefined)
    try {
      const amount = await begin()
      await this.#rounds.run()
      return { amount, transaction: this.#awaited.get(id) }
    } finally {
      this.#awaited.delete(id)
    }
  }

  /** Returns the refund that the facilitator shows. Throws where it does not show that this payment was settled. */
  async #askSettled(wanted: NewRefund, amount: string) {
    const { network, payer, paymentNonce, asset, method = 'eip3009' } = wanted
    const query = new URLSearchParams({ asset, method })
    const key = [network, payer, paymentNonce] as const
    const found = await fetchPayment(this.#options.facilitator, key, query)
    const isShown =
      found === undefined
        ? await this.#wasSettled({ ...wanted, id: '', state: 'planned', validBefore: 0 })
        : found.isOk && found.body.state === 'confirmed'
    if (isShown !== true) throw new Error('x402: the payment is not known to be settled')
    if (found === undefined) return { refund: undefined }
    const { payTo: paid } = found.body
    if (found.body.amount !== amount || !isSameAddress(paid, this.payTo)) {
      throw new Error(`x402: the payment moved ${found.body.amount} to ${paid}`)
    }
    const given = found.body.refund as RefundGiven | null | undefined
    return { refund: given ?? undefined }
  }
}

/** Returns whether refunds come from the address that a payment went to. */
export function isPaidTo(refunds: Pick<Refunds, 'payTo'>, payment: { payTo: string }): boolean {
  return isSameAddress(refunds.payTo, payment.payTo)
}

/** Reads the part of a payment that goes back; all of it where none is named. Throws for nothing, and for more. */
export function partOf(
  payment: Pick<RefundablePayment, 'amount' | 'asset' | 'network'>,
  part?: string,
): bigint {
  const whole = BigInt(payment.amount)
  const back = part === undefined ? whole : parseAmount(part, payment)
  if (back > 0n && back <= whole) return back
  throw new Error(`x402: ${part} cannot be given back of a payment of ${whole} atomic units`)
}

function newRefundOf(payment: RefundablePayment, back: bigint): NewRefund {
  const { network, asset, payer, nonce, method } = payment
  if (nonce === undefined) throw new Error('x402: only a payment by exact can be given back')
  const extra = payment.extra ?? findStablecoin(asset, network)
  if (extra === undefined) throw new Error('x402: extra must give name and version of the asset')
  return {
    network: network as Refund['network'],
    asset,
    extra: { name: extra.name, version: extra.version },
    amount: String(back),
    payer,
    paymentNonce: nonce,
    ...(method === 'permit2' ? { method } : {}),
    paymentValidBefore: now(),
  }
}

function renew(refund: Refund): Refund {
  return { ...refund, validBefore: now() + TRANSFER_LIFETIME_SECONDS }
}

function now(): number {
  return Math.floor(Date.now() / 1000)
}

function pathOf({ path }: RefundsOptions): string {
  if (typeof path === 'string' && path !== '') return path
  throw new Error('x402: refunds need path, the file of their ledger.')
}

/** Asks Arcus whether a payment was settled; `undefined` where the answer is unknown. */
function askPaymentState(facilitator: string | FacilitatorClient) {
  return async (refund: Refund): Promise<boolean | undefined> => {
    const { network, payer, paymentNonce, asset, method = 'eip3009' } = refund
    // The buyer may have used the same nonce in another token or by another method, which says nothing about this payment.
    const key = [network, payer, paymentNonce] as const
    const query = new URLSearchParams({ asset, method })
    const found = await fetchPayment(facilitator, key, query)
    if (found === undefined) return undefined
    if (found.status === 404 && found.body.error === 'not_found') return false
    if (!found.isOk) return undefined
    if (found.body.state === 'confirmed') return true
    return found.body.state === 'failed' ? false : undefined
  }
}

function askTransfer(facilitator: string | FacilitatorClient) {
  return async (transfer: RefundTransfer): Promise<string | undefined> => {
    const { network, from, nonce, asset } = transfer
    const query = new URLSearchParams({ asset, method: 'eip3009' })
    const found = await fetchPayment(facilitator, [network, from, nonce], query)
    return found?.isOk ? proofOf(transfer, found.body) : undefined
  }
}

function askUnused(facilitator: string | FacilitatorClient) {
  return async ({ network, from, nonce, asset }: RefundTransfer): Promise<boolean> => {
    const query = new URLSearchParams({ asset, method: 'eip3009' })
    const found = await fetchPayment(facilitator, [network, from, nonce], query)
    if (found?.status === 404 && found.body.error === 'not_found') return true
    return found?.isOk === true && typeof found.body.unusedAtBlock === 'number'
  }
}

async function fetchPayment(
  facilitator: string | FacilitatorClient,
  key: readonly [network: string, payer: string, nonce: string],
  query: URLSearchParams,
) {
  if (typeof facilitator !== 'string') return undefined
  const base = facilitator.replace(/\/+$/, '')
  const response = await fetch(`${base}/payments/${key.join('/')}?${query}`, {
    signal: AbortSignal.timeout(FACILITATOR_TIMEOUT_MS),
  })
  const body = (await response.json().catch(() => null)) as Record<string, unknown> | null
  return { status: response.status, isOk: response.ok, body: body ?? {} }
}

/** Allowed difference between clocks. */
const CLOCK_SECONDS = 600
/** Limit for payments that buyers made valid for years. */
const MAX_KEPT_SECONDS = 86_400

/**
 * Keeps refunds to one for each payment. A buyer whose answer was lost presents the same payment again, and the second
 * call may use more or less than the first. The token lets only one transfer through. So one refund is chosen here, and
 * the ledger and the buyer get that one.
 */
function createOnePerPayment() {
  const calls = new Map<string, string>()
  const taken = new Map<string, { refund: Refund; until: number }>()

  return {
    /** Starts a call that plans this refund and does not know the outcome of the payment yet. */
    open: (refund: Refund) => void calls.set(refund.id, refundNonce(refund)),
    close: ({ id }: Refund) => void calls.delete(id),
    /** Returns whether a call that presents the payment is under way. */
    isOpen(refund: Refund): boolean {
      return calls.size > 0 && [...calls.values()].includes(refundNonce(refund))
    },
    /** Returns the refund that counts for the payment: this one, unless another was taken before. */
    take(refund: Refund): Refund {
      const nonce = refundNonce(refund)
      const before = taken.get(nonce)?.refund
      if (before !== undefined && before.id !== refund.id) return before
      const at = now()
      const ends = Math.min(Math.max(refund.paymentValidBefore, at), at + MAX_KEPT_SECONDS)
      taken.set(nonce, { refund, until: ends + CLOCK_SECONDS })
      return refund
    },
    isTaken: (payment: PaymentOfRefund) => taken.has(refundNonce(payment)),
    /** Forgets payments that cannot be presented again. */
    prune(): void {
      for (const [nonce, { until }] of taken) if (until < now()) taken.delete(nonce)
    },
  }
}

type TransferOutcome =
  | { state: 'landed'; transaction: string }
  /** The nonce is used on chain. This proves no payment: the authorization may have been cancelled, or have moved another amount. */
  | { state: 'used'; reason: string }
  /** The transfer is tried again later. */
  | { state: 'failed'; reason: string }

const ALREADY_USED = 'invalid_exact_evm_nonce_already_used'
const SETTLE_SECONDS = 60

/**
 * Sends a refund as the merchant's own payment to the buyer: the merchant signs, the facilitator sends, no gas is
 * needed. Its nonce follows from the refunded payment, so that the token itself lets it happen only once, even after
 * repeated attempts.
 */
async function transferRefund(
  refund: Refund,
  signer: ClientEvmSigner,
  facilitator: FacilitatorClient,
): Promise<TransferOutcome> {
  const { network, asset, amount, extra, payer } = refund
  const requirements: PaymentRequirements = {
    scheme: 'exact',
    network,
    asset,
    amount,
    payTo: payer,
    maxTimeoutSeconds: SETTLE_SECONDS,
    extra: { ...extra },
  }
  try {
    const payload = await signTransfer(refund, requirements, signer)
    const { success, transaction, errorReason } = await facilitator.settle(payload, requirements)
    return success ? { state: 'landed', transaction } : failureOf(errorReason)
  } catch (error) {
    if (error instanceof SettleError) return failureOf(error.errorReason)
    return { state: 'failed', reason: (error as Error).message }
  }
}

function failureOf(reason = 'settlement_failed'): TransferOutcome {
  return { state: reason === ALREADY_USED ? 'used' : 'failed', reason }
}

function transferOf(refund: Refund, from: string): RefundTransfer {
  const { network, asset, amount, payer } = refund
  return { network, asset, from, to: payer, amount, nonce: refundNonce(refund) }
}

async function signTransfer(
  refund: Refund,
  accepted: PaymentRequirements,
  signer: ClientEvmSigner,
): Promise<PaymentPayload> {
  const authorization = {
    from: signer.address,
    // The buyer's spelling may have a wrong checksum, which some signers refuse.
    to: refund.payer.toLowerCase(),
    value: refund.amount,
    validAfter: '0',
    validBefore: String(refund.validBefore),
    nonce: refundNonce(refund),
  }
  const signature = await signer.signTypedData({
    domain: {
      ...refund.extra,
      chainId: Number(refund.network.split(':')[1]),
      verifyingContract: refund.asset.toLowerCase(),
    },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...authorization,
      value: BigInt(authorization.value),
      validAfter: 0n,
      validBefore: BigInt(refund.validBefore),
    },
  })
  // Arcus takes a refund that names its payment off the merchant's figures.
  const { paymentNonce: nonce, method = 'eip3009' } = refund
  const extensions = { [REFUND]: { info: { nonce, method } } }
  return { x402Version: 2, accepted, payload: { signature, authorization }, extensions }
}

/** A facilitator's answer about a payment that it finds by payer and nonce. */
type PaymentLookup = {
  [member in 'state' | 'asset' | 'payTo' | 'amount' | 'transaction']?: unknown
}

/**
 * Returns the transaction of a payment that proves a transfer: it is confirmed, and moved the same amount of the same
 * token to the same buyer.
 */
export function proofOf(
  { asset, to, amount }: RefundTransfer,
  found: PaymentLookup,
): string | undefined {
  const isConfirmed = found.state === 'confirmed' && found.amount === amount
  const isSameTransfer = isSameAddress(found.payTo, to) && isSameAddress(found.asset, asset)
  const { transaction } = found
  return isConfirmed && isSameTransfer && typeof transaction === 'string' ? transaction : undefined
}

type PaymentOfRefund = Pick<Refund, 'network' | 'asset' | 'payer' | 'paymentNonce' | 'method'>

/** Returns the nonce that all refunds of one payment share. */
export function refundNonce(payment: PaymentOfRefund): string {
  return `0x${createHash('sha256').update(refundText(payment)).digest('hex')}`
}

/** Opens an append-only file of JSON lines, which is also the record of every refund. */
export async function openRefundLedger(path: string): Promise<RefundLedger> {
  const text = await readFile(path, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const pending = new Map<string, Refund>()
  const remember = (refund: Refund) => {
    if (refund.state === 'landed' || refund.state === 'dropped') pending.delete(refund.id)
    else pending.set(refund.id, refund)
  }
  for (const line of text.split('\n')) {
    const refund = parseLine(line)
    if (refund !== undefined) remember(refund)
  }
  await mkdir(dirname(path), { recursive: true })
  const file = await open(path, 'a', 0o600)
  // A crash may have cut the last line short. The next line must not continue it.
  if (text !== '' && !text.endsWith('\n')) await file.appendFile('\n')
  return {
    async write(refund) {
      await file.appendFile(`${JSON.stringify(refund)}\n`)
      await file.datasync()
      remember(refund)
    },
    pending: () => [...pending.values()],
    async findLanded(payment) {
      const nonce = refundNonce(payment)
      const isOfPayment = (refund: Refund | undefined): refund is Refund =>
        refund?.state === 'landed' && refundNonce(refund) === nonce
      return (await readFile(path, 'utf8')).split('\n').map(parseLine).find(isOfPayment)
    },
    close: () => file.close(),
  }
}

function parseLine(line: string): Refund | undefined {
  try {
    return JSON.parse(line) as Refund
  } catch {
    return undefined
  }
}
