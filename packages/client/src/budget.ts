import { formatAtomic } from '@arcus/protocol/x402/amounts'
import { circleTokens, findToken, signOfCurrency } from '@arcus/protocol/x402/currencies'
import { isObject, memberOf } from '@arcus/protocol/x402/json'
import { ArcusError } from './calls.js'
import { DAY_MS, type LedgerEntry, type LedgerReservation } from './ledger.js'
import type { Item } from './sellers.js'
import { isAmount } from './terms.js'

/** An amount of the asset: atomic units as a bigint or in digits, or money such as `$0.05` (`€0.05` for EURC). */
export type Amount = bigint | string

export interface BuyerLimits {
  perCall: Amount
  /** In any 24 hours. */
  perDay: Amount
  /** For one seller, for good. A seller is everybody behind one host, one address that is paid, or one listing. */
  perSeller?: Amount
  /** For good. */
  total?: Amount
  /**
   * The sellers that may be paid. `proven`: sellers of the catalog whose payout address is proven. `delivered`: those of
   * them whose last paid check delivered. A list names listings, payout addresses or hosts. By default everybody may be
   * paid.
   */
  sellers?: 'proven' | 'delivered' | readonly string[]
}

/** Limits in atomic units. */
export interface Budget {
  perCall: bigint
  perDay: bigint
  perSeller?: bigint
  total?: bigint
  sellers?: BuyerLimits['sellers']
  network: string
  asset: string
}

type LimitName = keyof BuyerLimits | 'maxAmount' | 'deposit'

/** The reason why a call is not paid for. */
export interface LimitRefusal {
  limit: LimitName
  /** Atomic units that the limit still allows. */
  left: bigint
  /** Unix milliseconds from which on the amount fits; `null` where no time makes it fit. */
  until: number | null
}

const amounts = ['perCall', 'perDay', 'perSeller', 'total'] as const

/** Reads the limits of a person. Throws `ArcusError` (`no_limit`) for what is missing, misspelt or no amount. */
export function readBudget(limits: BuyerLimits, money: Pick<Budget, 'network' | 'asset'>): Budget {
  const budget: Record<string, unknown> = { ...money }
  const unknown = Object.keys(limits).filter((it) => ![...amounts, 'sellers'].includes(it as never))
  if (unknown.length > 0) throw new ArcusError('no_limit', `There is no limit ${unknown.join()}.`)
  for (const name of amounts) {
    const given = limits[name]
    if (given === undefined && (name === 'perSeller' || name === 'total')) continue
    budget[name] = readAmount(given, name, money)
  }
  const { sellers } = limits
  if (typeof sellers === 'string' && sellers !== 'proven' && sellers !== 'delivered') {
    throw new ArcusError('no_limit', 'sellers is "proven", "delivered" or a list.')
  }
  return { ...budget, sellers } as unknown as Budget
}

/** Returns atomic units. Throws `ArcusError` (`no_limit`) for what is no amount of this asset above zero. */
export function readAmount(
  given: Amount | undefined,
  name: string,
  { network, asset }: Pick<Budget, 'network' | 'asset'>,
): bigint {
  const token = tokenOf(network, asset)
  const sign = signOfCurrency(token?.currency) ?? '$'
  const [, whole, fraction = ''] =
    (token !== undefined && /^[^\d](\d{1,12})(?:\.(\d{1,6}))?$/.exec(String(given))) || []
  const isMoney = whole !== undefined && String(given).startsWith(sign)
  const atomic = isMoney ? `${whole}${fraction.padEnd(6, '0')}` : String(given)
  if (typeof given !== 'number' && isAmount(atomic) && BigInt(atomic) > 0n) return BigInt(atomic)
  const example = token === undefined ? '' : `, or money such as ${sign}0.05`
  throw new ArcusError('no_limit', `${name} wants an amount above zero: atomic units${example}.`)
}

/** Writes an amount for people: `0.05 USDC`. */
export function showAmount(
  amount: bigint,
  { network, asset }: Pick<Budget, 'network' | 'asset'>,
): string {
  const token = tokenOf(network, asset)
  if (token === undefined) return `${amount} atomic units of ${asset}`
  return `${formatAtomic(amount)} ${token.symbol}`
}

/** Members that are amounts in digits, and those that hold amounts. What a seller wrote, such as an example, is neither. */
const inDigits = new Set(['amount', 'cost', 'left', 'listed', 'livePrice', 'price'])
const holders = new Set([
  ...['accepts', 'channel', 'channels', 'details', 'entries', 'item', 'left', 'metadata'],
  ...['refusal', 'state', 'terms'],
])

/**
 * Writes the amounts of an answer for people, as `cost: '0.05 USDC'`, and next to each the atomic units, as
 * `costAtomic: '50000'`. An object that names its token is about that one, all others about that of `budget`.
 */
export function withMoney(value: unknown, budget: Pick<Budget, 'network' | 'asset'>): unknown {
  if (Array.isArray(value)) return value.map((it) => withMoney(it, budget))
  if (!isObject(value)) return value
  const { network = budget.network, asset = budget.asset, symbol } = value
  const token = { network, asset } as typeof budget
  const show = (amount: bigint) =>
    typeof symbol === 'string' ? `${formatAtomic(amount)} ${symbol}` : showAmount(amount, token)
  const members = Object.entries(value).flatMap(([name, it]): [string, unknown][] => {
    if (typeof it === 'bigint' || (inDigits.has(name) && isAmount(it))) {
      return [
        [name, show(BigInt(it))],
        [`${name}Atomic`, `${it}`],
      ]
    }
    return [[name, holders.has(name) ? withMoney(it, token) : it]]
  })
  return Object.fromEntries(members)
}

function tokenOf(network: string, asset: string) {
  if (!Object.hasOwn(circleTokens, network)) return undefined
  return findToken(circleTokens[network as keyof typeof circleTokens], asset)
}

/** Atomic units that each limit still allows. */
export interface Left {
  perDay: bigint
  perSeller?: bigint
  total?: bigint
}

type SellerIdentity = Pick<LedgerReservation, 'host' | 'payTo' | 'merchant'>

/** Returns what is left at `now` (Unix milliseconds), for this seller where one is given. */
export function leftOf(
  entries: readonly LedgerEntry[],
  budget: Budget,
  now: number,
  seller?: SellerIdentity,
): Left {
  const own = entries.filter((it) => isOf(it, budget))
  const { perDay, perSeller, total } = budget
  const rest = (limit: bigint, spent: bigint) => (spent < limit ? limit - spent : 0n)
  const left = (limit: bigint, counted: readonly LedgerEntry[]) =>
    rest(limit, sumOf(counted, 'spent'))
  return {
    perDay: left(
      perDay,
      own.filter((entry) => entry.at > now - DAY_MS),
    ),
    // A facilitator that lies must not lift the limit for good, so what it alone gave back still counts here.
    ...(total !== undefined && {
      total: rest(total, sumOf(own, 'spent') + sumOf(own, 'unproven')),
    }),
    ...(perSeller !== undefined &&
      seller !== undefined && {
        perSeller: left(
          perSeller,
          own.filter((entry) => isSameSeller(entry, seller)),
        ),
      }),
  }
}

function sumOf(entries: readonly LedgerEntry[], member: 'spent' | 'unproven'): bigint {
  return entries.reduce((sum, entry) => sum + entry[member], 0n)
}

/** The most that one call may cost, and the limit that says so. */
export interface Cap {
  limit: 'perCall' | 'maxAmount' | 'deposit'
  amount: bigint
}

/** Returns the lower one of `perCall` and what a call has said itself. Throws `ArcusError` (`no_limit`). */
export function capOf(budget: Budget, maxAmount: Amount | undefined): Cap {
  const { perCall } = budget
  const own = maxAmount === undefined ? perCall : readAmount(maxAmount, 'maxAmount', budget)
  return own < perCall ? { limit: 'maxAmount', amount: own } : { limit: 'perCall', amount: perCall }
}

/** A call that wants to be paid. `item` is the listing that names its terms, where there is one. */
type PayableCall = Pick<LedgerReservation, 'amount'> &
  SellerIdentity & { item: Item | undefined; cap?: Cap }

/** Returns the first limit that a call would break, `undefined` where it breaks none. `entries` are those before it. */
export function judge(
  entries: readonly LedgerEntry[],
  budget: Budget,
  { cap = capOf(budget, undefined), ...call }: PayableCall,
  now: number,
): LimitRefusal | undefined {
  const amount = BigInt(call.amount)
  if (!mayBePaid(budget, call)) return { limit: 'sellers', left: 0n, until: null }
  if (amount > cap.amount) return { limit: cap.limit, left: cap.amount, until: null }
  const left = leftOf(entries, budget, now, call)
  for (const limit of ['perSeller', 'total'] as const) {
    const rest = left[limit]
    if (rest !== undefined && amount > rest) return { limit, left: rest, until: null }
  }
  if (amount <= left.perDay) return undefined
  return { limit: 'perDay', left: left.perDay, until: freeAt(entries, budget, amount, now) }
}

/** Returns when so much has left the last 24 hours that the amount fits; `null` if it never does. */
function freeAt(
  entries: readonly LedgerEntry[],
  budget: Budget,
  amount: bigint,
  now: number,
): number | null {
  if (amount > budget.perDay) return null
  const counted = entries
    .filter((it) => isOf(it, budget) && it.at > now - DAY_MS && it.spent > 0n)
    .sort((a, b) => a.at - b.at)
  let spent = counted.reduce((sum, entry) => sum + entry.spent, amount)
  for (const entry of counted) {
    spent -= entry.spent
    if (spent <= budget.perDay) return entry.at + DAY_MS
  }
  return null
}

export function isOf(entry: LedgerEntry, { network, asset }: Budget): boolean {
  return entry.network === network && isSame(entry.asset, asset)
}

/** Anything in common makes one seller: each of host, address and listing alone is free to change. */
export function isSameSeller(a: SellerIdentity, b: SellerIdentity): boolean {
  const isOneListing = a.merchant !== undefined && a.merchant === b.merchant
  return isOneListing || isSame(a.host, b.host) || isSame(a.payTo, b.payTo)
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

/** Returns whether a seller may be paid at all. */
function mayBePaid({ sellers }: Budget, { item, ...seller }: PayableCall): boolean {
  if (sellers === undefined) return true
  if (typeof sellers !== 'string') {
    const names = [seller.host, seller.payTo, seller.merchant]
    return names.some((name) => name !== undefined && sellers.some((it) => isSame(it, name)))
  }
  const isProven = (item?.metadata.merchant.payToProof ?? null) !== null
  return isProven && (sellers === 'proven' || hasDelivered(item))
}

/** Returns what the catalog says of paid checks of an item; `undefined` where it made none. */
export function deliveryOf(item: Item | undefined): Record<string, unknown> | undefined {
  const delivery = memberOf(item?.metadata, 'delivery')
  return isObject(delivery) ? delivery : undefined
}

function hasDelivered(item: Item | undefined): boolean {
  const delivery = deliveryOf(item)
  // An outdated check was made before the endpoint declared another form of its answers, so it does not count.
  return memberOf(delivery?.last, 'delivered') === true && delivery?.outdated !== true
}

/** Makes the error of a refusal: which limit, how much is left, and until when. */
export function refusalError(
  { limit, left, until }: LimitRefusal,
  amount: bigint,
  budget: Budget,
): ArcusError {
  const show = (value: bigint) => showAmount(value, budget)
  const then = until === null ? 'Waiting will not help' : `It fits from ${iso(until)} on`
  const why =
    limit === 'sellers'
      ? `The limit sellers does not allow this seller, who asks for ${show(amount)}: 0 left.`
      : `The limit ${limit} does not allow ${show(amount)}: ${show(left)} left.`
  const details = { limit, left: `${left}`, amount: `${amount}`, until: until && iso(until) }
  return new ArcusError('over_limit', `${why} ${then}.`, 402, details)
}

export function iso(ms: number): string {
  return new Date(ms).toISOString()
}
