import type { CatalogEndpoint, CatalogMerchant } from '@arcus/protocol/answers/merchants'
import { formatAtomic } from '@arcus/protocol/x402/amounts'
import { parametersIn } from '@arcus/protocol/x402/calls'
import { currencyOf, moneyOf } from '@arcus/protocol/x402/currencies'
import { isObject } from '@arcus/protocol/x402/json'
import { otherRailOf } from '@arcus/protocol/x402/rails'
import { type Address, getAddress } from 'viem'
import type {
  JsonText,
  ListingReader,
  Merchant,
  QuotedRequirement,
  StoredEndpoint,
} from './listings.js'
import { mixesAlphabets } from './name-rules.js'
import { isPublicPayee, isUnclaimed, payToProofOf, speaksForPayTo } from './ownership.js'

/** A reason to be careful with a listing, for everybody; `path` is the field that it is about. */
export interface ListingWarning {
  path: string
  code: 'pay_to_unproven' | 'confusable_name'
  message: string
}

/** The warnings in one or two words, for titles. */
const short: Record<ListingWarning['code'], string> = {
  pay_to_unproven: 'unproven',
  confusable_name: 'look-alike name',
}

/** Returns the warnings that every public answer about a merchant carries; mostly none. */
export function publicWarnings(merchant: Merchant): ListingWarning[] {
  const name = nameWarning(merchant)
  return [
    ...(name === undefined ? [] : [name]),
    ...(speaksForPayTo(merchant) ? [] : [unprovenWarning(merchant)]),
  ]
}

function unprovenWarning({ payTo }: Merchant): ListingWarning {
  const message = `Nobody has proven that this listing is by the owner of the address that is paid, ${getAddress(payTo)}: its name and texts may be a stranger's.`
  return { path: 'payTo', code: 'pay_to_unproven', message }
}

function nameWarning(merchant: Merchant): ListingWarning | undefined {
  const { id, name, nameLike } = merchant
  const code = 'confusable_name'
  if (nameLike !== null) {
    const { merchantId, path } = nameLike
    const message =
      merchantId === id
        ? 'It shows a word or a sign that only merchants run by the operator may show.'
        : `It looks like the name of the merchant ${merchantId}, which has another owner.`
    return { path, code, message }
  }
  if (isUnclaimed(merchant) || !mixesAlphabets(name)) return undefined
  const message = 'The name mixes letters of several alphabets in one word, as imitations do.'
  return { path: 'name', code, message }
}

/** Returns the members of every public answer that show who stands behind a listing. */
export function standingOf(merchant: Merchant) {
  const payToProof = payToProofOf(merchant)
  return {
    claimed: merchant.owner !== null && payToProof !== null,
    payToProof,
    warnings: publicWarnings(merchant),
  }
}

/** What was paid, in atomic units of a token; the asset is in lower case. */
export interface PaidTerms {
  network: string
  asset: Address
  amount: bigint
}

/** Returns whether one of these requirements asks for what was paid. Where the amount is a ceiling, a part of it may be paid. */
export function isAskedFor(
  { network, asset, amount }: PaidTerms,
  accepts: readonly QuotedRequirement[],
): boolean {
  return accepts.some((asked) => {
    const isSame = asked.network === network && String(asked.asset).toLowerCase() === asset
    if (!isSame || typeof asked.amount !== 'string') return false
    const isCeiling = asked.scheme === 'upto' || asked.scheme === 'batch-settlement'
    const most = BigInt(asked.amount)
    return isCeiling ? amount <= most : amount === most
  })
}

/** Returns the name of a merchant with its warnings in a few words, for texts that show nothing else. */
export function markedName(merchant: Merchant): string {
  const marks = shortWarnings(merchant)
  return marks.length === 0 ? merchant.name : `${merchant.name} (${marks.join(', ')})`
}

/** Finds the listing that is proven to be paid at an address (lower case), as everybody may read it; `null` if there is none. */
export async function findPayee(
  store: Pick<ListingReader, 'merchantsPaidTo'>,
  payTo: Address,
): Promise<{ id: string; name: string } | null> {
  const found = (await store.merchantsPaidTo(payTo)).find(isPublicPayee)
  return found === undefined ? null : { id: found.id, name: markedName(found) }
}

export function shortWarnings(merchant: Merchant): string[] {
  return publicWarnings(merchant).map(({ code }) => short[code])
}

/** Returns the agent that a merchant is shown with: only while its owner controls the linked agent. */
export function publishedIdentity({ agentId, identity }: Merchant): { agentId: string } | null {
  const isControlled = identity?.checks.control.passed === true && identity.agentId === agentId
  return isControlled ? { agentId: identity.agentId } : null
}

/** Returns whether the public may see a merchant. */
export function isPublished({ hiddenReason, deletedAt }: Merchant): boolean {
  return hiddenReason === null && deletedAt === null
}

/** Returns the endpoints that the catalog shows: of an unclaimed merchant only live ones. */
export function shownEndpoints(
  merchant: Merchant,
  endpoints: readonly StoredEndpoint[],
): StoredEndpoint[] {
  const isWaiting = ({ status }: StoredEndpoint) => isUnclaimed(merchant) && status !== 'live'
  return endpoints.filter((endpoint) => !isWaiting(endpoint))
}

/**
 * The version of what `merchantJson` makes, which is stored. Raise it with each change of the output, so that the service
 * makes all of it again; `test/unit/directory/store/published.test.ts` fails otherwise.
 */
export const PUBLISHED_SHAPE = 1

/**
 * Returns a merchant as the list of all merchants shows it, as JSON without `usage`: the members of the specification
 * first, then ours. `null` for one that the public may not see, and for an unclaimed one without a live endpoint.
 */
export function merchantJson(
  merchant: Merchant,
  endpoints: readonly StoredEndpoint[],
): JsonText | null {
  const shown = shownEndpoints(merchant, endpoints)
  if (!isPublished(merchant) || (shown.length === 0 && isUnclaimed(merchant))) return null
  const { id, name, network, description, isOfficial, isPartner } = merchant
  const published: Omit<CatalogMerchant, 'usage'> = {
    id,
    name,
    network,
    asset: getAddress(merchant.asset),
    endpoints: shown.map((endpoint) => toCatalogEndpoint(endpoint, merchant)),
    description,
    payTo: getAddress(merchant.payTo),
    official: isOfficial,
    partner: isPartner,
    ...standingOf(merchant),
    identity: publishedIdentity(merchant),
  }
  return JSON.stringify(published)
}

/** Adds the figures of payments to what `merchantJson` returned. */
export function withUsage(json: JsonText, usage: JsonText | null): JsonText {
  return `${json.slice(0, -1)},"usage":${usage}}`
}

function toCatalogEndpoint(endpoint: StoredEndpoint, merchant: Merchant): CatalogEndpoint {
  const { method, url, toolName, title, pricing } = endpoint
  return {
    method,
    url,
    ...(toolName === undefined ? {} : { toolName }),
    title,
    pricing,
    ...catalogPrices(endpoint, merchant),
    params: paramNames(endpoint),
    description: endpoint.description,
    tags: endpoint.tags,
    status: endpoint.status,
    hostedByArcus: endpoint.isHosted,
    delivery: endpoint.delivery,
  }
}

/**
 * Returns the listed price and the one that the endpoint's 402 asked for, `null` where it is unknown. Dollars are the
 * nearest number to the exact decimal: 10000 is 0.01.
 */
function catalogPrices(endpoint: StoredEndpoint, merchant: Merchant) {
  const { priceUsd, ...listed } = tellPrice(endpoint)
  const { livePrice, livePriceUsd } = tellLivePrice(endpoint, merchant)
  return {
    ...listed,
    ...(priceUsd && { priceUsd: Number(priceUsd) }),
    livePrice,
    livePriceUsd: livePriceUsd === null ? null : Number(livePriceUsd),
  }
}

/** Describes the cost of a call: the price of its 402, and the listed price where that differs. */
export function costOf(endpoint: StoredEndpoint, merchant: Merchant): string {
  const { price, pricing } = endpoint
  const live = livePriceOf(endpoint, merchant) ?? price
  const money = moneyOf(endpoint.symbol)
  const cost = `${pricing === 'metered' ? 'at most ' : ''}${formatAtomic(live)} ${money} a call`
  return live === price
    ? cost
    : `${cost} by its own 402, though listed at ${formatAtomic(price)} ${money}`
}

/** Returns the names of the parameters from the schema, or else from the example. */
export function paramNames({ method, inputSchema, example }: StoredEndpoint): string[] {
  const fromSchema = Object.keys(propertiesOf(inputSchema))
  if (fromSchema.length > 0) return fromSchema
  const values = example[parametersIn(method)]
  return isObject(values) ? Object.keys(values) : []
}

/** Returns `properties` of an object schema; empty where there are none. */
export function propertiesOf(schema: Record<string, unknown> | null): Record<string, unknown> {
  return isObject(schema?.properties) ? schema.properties : {}
}

/** The schemes that Arcus settles, preferred first. A buyer's client may take any of them. */
export const settledSchemes: readonly unknown[] = ['exact', 'upto', 'batch-settlement']

type NetworkAsset = Pick<Merchant, 'network'> & Pick<StoredEndpoint, 'asset'>

/**
 * Returns the highest amount that the requirements ask for on the network and in the asset of a listing: a buyer's client
 * may take any of them, so a cheap one must not hide a dear one. `undefined` where no requirement fits.
 */
export function dearestAsked(
  accepts: readonly QuotedRequirement[],
  { network, asset }: NetworkAsset,
): bigint | undefined {
  const amounts = new Map<boolean, bigint>()
  for (const { scheme, amount, ...terms } of accepts) {
    if (terms.network !== network || typeof amount !== 'string') continue
    if (String(terms.asset).toLowerCase() !== asset.toLowerCase()) continue
    if (!/^[0-9]{1,78}$/.test(amount)) continue
    const isPlain = otherRailOf(terms.asset, terms.extra) === undefined
    const isSettled = isPlain && settledSchemes.includes(scheme)
    const known = amounts.get(isSettled)
    if (known === undefined || BigInt(amount) > known) amounts.set(isSettled, BigInt(amount))
  }
  return amounts.get(true) ?? amounts.get(false)
}

type PricedListing = Pick<StoredEndpoint, 'accepts' | 'price' | 'asset' | 'symbol' | 'status'>

/**
 * Returns the price of a call as the endpoint's own 402 last quoted it, whatever is listed; `null` where it is not known.
 * An endpoint that was never live stores the price of its listing, which proves nothing.
 */
export function livePriceOf(
  { accepts, price, asset, status }: Omit<PricedListing, 'symbol'>,
  { network }: Pick<Merchant, 'network'>,
): bigint | null {
  const asked = dearestAsked(accepts, { network, asset })
  return asked === undefined || (status !== 'live' && asked === price) ? null : asked
}

/** Returns the live price as answers show it next to the listed one. */
export function tellLivePrice(
  endpoint: PricedListing,
  merchant: Pick<Merchant, 'network'>,
): { livePrice: string | null; livePriceUsd: string | null } {
  const price = livePriceOf(endpoint, merchant)
  if (price === null) return { livePrice: null, livePriceUsd: null }
  return { livePrice: price.toString(), livePriceUsd: dollarsOf(price, endpoint.symbol) ?? null }
}

/** Returns a listed price as answers show it: with its token and currency, and in dollars only where it is in dollars. */
export function tellPrice({
  price,
  asset,
  symbol,
}: Pick<StoredEndpoint, 'price' | 'asset' | 'symbol'>): {
  price: string
  asset: Address
  symbol: string
  currency: string | null
  priceUsd?: string
} {
  const priceUsd = dollarsOf(price, symbol)
  const named = { price: price.toString(), asset: getAddress(asset), symbol }
  return { ...named, currency: currencyOf(symbol), ...(priceUsd && { priceUsd }) }
}

function dollarsOf(amount: bigint, symbol: string): string | undefined {
  return currencyOf(symbol) === 'USD' ? formatAtomic(amount) : undefined
}
