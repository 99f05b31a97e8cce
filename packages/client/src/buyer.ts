import {
  type Amount,
  type BuyerLimits,
  deliveryOf,
  iso,
  judge,
  type Left,
  leftOf,
  mayBePaid,
  type Refusal,
  readAmount,
  readBudget,
  refusalError,
} from './budget.js'
import { ArcusError, createCall } from './calls.js'
import { createCatalog } from './catalog.js'
import {
  entriesOf,
  type Ledger,
  type LedgerEntry,
  type LedgerEvent,
  type Reservation,
} from './ledger.js'
import { createPay, type Paid, type PaymentSigner, type PayOptions, readAsset } from './pay.js'
import { type Item, type SellerCall, urlOf } from './sellers.js'
import type { Requirement } from './terms.js'

export interface BuyerOptions extends Pick<PayOptions, 'network' | 'asset' | 'rpcUrl'> {
  signer: PaymentSigner
  limits: BuyerLimits
  /** `createFileLedger()` of `@arcus/client/ledger-file` in Node. */
  ledger: Ledger
  /**
   * The Arcus service that is asked about sellers and about payments whose outcome is unknown. Without it such payments
   * count as spent for good, and `sellers` can only be a list of hosts and addresses.
   */
  url?: string
  /** The global `fetch` by default. */
  fetch?: typeof fetch
}

/** A call within the limits of the buyer. */
export interface BuyerCall extends SellerCall {
  /** The most that this call may cost, where it is less than `perCall`. */
  maxAmount?: Amount
}

export interface Bought extends Paid {
  /** Atomic units that count as spent by this call. */
  cost: bigint
  /** False while nobody says whether the payment settled; it counts as spent until the facilitator says otherwise. */
  isDecided: boolean
  /** What the limits still allow after it. */
  left: Left
}

/** What a call would cost and who would be paid. */
export interface Quote {
  /** Absent if the seller asks for nothing. */
  terms?: Requirement
  /** The listing that names these terms. */
  item?: Item
  /** What the catalog says of paid checks of it. */
  delivery?: Record<string, unknown>
  /** The reason why it would not be paid. */
  refusal?: ArcusError
}

export interface Spending {
  left: Left
  /** The calls that cost something, the last one first. */
  entries: LedgerEntry[]
}

export interface Buyer {
  /**
   * Calls a seller and pays within the limits. Rejects as `pay` does, and with `over_limit` or `outcome_unknown` before
   * anything is signed. `details` of `over_limit` are `limit`, `left`, `amount` and `until`.
   */
  pay(target: string | Item, call?: BuyerCall): Promise<Bought>
  /** Calls a seller without a payment, and says what it would cost. */
  quote(target: string | Item, call?: BuyerCall): Promise<Quote>
  /** Looks up what is undecided, and says what was spent. */
  spent(): Promise<Spending>
}

type Unstamped<Event> = Event extends LedgerEvent ? Omit<Event, 'v' | 'at'> : never

/** Longer than a call takes that nobody stopped. */
const CALL_MS = 120_000
/** After this time somebody who reserved and did not sign is given up. */
const RESERVED_MS = 60_000
/** Others who were first, and are refused or sign within moments, are waited for. */
const WAITS = 20
const WAIT_MS = 100
/** Seconds by which the clocks of this machine and of the chain may differ. */
const CLOCK_SECONDS = 60
/** Payments that are looked up at once, and the pause before one is looked up again. */
const MAX_LOOKUPS = 10
const LOOKUP_PAUSE_MS = 5_000
const WEEK_SECONDS = 604_800
const NO_LIMIT = 2n ** 256n - 1n

/** Creates a buyer whose limits hold for all calls of all processes on one ledger. Throws `ArcusError` (`no_limit`). */
export function createBuyer(options: BuyerOptions): Buyer {
  const { signer, ledger, rpcUrl, url, fetch = globalThis.fetch } = options
  const money = readAsset(options)
  const budget = readBudget(options.limits, money)
  const call = url === undefined ? undefined : createCall(url, fetch)
  const catalog = call && createCatalog(call)
  const lookedUp = new Map<string, number>()
  const add = async (step: Unstamped<LedgerEvent>) =>
    entriesOf(await ledger.append({ v: 1, at: Date.now(), ...step }))
  const read = async () => entriesOf(await ledger.read())

  /** Books what the facilitator says of payments whose outcome nobody told. */
  async function review(entries: readonly LedgerEntry[], isUrgent = false): Promise<void> {
    if (call === undefined) return
    const now = Date.now()
    const isDue = ({ id, state, validBefore = 0 }: LedgerEntry) =>
      (state === 'signed' || state === 'unknown') &&
      now < (validBefore + WEEK_SECONDS) * 1_000 &&
      (isUrgent || now - (lookedUp.get(id) ?? 0) > LOOKUP_PAUSE_MS)
    const due = entries.filter(isDue).slice(-MAX_LOOKUPS)
    await Promise.all(
      due.map(async ({ id, amount, payment, validBefore = 0 }) => {
        if (payment === undefined) return
        lookedUp.set(id, now)
        const { asset, method, ...path } = payment
        const found = await call('GET /payments/{network}/{payer}/{nonce}', {
          path,
          query: { asset, method },
        }).catch(() => undefined)
        const { state, transaction } = found ?? {}
        if (state === 'confirmed' && transaction) {
          await add({ type: 'settled', id, amount: found?.amount ?? amount, transaction })
        }
        // Until its time is over, a payment that failed may be settled once more.
        const isOver = now > (validBefore + CLOCK_SECONDS) * 1_000
        if (state === 'failed' && isOver) await add({ type: 'released', id, reason: 'failed' })
      }),
    )
  }

  /** Reserves the amount, or throws the reason why it is not paid. */
  async function reserve(id: string, reservation: Reservation): Promise<void> {
    const amount = BigInt(reservation.amount)
    let entries = await add({ type: 'reserved', id, ...reservation })
    for (let waits = 0; ; waits++) {
      const before = entries.slice(
        0,
        entries.findIndex((entry) => entry.id === id),
      )
      const refusal = judge(before, budget, reservation, Date.now())
      if (refusal === undefined) return
      const abandoned = before.filter(
        ({ state, at }) => state === 'reserved' && Date.now() - at > RESERVED_MS,
      )
      for (const { id } of abandoned) await add({ type: 'released', id, reason: 'unsigned' })
      const signed = before.filter(({ state }) => state !== 'reserved')
      const mayPass = judge(signed, budget, reservation, Date.now()) === undefined
      if (!mayPass || waits === WAITS) throw refusalError(refusal, amount, budget)
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS))
      entries = await read()
    }
  }

  /** Refuses a call whose last payment is undecided: a second one could buy the same twice. */
  function refuseUndecided(entries: readonly LedgerEntry[], digest: string): void {
    const now = Date.now()
    const undecided = entries.find(
      ({ state, call, at, validBefore = 0 }) =>
        call === digest &&
        (state === 'unknown' || (state === 'signed' && now - at > CALL_MS)) &&
        now < (validBefore + CLOCK_SECONDS) * 1_000,
    )
    if (undecided === undefined) return
    const until = iso(((undecided.validBefore ?? 0) + CLOCK_SECONDS) * 1_000)
    const message = `The last payment for this very call is undecided, so it is not paid again before ${until}.`
    throw new ArcusError('outcome_unknown', message, 409, { payment: undecided.payment, until })
  }

  async function pay(target: string | Item, given: BuyerCall = {}): Promise<Bought> {
    const { maxAmount, ...sellerCall } = given
    const most = maxAmount === undefined ? NO_LIMIT : readAmount(maxAmount, 'maxAmount', money)
    const digest = await digestOf(target, sellerCall)
    await review(await read())
    refuseUndecided(await read(), digest)
    const id = crypto.randomUUID()
    let reservation: Reservation | undefined
    let hasSigned = false
    const payOnce = createPay(fetch, {
      async choose(chosen) {
        const item = await listingOf(target, sellerCall, chosen)
        const wanted: Reservation = {
          ...money,
          amount: chosen.amount,
          payTo: chosen.payTo,
          host: urlOf(target).host,
          merchant: item?.metadata.merchant.id,
          call: digest,
        }
        if (!mayBePaid(budget, wanted, item)) {
          const refusal = { limit: 'sellers', left: 0n, until: null } as const
          throw refusalError(refusal, BigInt(chosen.amount), budget)
        }
        reservation = wanted
        await reserve(id, wanted)
      },
      async sign(payment, validBefore) {
        const entries = await add({ type: 'signed', id, payment, validBefore })
        const own = entries.find((entry) => entry.id === id)
        if (own?.state !== 'signed') {
          throw new ArcusError('outdated', 'The call stood still for too long, and was not paid.')
        }
        hasSigned = true
      },
    })
    const cap = most < budget.perCall ? most : budget.perCall
    try {
      const wallet = { signer, ...money, ...(rpcUrl !== undefined && { rpcUrl }) }
      const paid = await payOnce(target, { ...sellerCall, ...wallet, maxAmount: cap } as PayOptions)
      if (paid.payment !== undefined) await book(id, paid)
      return await boughtOf(id, paid, reservation)
    } catch (error) {
      if (hasSigned)
        await review(
          (await add({ type: 'unknown', id })).filter((it) => it.id === id),
          true,
        )
      else if (reservation !== undefined) await add({ type: 'released', id, reason: 'unsigned' })
      throw isTooDear(error) ? tooDear(error, most) : error
    }
  }

  /** Books the outcome. The word of a seller can only add to what counts as spent. */
  async function book(id: string, { amount, settlement }: Paid): Promise<void> {
    const isSuccess = settlement?.success === true
    const isMetered = settlement?.amount !== undefined && BigInt(settlement.amount) !== amount
    if (!isSuccess) await add({ type: 'unknown', id })
    if (!isSuccess || isMetered)
      await review(
        (await read()).filter((it) => it.id === id),
        true,
      )
    if (!isSuccess) return
    // Where the facilitator has said it already, this comes too late and has no effect.
    const { transaction } = settlement
    await add({ type: 'settled', id, amount: `${amount}`, transaction })
  }

  async function boughtOf(
    id: string,
    paid: Paid,
    seller: Reservation | undefined,
  ): Promise<Bought> {
    const entries = await read()
    const own = entries.find((entry) => entry.id === id)
    return {
      ...paid,
      cost: own?.spent ?? 0n,
      isDecided: own === undefined || own.state === 'settled' || own.state === 'released',
      left: leftOf(entries, budget, Date.now(), seller),
    }
  }

  function tooDear(error: ArcusError, most: bigint): ArcusError {
    const { accepts } = error.details as { accepts: Requirement[] }
    const asked = accepts.filter(({ asset }) => asset?.toLowerCase() === money.asset.toLowerCase())
    const amount = asked.map((it) => BigInt(it.amount)).reduce((a, b) => (b < a ? b : a), NO_LIMIT)
    const isOwn = most < budget.perCall
    const left = isOwn ? most : budget.perCall
    const limit = isOwn ? 'maxAmount' : 'perCall'
    return refusalError({ limit, left, until: null }, amount, budget)
  }

  /** Returns the listing that names these terms, where somebody needs to know it. */
  async function listingOf(
    target: string | Item,
    { method, toolName }: SellerCall,
    terms?: Requirement,
  ) {
    const isNeeded = budget.sellers !== undefined || terms === undefined
    const found = () => catalog?.findAt({ url: target as string, method, toolName })
    const item =
      typeof target !== 'string'
        ? target
        : isNeeded
          ? await found()?.catch(() => undefined)
          : undefined
    if (item === undefined) return undefined
    const isNamed = item.accepts.some(
      ({ payTo }) => terms === undefined || payTo.toLowerCase() === terms.payTo.toLowerCase(),
    )
    return isNamed ? item : undefined
  }

  async function quote(target: string | Item, given: BuyerCall = {}): Promise<Quote> {
    const { maxAmount, ...sellerCall } = given
    const most =
      maxAmount === undefined ? budget.perCall : readAmount(maxAmount, 'maxAmount', money)
    let terms: Requirement | undefined
    const ask = createPay(fetch, {
      async choose(chosen) {
        terms = chosen
        // Nothing is signed, so the call ends here.
        throw new ArcusError('quoted', 'The terms are known.')
      },
    })
    try {
      const free = await ask(target, {
        ...sellerCall,
        signer,
        ...money,
        maxAmount: NO_LIMIT,
      } as PayOptions)
      await free.response.body?.cancel()
      return {}
    } catch (error) {
      if (terms === undefined) throw error
    }
    const item = await listingOf(target, sellerCall)
    const named = await listingOf(item ?? target, sellerCall, terms)
    const seller = {
      amount: terms.amount,
      payTo: terms.payTo,
      host: urlOf(target).host,
      merchant: named?.metadata.merchant.id,
    }
    const amount = BigInt(terms.amount)
    const refusal: Refusal | undefined = !mayBePaid(budget, seller, named)
      ? { limit: 'sellers', left: 0n, until: null }
      : amount > most
        ? { limit: maxAmount === undefined ? 'perCall' : 'maxAmount', left: most, until: null }
        : judge(await read(), budget, seller, Date.now())
    const delivery = deliveryOf(named)
    return {
      terms,
      ...(named !== undefined && { item: named }),
      ...(delivery !== undefined && { delivery }),
      ...(refusal !== undefined && { refusal: refusalError(refusal, amount, budget) }),
    }
  }

  async function spent(): Promise<Spending> {
    await review(await read())
    const entries = await read()
    const cost = entries.filter((entry) => entry.spent > 0n).reverse()
    return { left: leftOf(entries, budget, Date.now()), entries: cost }
  }

  return { pay, quote, spent }
}

function isTooDear(error: unknown): error is ArcusError {
  return error instanceof ArcusError && error.code === 'too_dear'
}

/** Returns a digest of all that makes a call, in 32 hexadecimal digits. */
async function digestOf(
  target: string | Item,
  { signal: _, ...call }: SellerCall,
): Promise<string> {
  const resource = typeof target === 'string' ? target : target.resource
  const toolName = typeof target === 'string' ? undefined : target.metadata.input.toolName
  const bytes = new TextEncoder().encode(JSON.stringify([resource, { toolName, ...call }]))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return [...digest.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
