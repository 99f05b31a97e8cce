import { isObject } from '@arcus/protocol/x402/json'
import {
  type Budget,
  type Cap,
  capOf,
  type Left,
  leftOf,
  refusalError,
  showAmount,
} from './budget.js'
import type { BudgetLedger } from './budget-ledger.js'
import { ArcusError } from './calls.js'
import type { CatalogClient } from './catalog.js'
import {
  type BookedCall,
  type BuyerChannels,
  type ChannelStatus,
  type Drawn,
  statusOf,
} from './channels.js'
import type { PaymentOutcomes } from './outcomes.js'
import {
  createPay,
  type Paid,
  type PaymentName,
  type PaymentSigner,
  type PayOptions,
  type PaySteps,
} from './pay.js'
import {
  type BuyerCall,
  dearerThanListed,
  digestOf,
  type PlannedPayment,
  planPayment,
} from './planned-payment.js'
import type { Item, SellerReply, SellerRoute } from './sellers.js'
import type { Requirement } from './terms.js'

export interface Bought extends Paid {
  /** Atomic units that this call has cost. The deposit of a channel counts as spent in addition, until it comes back. */
  cost: bigint
  /** False while nobody says whether the payment settled; it counts as spent until the facilitator says otherwise. */
  isDecided: boolean
  /** The money that the limits still allow after this call. */
  left: Left
  /** The transaction that took the money, as the facilitator names it, or else the seller. */
  transaction?: string
  /** The channel that the call was paid by, where there is one. */
  channel?: ChannelStatus
}

/** The parts of a buyer that all its calls use. */
export interface BuyerContext {
  signer: PaymentSigner
  ledger: BudgetLedger
  catalog: CatalogClient | undefined
  channels: BuyerChannels
  outcomes: PaymentOutcomes
  rpcUrl: string | undefined
  fetch: typeof globalThis.fetch
}

/** One call of a buyer, from its limit to its booked cost. */
export class BuyerPurchase {
  readonly #context: BuyerContext
  readonly #target: string | Item
  readonly #call: BuyerCall
  readonly #cap: Cap
  /** The id of the call in the ledger. A call that draws on a channel is booked under that of the channel. */
  readonly #id = crypto.randomUUID()
  #planned: PlannedPayment | undefined
  #drawn: Drawn | undefined
  #booked: BookedCall | undefined
  #hasSigned = false

  /** Throws `ArcusError` (`no_limit`) for a limit that is no amount. */
  constructor(context: BuyerContext, target: string | Item, call: BuyerCall) {
    this.#context = context
    this.#target = target
    this.#call = call
    this.#cap = capOf(context.ledger.budget, call.maxAmount)
  }

  /** Calls the seller, pays within the limits, and books what the call has cost. It runs once. */
  async pay(): Promise<Bought> {
    const { ledger, outcomes, signer, rpcUrl, fetch } = this.#context
    const { network, asset } = ledger.budget
    await outcomes.review()
    await ledger.refuseUndecided(await digestOf(this.#target, this.#call))
    const options = {
      ...this.#call,
      signer,
      network,
      asset,
      ...(rpcUrl !== undefined && { rpcUrl }),
      maxAmount: this.#cap.amount,
    } as PayOptions
    const pay = createPay(fetch, this.#steps())
    const paid = await pay(this.#target, options).catch((error) => this.#fail(error))
    // The buyer gets the answer that was paid for, even if the ledger cannot be written.
    if (this.#hasSigned && this.#drawn === undefined) await this.#close(paid).catch(() => {})
    return this.#toBought(paid)
  }

  #steps(): PaySteps {
    const steps: PaySteps = {
      choose: (terms) => this.#choose(terms),
      sign: (payment, validBefore) => this.#sign(payment, validBefore),
    }
    if (!this.#context.channels.mayOpen) return steps
    steps.draw = (terms, route) => this.#draw(terms, route)
    steps.reply = (reply) => this.#bookDrawn(reply)
    return steps
  }

  /** Reserves the price of these terms. */
  async #choose(terms: Requirement): Promise<void> {
    const planned = await this.#plan(terms)
    if (planned instanceof ArcusError) throw planned
    this.#planned = planned
    await this.#context.ledger.reserve(this.#id, planned)
  }

  /** Draws on the channel of the seller. Returns what signs for it, or the reason why the call is not paid by channel. */
  async #draw(terms: Requirement, route: SellerRoute) {
    const planned = await this.#plan(terms)
    if (planned instanceof ArcusError) return planned
    const drawn = await this.#context.channels.draw(planned, terms, route)
    if (drawn instanceof ArcusError) return drawn
    this.#planned = planned
    this.#drawn = drawn
    return drawn.client
  }

  /** Returns what would be reserved, or the refusal of a price above that of the listing. */
  async #plan(terms: Requirement): Promise<PlannedPayment | ArcusError> {
    const { catalog, ledger } = this.#context
    const planned = await planPayment(ledger.budget, catalog, this.#target, this.#call, terms)
    return dearerThanListed(planned, this.#call, terms, ledger.budget) ?? planned
  }

  /** Books that a payment is about to leave. Throws where the reservation was given up meanwhile. */
  async #sign(payment: PaymentName, validBefore: number): Promise<void> {
    const id = this.#drawn?.id ?? this.#id
    const entries = await this.#context.ledger.add({ type: 'signed', id, payment, validBefore })
    const own = entries.find((entry) => entry.id === id)
    if (own?.state !== 'signed') {
      throw new ArcusError('outdated', 'The call took too long and was not paid.')
    }
    this.#hasSigned = true
  }

  /** Books what a call on a channel has cost, as the seller answers. */
  async #bookDrawn(reply: SellerReply): Promise<void> {
    if (this.#drawn === undefined) return
    const { price } = this.#drawn
    this.#booked = await this.#context.channels.book(this.#drawn, reply).catch(async (error) => {
      if (!(error instanceof ArcusError)) return { cost: price, isDecided: false }
      await reply.response.body?.cancel()
      throw error
    })
  }

  /** Books a call that ended with an error, and throws that error with what the call has cost all the same. */
  async #fail(error: unknown): Promise<never> {
    const { channels, ledger } = this.#context
    // A ledger that cannot be written any more counts it as spent, and the reason of the seller matters more.
    if (this.#drawn !== undefined) await channels.book(this.#drawn).catch(() => {})
    else if (this.#planned !== undefined) await this.#close().catch(() => {})
    if (this.#hasSigned && this.#drawn === undefined) {
      throw await this.#withCharge(error).catch(() => error)
    }
    throw aboveCap(error, this.#cap, ledger.budget) ?? error
  }

  /** Adds to the error of a call what the call has cost all the same, where that is known. */
  async #withCharge(error: unknown): Promise<unknown> {
    const { ledger } = this.#context
    const own = await ledger.find(this.#id)
    if (!(error instanceof ArcusError) || own?.state !== 'settled') return error
    const { code, message, status, details } = error
    const { spent, transaction = '' } = own
    const cost = showAmount(spent, ledger.budget)
    const where = transaction === '' ? '' : `, transaction ${transaction}`
    const said = `${message} Charged, although the call failed: ${cost}${where}.`
    const facts = { ...(isObject(details) && details), cost: `${spent}`, transaction }
    return new ArcusError(code, said, status, facts)
  }

  /** Books the outcome. The word of a seller never makes less of what counts as spent: the facilitator is asked. */
  async #close(paid?: Paid): Promise<void> {
    const { ledger, outcomes } = this.#context
    const id = this.#id
    if (!this.#hasSigned) {
      await ledger.add({ type: 'released', id, reason: 'unsigned' })
      return
    }
    const { amount = 0n, settlement } = paid ?? {}
    const isSuccess = settlement?.success === true
    const isWhole = settlement?.amount === undefined || settlement.amount === `${amount}`
    if (!isSuccess) await ledger.add({ type: 'unknown', id })
    if (!isSuccess || !isWhole) await outcomes.review({ urgent: id })
    // Where the facilitator has said it already, this comes too late and has no effect.
    const { transaction = '' } = settlement ?? {}
    if (isSuccess) await ledger.add({ type: 'settled', id, amount: `${amount}`, transaction })
  }

  async #toBought(paid: Paid): Promise<Bought> {
    const { ledger } = this.#context
    const entries = await ledger.read()
    const own = entries.find((entry) => entry.id === (this.#drawn?.id ?? this.#id))
    const isDecided = own === undefined || own.state === 'settled' || own.state === 'released'
    const [channel] = own === undefined ? [] : statusOf(own)
    const transaction = own?.transaction || paid.settlement?.transaction
    return {
      ...paid,
      cost: own?.spent ?? 0n,
      isDecided,
      ...this.#booked,
      ...(transaction && { transaction }),
      left: leftOf(entries, ledger.budget, Date.now(), this.#planned?.reservation),
      ...(channel !== undefined && { channel }),
    }
  }
}

/** Returns the refusal of a price above the limit of a call; `undefined` for any other error. */
function aboveCap(
  error: unknown,
  { limit, amount: left }: Cap,
  budget: Budget,
): ArcusError | undefined {
  if (!(error instanceof ArcusError) || error.code !== 'too_dear') return undefined
  const { amount, listed } = error.details as { amount: string; listed?: string }
  if (listed !== undefined) return undefined
  return refusalError({ limit, left, until: null }, BigInt(amount), budget)
}
