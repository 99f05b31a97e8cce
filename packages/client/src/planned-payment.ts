import { type Amount, type Budget, showAmount } from './budget.js'
import type { ArcusError } from './calls.js'
import type { CatalogClient } from './catalog.js'
import type { LedgerReservation } from './ledger.js'
import { type Item, type SellerCall, urlOf } from './sellers.js'
import { aboveListing, listedCap, type Requirement } from './terms.js'

/** A call within the limits of the buyer. */
export interface BuyerCall extends SellerCall {
  /**
   * The most that this call may cost, where it is less than `perCall`. Without it a call that the catalog lists costs at
   * most what its listing says; with it, this is the limit instead of the listing.
   */
  maxAmount?: Amount
}

/** A call before it is paid: its reservation, and the listing that names its terms. */
export interface PlannedPayment {
  reservation: LedgerReservation
  item: Item | undefined
  /**
   * The listing whose price is the limit: that one, or one that names another payout address and was live at its last
   * probe. A seller may show the probe one address and buyers another; a stranger's listing of the URL is never live.
   */
  priced: Item | undefined
}

/** Returns what would be reserved for these terms, and the listing that names them. */
export async function planPayment(
  { network, asset }: Budget,
  catalog: CatalogClient | undefined,
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
  const reservation = { network, asset, amount, payTo, host, merchant, call, isCeiling }
  const isLive = item !== undefined && (item.status ?? 'live') === 'live'
  return { reservation, item: named, priced: isLive ? item : named }
}

/** Returns the refusal of a price above that of the listing, unless the call states a limit of its own. */
export function dearerThanListed(
  { priced }: PlannedPayment,
  { maxAmount }: BuyerCall,
  terms: Requirement,
  budget: Budget,
): ArcusError | undefined {
  if (priced === undefined || maxAmount !== undefined) return undefined
  const bound = listedCap(priced, terms)
  if (BigInt(terms.amount) <= bound.cap) return undefined
  return aboveListing(terms, bound, (amount) => showAmount(amount, budget))
}

/** Returns a digest of all that is asked of the seller, in 32 hexadecimal digits. A limit asks for nothing else. */
export async function digestOf(
  target: string | Item,
  { signal: _, maxAmount: __, ...call }: BuyerCall,
): Promise<string> {
  const resource = typeof target === 'string' ? target : target.resource
  const toolName = typeof target === 'string' ? undefined : target.metadata.input.toolName
  const bytes = new TextEncoder().encode(JSON.stringify([resource, { toolName, ...call }]))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return [...digest.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
