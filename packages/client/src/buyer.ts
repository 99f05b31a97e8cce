import { isObject } from '@arcus/protocol/x402/json'
import {
  type Amount,
  type Budget,
  type BuyerLimits,
  type Cap,
  capOf,
  deliveryOf,
  isOf,
  iso,
  judge,
  type Left,
  leftOf,
  readAmount,
  readBudget,
  refusalError,
  showAmount,
} from './budget.js'
import { ArcusError, createCall, trustedUrl } from './calls.js'
import { createCatalog } from './catalog.js'
import { createPaymentChain } from './chain.js'
import {
  type ChannelStatus,
  createChannels,
  type Drawn,
  type LedgerStep,
  type PlannedPayment,
  RESERVED_MS,
  statusOf,
} from './channels.js'
import { entriesOf, isOpen, type Ledger, type LedgerEntry, WEEK_SECONDS } from './ledger.js'
import {
  createPay,
  type Paid,
  type PaymentSigner,
  type PayOptions,
  type PaySteps,
  readAsset,
} from './pay.js'
import { type Item, type SellerCall, urlOf } from './sellers.js'
import { aboveListing, CHANNEL, listedCap, type Requirement } from './terms.js'

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
  /**
   * Lets the buyer open a channel (`batch-settlement`) with each seller that offers it at the price of a call or less.
   * `deposit` is what it is filled with, and all that it can lose. It counts as spent when it is signed, and calls on the
   * channel take nothing more from the limits. Needs `rpcUrl`: what came back is booked as the chain says.
   */
  channels?: { deposit: Amount }
  /** The global `fetch` by default. */
  fetch?: typeof fetch
}

/** A call within the limits of the buyer. */
export interface BuyerCall extends SellerCall {
  /**
   * The most that this call may cost, where it is less than `perCall`. Without it a call that the catalog lists costs at
   * most what its listing says; with it, this is the limit in place of the listing.
   */
  maxAmount?: Amount
}

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

/** Returns whether money left for an answer that is a failure. */
export function isChargedInVain({ response, cost, isDecided }: Bought): boolean {
  return isDecided && cost > 0n && !response.ok
}

/** The price of a call that was not made yet, and its seller. */
export interface Quote {
  /** Absent if the seller asks for nothing. */
  terms?: Requirement
  /** The listing that names these terms. */
  item?: Item
  /** The results of the catalog's paid checks of this item; absent where none was made. */
  delivery?: Record<string, unknown>
  /** The reason why it would not be paid. */
  refusal?: ArcusError
}

export interface Spending {
  left: Left
  /** The calls that cost something, the last one first. */
  entries: LedgerEntry[]
  /** The channels in which there is money that can still come back, or go to the seller. */
  channels: ChannelStatus[]
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
  /**
   * Asks the sellers of all open channels for what is left. What came back counts as spent no longer. A channel that its
   * seller does not close has a `problem`, and is asked for again by the next call.
   */
  closeChannels(): Promise<ChannelStatus[]>
}

/** Longer than a call takes that nobody stopped. */
const CALL_MS = 120_000
/** Others who were first, and are refused or sign within moments, are waited for. */
const WAITS = 20
const WAIT_MS = 100
/** Seconds by which the clocks of this machine and of the chain may differ. */
const CLOCK_SECONDS = 60
/** Payments that are looked up at once, and the pause before one is looked up again. */
const MAX_LOOKUPS = 10
const LOOKUP_PAUSE_MS = 5_000
const NO_LIMIT = 2n ** 256n - 1n

/** Creates a buyer whose limits hold for all calls of all processes on one ledger. Throws `ArcusError` (`no_limit`). */
export function createBuyer(options: BuyerOptions): Buyer {
  checkGiven(options)
  const { signer, ledger, rpcUrl, url, fetch = globalThis.fetch } = options
  const money = readAsset(options)
  const budget = readBudget(options.limits, money)
  const call = url === undefined ? undefined : createCall(trustedUrl(url), fetch)
  const catalog = call && createCatalog(call)
  const chain = rpcUrl === undefined ? undefined : createPaymentChain(rpcUrl)
  const lookedUp = new Map<string, number>()
  const deposit = readDeposit(options, budget)
  const add = async (step: LedgerStep) =>
    entriesOf(await ledger.append({ v: 1, at: Date.now(), ...step }))
  const read = async () => entriesOf(await ledger.read())
  const channels = createChannels({
    signer,
    budget,
    deposit,
    rpcUrl,
    fetch,
    add,
    read,
    reserve: (id, { reservation, item }) => {
      const cap = { limit: 'deposit', amount: BigInt(reservation.amount) } as const
      return reserve(id, { reservation, item }, cap)
    },
  })

  /**
   * Looks up payments whose outcome is unknown, and deposits of channels, and books the answers. With `isFull` the chain is
   * asked about all open channels too, and about what only the facilitator has given back.
   */
  async function review(
    entries: readonly LedgerEntry[],
    { urgent, isFull = false }: { urgent?: string; isFull?: boolean } = {},
  ): Promise<void> {
    const now = Date.now()
    const isUndecided = ({ state, validBefore = 0, channel }: LedgerEntry) =>
      (state === 'signed' || state === 'unknown') &&
      (channel !== undefined || now < (validBefore + WEEK_SECONDS) * 1_000)
    const isHalfDecided = (entry: LedgerEntry) =>
      isOpen(entry) || (chain !== undefined && entry.unproven > 0n)
    const isDue = (entry: LedgerEntry) =>
      (isUndecided(entry) || (isFull && isHalfDecided(entry))) &&
      (entry.id === urgent || now - (lookedUp.get(entry.id) ?? 0) > LOOKUP_PAUSE_MS)
    const due = entries.filter(isDue).slice(-MAX_LOOKUPS)
    await Promise.all(
      due.map(async (entry) => {
        lookedUp.set(entry.id, now)
        // A node that does not answer decides nothing.
        if (entry.channel !== undefined) await channels.look(entry).catch(() => {})
        else if (entry.unproven > 0n) await agree(entry).catch(() => {})
        else await lookUp(entry)
      }),
    )
  }

  /**
   * Asks the chain, or else the facilitator. Money comes back for an authorization that the chain calls unused after its
   * end, and for nothing else: until then the seller may still put it on chain, whatever failed before.
   */
  async function lookUp(entry: LedgerEntry): Promise<void> {
    const { id, amount, payment, validBefore = 0 } = entry
    if (payment === undefined) return
    const use = await chain?.readUse(payment, validBefore).catch(() => undefined)
    if (use === 'unused') return void (await add({ type: 'released', id, reason: 'unused' }))
    const { asset, method, ...path } = payment
    const found = await call?.('GET /payments/{network}/{payer}/{nonce}', {
      path,
      query: { asset, method },
    }).catch(() => undefined)
    const { state, transaction } = found ?? {}
    if (state === 'confirmed' && transaction) {
      const charged = found?.amount ?? amount
      const entries = await add({ type: 'settled', id, amount: charged, transaction })
      const settled = entries.find((it) => it.id === id)
      if (settled !== undefined && settled.unproven > 0n) await agree(settled).catch(() => {})
      return
    }
    const isUnderWay = state === 'queued' || state === 'submitted'
    if (state === 'used' || (use === 'used' && !isUnderWay)) {
      // Others brought it on chain, and nobody here says for how much.
      await add({ type: 'settled', id, amount, transaction: transaction ?? '' })
    } else if (state === 'failed' && chain === undefined) {
      const isOver = Date.now() > (validBefore + CLOCK_SECONDS) * 1_000
      const isUnused = typeof found?.unusedAtBlock === 'number'
      if (isOver && isUnused) await add({ type: 'released', id, reason: 'failed' })
    }
  }

  /** Asks the chain whether it agrees with what the facilitator alone has given back. Rejects where no node answers. */
  async function agree(entry: LedgerEntry): Promise<void> {
    const { id, state, payment, validBefore = 0, payTo, spent: amount, at, transaction } = entry
    if (chain === undefined || payment === undefined) return
    if (state === 'released') {
      const isUnused = (await chain.readUse(payment, validBefore)) === 'unused'
      if (isUnused) await add({ type: 'agreed', id })
      return
    }
    if (transaction === undefined || !/^0x[0-9a-f]{64}$/i.test(transaction)) return
    const since = Math.floor(at / 1_000) - CLOCK_SECONDS
    const hash = transaction as `0x${string}`
    const count = await chain.countTransfers(hash, payment, { payTo, amount, since })
    // One transfer backs one payment.
    const backed = (await read()).filter(
      (it) => it.id !== id && it.transaction === transaction && it.spent === amount,
    )
    if (count > backed.filter((it) => it.unproven === 0n).length) await add({ type: 'agreed', id })
  }

  /** Reserves the amount, or throws the reason why it is not paid. */
  async function reserve(id: string, { reservation, item }: PlannedPayment, cap?: Cap) {
    const amount = BigInt(reservation.amount)
    const wanted = { ...reservation, item, ...(cap !== undefined && { cap }) }
    let entries = await add({ type: 'reserved', id, ...reservation })
    for (let waits = 0; ; waits++) {
      const before = entries.slice(
        0,
        entries.findIndex((entry) => entry.id === id),
      )
      const refusal = judge(before, budget, wanted, Date.now())
      if (refusal === undefined) return
      const abandoned = before.filter(
        ({ state, at }) => state === 'reserved' && Date.now() - at > RESERVED_MS,
      )
      for (const { id } of abandoned) await add({ type: 'released', id, reason: 'unsigned' })
      const signed = before.filter(({ state }) => state !== 'reserved')
      const mayPass = judge(signed, budget, wanted, Date.now()) === undefined
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

  /** Returns what would be reserved for these terms, and the listing that names them. */
  async function wantedOf(
    target: string | Item,
    given: BuyerCall,
    { amount, payTo, scheme }: Requirement,
  ): Promise<PlannedPayment> {
    const { method, toolName } = given
    const item =
      typeof target === 'string'
        ? await catalog?.findAt({ url: target, method, toolName }).catch(() => undefined)
        : target
    const isNamed = item?.accepts.some((it) => it.payTo.toLowerCase() === payTo.toLowerCase())
    const named = isNamed === true ? item : undefined
    const merchant = named?.metadata.merchant.id
    const call = await digestOf(target, given)
    const { host } = urlOf(target)
    const isCeiling = scheme === 'upto' || undefined
    const reservation = { ...money, amount, payTo, host, merchant, call, isCeiling }
    return { reservation, item: named }
  }

  /** Returns the refusal of a price above that of the listing, unless the call states a limit of its own. */
  function dearerThanListed(
    { item }: PlannedPayment,
    { maxAmount }: BuyerCall,
    terms: Requirement,
  ) {
    if (item === undefined || maxAmount !== undefined) return undefined
    const bound = listedCap(item, terms)
    if (BigInt(terms.amount) <= bound.cap) return undefined
    return aboveListing(terms, bound, (amount) => showAmount(amount, budget))
  }

  async function pay(target: string | Item, given: BuyerCall = {}): Promise<Bought> {
    const cap = capOf(budget, given.maxAmount)
    await review(await read())
    refuseUndecided(await read(), await digestOf(target, given))
    const id = crypto.randomUUID()
    let wanted: PlannedPayment | undefined
    let drawn: Drawn | undefined
    let drawing: Awaited<ReturnType<typeof channels.book>> | undefined
    let hasSigned = false
    const steps: PaySteps = {
      async choose(terms) {
        const asked = await wantedOf(target, given, terms)
        const dearer = dearerThanListed(asked, given, terms)
        if (dearer !== undefined) throw dearer
        wanted = asked
        await reserve(id, wanted)
      },
      async sign(payment, validBefore) {
        const signedId = drawn?.id ?? id
        const entries = await add({ type: 'signed', id: signedId, payment, validBefore })
        const own = entries.find((entry) => entry.id === signedId)
        if (own?.state !== 'signed') {
          throw new ArcusError('outdated', 'The call stood still for too long, and was not paid.')
        }
        hasSigned = true
      },
    }
    if (deposit !== undefined) {
      steps.draw = async (terms, route) => {
        const its = await wantedOf(target, given, terms)
        const dearer = dearerThanListed(its, given, terms)
        if (dearer !== undefined) return dearer
        const result = await channels.draw(its, terms, route)
        if (result instanceof ArcusError) return result
        wanted = its
        drawn = result
        return result.client
      }
      steps.reply = async (reply) => {
        if (drawn === undefined) return
        const { price } = drawn
        drawing = await channels.book(drawn, reply).catch(async (error) => {
          if (!(error instanceof ArcusError)) return { cost: price, isDecided: false }
          await reply.response.body?.cancel()
          throw error
        })
      }
    }
    const wallet = { signer, ...money, ...(rpcUrl !== undefined && { rpcUrl }) }
    const options = { ...given, ...wallet, maxAmount: cap.amount } as PayOptions
    const paid = await createPay(fetch, steps)(target, options).catch(async (error) => {
      // A ledger that cannot be written any more counts it as spent, and the reason of the seller matters more.
      if (drawn !== undefined) await channels.book(drawn).catch(() => {})
      else if (wanted !== undefined) await close(id, hasSigned).catch(() => {})
      if (hasSigned && drawn === undefined) throw await withCharge(id, error).catch(() => error)
      throw aboveCap(error, cap, budget) ?? error
    })
    // The buyer gets the answer that was paid for, even if the ledger cannot be written.
    if (hasSigned && drawn === undefined) await close(id, true, paid).catch(() => {})
    const entries = await read()
    const own = entries.find((entry) => entry.id === (drawn?.id ?? id))
    const isDecided = own === undefined || own.state === 'settled' || own.state === 'released'
    const [channel] = own === undefined ? [] : statusOf(own)
    const transaction = own?.transaction || paid.settlement?.transaction
    return {
      ...paid,
      cost: own?.spent ?? 0n,
      isDecided,
      ...drawing,
      ...(transaction && { transaction }),
      left: leftOf(entries, budget, Date.now(), wanted?.reservation),
      ...(channel !== undefined && { channel }),
    }
  }

  /** Adds to the error of a call what the call has cost all the same, where that is known. */
  async function withCharge(id: string, error: unknown): Promise<unknown> {
    const own = (await read()).find((entry) => entry.id === id)
    if (!(error instanceof ArcusError) || own?.state !== 'settled') return error
    const { code, message, status, details } = error
    const { spent: cost, transaction = '' } = own
    const where = transaction === '' ? '' : `, transaction ${transaction}`
    const said = `${message} Charged, although the call failed: ${showAmount(cost, budget)}${where}.`
    const facts = { ...(isObject(details) && details), cost: `${cost}`, transaction }
    return new ArcusError(code, said, status, facts)
  }

  /** Books the outcome. The word of a seller never makes less of what counts as spent: the facilitator is asked. */
  async function close(id: string, hasSigned: boolean, paid?: Paid): Promise<void> {
    if (!hasSigned) return void (await add({ type: 'released', id, reason: 'unsigned' }))
    const { amount = 0n, settlement } = paid ?? {}
    const isSuccess = settlement?.success === true
    const isWhole = settlement?.amount === undefined || settlement.amount === `${amount}`
    if (!isSuccess) await add({ type: 'unknown', id })
    if (!isSuccess || !isWhole) await review(await read(), { urgent: id })
    // Where the facilitator has said it already, this comes too late and has no effect.
    const { transaction = '' } = settlement ?? {}
    if (isSuccess) await add({ type: 'settled', id, amount: `${amount}`, transaction })
  }

  async function quote(target: string | Item, given: BuyerCall = {}): Promise<Quote> {
    const cap = capOf(budget, given.maxAmount)
    let quoted: Quote = {}
    const steps = {
      async choose(terms: Requirement): Promise<never> {
        const wanted = await wantedOf(target, given, terms)
        const { reservation, item } = wanted
        const isCovered = terms.scheme === CHANNEL && (await channels.covers(wanted, terms))
        const before = isCovered ? [] : await read()
        const broken = judge(before, budget, { ...reservation, item, cap }, Date.now())
        const amount = BigInt(terms.amount)
        const refusal =
          dearerThanListed(wanted, given, terms) ?? (broken && refusalError(broken, amount, budget))
        const delivery = deliveryOf(item)
        quoted = {
          terms,
          ...(item !== undefined && { item }),
          ...(delivery !== undefined && { delivery }),
          ...(refusal !== undefined && { refusal }),
        }
        // Nothing is signed, so the call ends here.
        throw new ArcusError('quoted', 'The terms are known.')
      },
    }
    const ask = createPay(fetch, { ...steps, ...(deposit !== undefined && { draw: steps.choose }) })
    const options = { ...given, signer, ...money, maxAmount: NO_LIMIT } as PayOptions
    const free = await ask(target, options).catch((error) => {
      if (!(error instanceof ArcusError && error.code === 'quoted')) throw error
    })
    await free?.response.body?.cancel()
    return quoted
  }

  async function spent(): Promise<Spending> {
    await review(await read(), { isFull: true })
    const entries = await read()
    const cost = entries.filter((entry) => entry.spent > 0n).reverse()
    const open = entries.filter((entry) => isOpen(entry) && isOf(entry, budget)).reverse()
    return {
      left: leftOf(entries, budget, Date.now()),
      entries: cost,
      channels: open.flatMap(statusOf),
    }
  }

  return { pay, quote, spent, closeChannels: channels.close }
}

/** Returns what a channel is filled with, if there are channels. Throws `ArcusError` (`no_limit`). */
function readDeposit({ channels, rpcUrl }: BuyerOptions, budget: Budget): bigint | undefined {
  if (channels === undefined) return undefined
  const deposit = readAmount(channels.deposit, 'deposit', budget)
  const limits = ['perDay', 'perSeller', 'total'] as const
  const lower = limits.find((name) => deposit > (budget[name] ?? deposit))
  if (lower !== undefined) throw new ArcusError('no_limit', `deposit is above the limit ${lower}.`)
  if (rpcUrl !== undefined) return deposit
  throw new ArcusError('no_limit', 'channels want rpcUrl, a node that says what came back.')
}

/** Says which option is missing: options that are not typed are caught here, before anything is signed. */
function checkGiven({ signer, limits, ledger }: Partial<BuyerOptions>): void {
  const isSigner = typeof signer?.signTypedData === 'function' && typeof signer.address === 'string'
  const missing = [
    ...(isSigner ? [] : ['signer: an account, such as privateKeyToAccount of viem makes']),
    ...(limits === undefined ? ['limits: perCall and perDay at least'] : []),
    ...(ledger === undefined ? ['ledger: createFileLedger of @arcus/client/ledger-file'] : []),
  ]
  if (missing.length > 0) throw new TypeError(`createBuyer needs ${missing.join('; ')}.`)
}

/** Returns the refusal of a price above the limit of a call; `undefined` for any other error. */
function aboveCap(error: unknown, { limit, amount: left }: Cap, budget: Budget) {
  if (!(error instanceof ArcusError) || error.code !== 'too_dear') return undefined
  const { amount, listed } = error.details as { amount: string; listed?: string }
  if (listed !== undefined) return undefined
  return refusalError({ limit, left, until: null }, BigInt(amount), budget)
}

/** Returns a digest of all that is asked of the seller, in 32 hexadecimal digits. A limit asks for nothing else. */
async function digestOf(
  target: string | Item,
  { signal: _, maxAmount: __, ...call }: BuyerCall,
): Promise<string> {
  const resource = typeof target === 'string' ? target : target.resource
  const toolName = typeof target === 'string' ? undefined : target.metadata.input.toolName
  const bytes = new TextEncoder().encode(JSON.stringify([resource, { toolName, ...call }]))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return [...digest.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
