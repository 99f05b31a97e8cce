import {
  type Amount,
  type Budget,
  type BuyerLimits,
  type Cap,
  capOf,
  deliveryOf,
  isOf,
  judge,
  type Left,
  leftOf,
  readAmount,
  readBudget,
  refusalError,
} from './budget.js'
import { BudgetLedger } from './budget-ledger.js'
import { ArcusError, createCall, trustedUrl } from './calls.js'
import { createCatalog } from './catalog.js'
import { createPaymentChain } from './chain.js'
import { BuyerChannels, type ChannelStatus, statusOf } from './channels.js'
import { isOpen, type Ledger, type LedgerEntry } from './ledger.js'
import { PaymentOutcomes } from './outcomes.js'
import { createPay, type PaymentSigner, type PayOptions, type PaySteps, readAsset } from './pay.js'
import { type BuyerCall, dearerThanListed, planPayment } from './planned-payment.js'
import { type Bought, type BuyerContext, BuyerPurchase } from './purchase.js'
import type { Item } from './sellers.js'
import { CHANNEL, type Requirement } from './terms.js'

export type { BuyerCall } from './planned-payment.js'
export type { Bought } from './purchase.js'

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
  /**
   * The calls that cost something, the last one first. `returned` is what the seller gave back later, in atomic units, where
   * the service shows that; of the last twenty calls.
   */
  entries: (LedgerEntry & { returned?: bigint })[]
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

const NO_LIMIT = 2n ** 256n - 1n

/** Creates a buyer whose limits hold for all calls of all processes on one ledger. Throws `ArcusError` (`no_limit`). */
export function createBuyer(options: BuyerOptions): Buyer {
  checkGiven(options)
  const context = createContext(options)
  return {
    pay: async (target, call = {}) => new BuyerPurchase(context, target, call).pay(),
    quote: (target, call = {}) => quote(context, target, call),
    spent: () => readSpending(context),
    closeChannels: () => context.channels.close(),
  }
}

function createContext(options: BuyerOptions): BuyerContext {
  const { signer, rpcUrl, url, fetch = globalThis.fetch } = options
  const budget = readBudget(options.limits, readAsset(options))
  const ledger = new BudgetLedger(options.ledger, budget)
  const call = url === undefined ? undefined : createCall(trustedUrl(url), fetch)
  const catalog = call && createCatalog(call)
  const chain = rpcUrl === undefined ? undefined : createPaymentChain(rpcUrl)
  const deposit = readDeposit(options, budget)
  const channels = new BuyerChannels({ signer, ledger, deposit, chain, fetch })
  const outcomes = new PaymentOutcomes(ledger, { chain, call, channels })
  return { signer, ledger, catalog, channels, outcomes, rpcUrl, fetch }
}

/** Calls a seller up to the point where a payment would be signed. */
async function quote(
  context: BuyerContext,
  target: string | Item,
  given: BuyerCall,
): Promise<Quote> {
  const { signer, channels, fetch } = context
  const { network, asset } = context.ledger.budget
  const cap = capOf(context.ledger.budget, given.maxAmount)
  let quoted: Quote = {}
  const choose = async (terms: Requirement): Promise<never> => {
    quoted = await quoteTerms(context, target, { given, terms, cap })
    // Nothing is signed, so the call ends here.
    throw new ArcusError('quoted', 'The terms are known.')
  }
  const steps: PaySteps = channels.mayOpen ? { choose, draw: choose } : { choose }
  const options = { ...given, signer, network, asset, maxAmount: NO_LIMIT } as PayOptions
  const free = await createPay(fetch, steps)(target, options).catch((error) => {
    if (!(error instanceof ArcusError && error.code === 'quoted')) throw error
  })
  await free?.response.body?.cancel()
  return quoted
}

/** Returns what a call would cost by these terms, and the reason why it would not be paid. */
async function quoteTerms(
  { ledger, catalog, channels }: BuyerContext,
  target: string | Item,
  { given, terms, cap }: { given: BuyerCall; terms: Requirement; cap: Cap },
): Promise<Quote> {
  const { budget } = ledger
  const planned = await planPayment(budget, catalog, target, given, terms)
  const { reservation, item } = planned
  const isCovered = terms.scheme === CHANNEL && (await channels.covers(planned, terms))
  const before = isCovered ? [] : await ledger.read()
  const broken = judge(before, budget, { ...reservation, item, cap }, Date.now())
  const refusal =
    dearerThanListed(planned, given, terms, budget) ??
    (broken && refusalError(broken, BigInt(terms.amount), budget))
  const delivery = deliveryOf(item)
  return {
    terms,
    ...(item !== undefined && { item }),
    ...(delivery !== undefined && { delivery }),
    ...(refusal !== undefined && { refusal }),
  }
}

async function readSpending({ ledger, outcomes }: BuyerContext): Promise<Spending> {
  const { budget } = ledger
  await outcomes.review({ isFull: true })
  const entries = await ledger.read()
  const cost = entries.filter((entry) => entry.spent > 0n).reverse()
  const returned = await outcomes.readReturned(cost)
  const open = entries.filter((entry) => isOpen(entry) && isOf(entry, budget)).reverse()
  return {
    left: leftOf(entries, budget, Date.now()),
    entries: cost.map((entry) => {
      const back = returned.get(entry.id)
      return back === undefined ? entry : { ...entry, returned: back }
    }),
    channels: open.flatMap(statusOf),
  }
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
