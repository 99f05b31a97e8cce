import { randomInt } from 'node:crypto'
import { isIP } from 'node:net'
import type { PaymentAnswer } from '@arcus/protocol/x402/payment'
import ipaddr from 'ipaddr.js'
import type { Address } from 'viem'
import type { MayGoOn } from '../../async/background.js'
import { DAY_SECONDS, toSeconds } from '../../async/time.js'
import { blockOf } from '../../http/rate-limit.js'
import { toItem } from '../discovery/item.js'
import type { SharedPorts } from '../ports.js'
import type { BuyerFetch } from '../probe/buyer-fetch.js'
import type { HostPace } from '../probe/call-limits.js'
import { createPublicResolver, type Resolve } from '../probe/target-rules.js'
import type { CatalogEntry, ListingStore } from '../store/listings.js'
import { payToProofOf } from '../store/ownership.js'
import type { CheckKind, CheckOutcome, CheckStore, CheckTarget } from '../store/paid-checks.js'
import type { CheckBuyer, PurchaseResult, SignedTerms } from './buyer.js'
import { OpenChecks, type OpenChecksOptions } from './open-checks.js'
import { judge, unread } from './verdicts.js'

interface ChecksOptions extends OpenChecksOptions, Pick<SharedPorts, 'network' | 'isPayToBlocked'> {
  store: CheckStore
  listings: Pick<ListingStore, 'entriesById' | 'saveCheck'>
  buyer: CheckBuyer
  openFetch: () => BuyerFetch
  pace: HostPace
  /** The token of dollars that is paid with, in lower case. */
  asset: Address
  /** Atomic units of it. */
  dailyLimit: bigint
  maxAmount: bigint
  /** Returns whether a wallet holds so much and is not blocked. */
  canPay: (wallet: Address, amount: bigint) => Promise<boolean>
  /** Has an endpoint probed soon, because a purchase shows what it asks for now. */
  probeSoon: (endpointId: number) => void
  /** Lets endpoints be on private networks. */
  isPrivateAllowed: boolean
  /** For tests; a minute otherwise. */
  gapSeconds?: number
  /** For tests; the name servers otherwise. */
  resolve?: Resolve
}

/** From the start of one check to that of the next. */
const GAP_SECONDS = 60
/** Endpoints that are looked at to find one that may be called now. */
const LOOKED_AT = 20
/** A search that found nothing rests a second for each of these milliseconds that it took. */
const REST_MS = 50
/** The time for the 402, and the longest time for the answer to the payment. */
const ASK_MS = 15_000
const MAX_ANSWER_MS = 30_000
/** Time from the start of the service to the first purchase. */
const START_SECONDS = 5
/** Time until the wallets are looked at again when none could pay. */
const POOR_SECONDS = 300

/** Buys the documented examples of listed endpoints, one after another, and publishes what came of it. */
export class Checks {
  readonly #options: ChecksOptions
  readonly #open: OpenChecks
  readonly #gapSeconds: number
  readonly #stopping = new AbortController()
  readonly #resolve: Resolve
  /** Unix seconds; `undefined` before the first run. */
  #pausedUntil: number | undefined

  constructor(options: ChecksOptions) {
    this.#options = options
    this.#open = new OpenChecks(options)
    this.#gapSeconds = options.gapSeconds ?? GAP_SECONDS
    this.#resolve = options.resolve ?? createPublicResolver()
  }

  /** Closes the checks that are known to have paid or not, and makes the next one if it is its time. */
  async run(mayGoOn: MayGoOn): Promise<void> {
    // Our own endpoints must be ready before they are bought from.
    this.#pausedUntil ??= this.#seconds() + START_SECONDS
    await this.#open.closeKnown(mayGoOn)
    if (!mayGoOn()) return
    await this.#checkNext(this.#pausedUntil)
    await this.#open.closeKnown(mayGoOn)
  }

  /** Ends a purchase under way; the next start finds out whether it paid. */
  stop(): void {
    this.#stopping.abort()
  }

  /** Takes in an answer of the facilitator, which may be about the payment of a check. */
  noteAnswer(answer: Pick<PaymentAnswer, 'payment' | 'reason'>): void {
    this.#open.noteAnswer(answer)
  }

  /** Says why an endpoint is not bought from; `undefined` if it is. */
  obstacleOf(entry: CatalogEntry): string | undefined {
    const terms = this.#termsOf(entry)
    return typeof terms === 'string' ? terms : undefined
  }

  /** Counts what checks found, and the wallets that could pay for any check, for figures of the service. */
  async figures() {
    const { store, buyer, asset, maxAmount: mostAtomic, dailyLimit, canPay } = this.#options
    const asked = buyer.wallets.map((wallet) => canPay(wallet, mostAtomic))
    const wallets = await Promise.all(asked).catch(() => undefined)
    const funded = wallets?.filter((can) => can).length
    return { ...(await store.figures({ asset, mostAtomic, dailyLimit })), funded }
  }

  /** Buys from the first endpoint that is due and whose host may be called. */
  async #checkNext(pausedUntil: number): Promise<void> {
    const { store, listings, asset, dailyLimit, maxAmount, pace, probeSoon } = this.#options
    const at = this.#seconds()
    if (at < pausedUntil || at - (await store.lastStart(at)) < this.#gapSeconds) return
    const left = dailyLimit - (await store.signedAwaySince(at - (at % DAY_SECONDS)))
    const mostAtomic = left < maxAmount ? left : maxAmount
    if (mostAtomic <= 0n) return
    const begunAt = performance.now()
    const found = await store.candidates({ asset, mostAtomic, dailyLimit, now: at }, LOOKED_AT)
    const kinds = new Map(found.map(({ id, kind }) => [id, kind]))
    const ids = [...kinds.keys()]
    // Looking through a large catalog must not become all that the database does.
    if (ids.length === 0) {
      this.#pausedUntil = at + Math.ceil((performance.now() - begunAt) / REST_MS)
    }
    for (const entry of await listings.entriesById(ids)) {
      const { id, url } = entry.endpoint
      const amount = this.#termsOf(entry)
      const kind = kinds.get(id) ?? 'lot'
      if (typeof amount === 'string') {
        await store.keepUnpaid(toTarget(entry, kind, ''), undefined, at)
        continue
      }
      // One check may not cost so much, or not today.
      if (amount > mostAtomic) continue
      const block = await this.#blockOf(entry)
      if (block === undefined) {
        await store.keepUnpaid(toTarget(entry, kind, ''), undefined, at)
        continue
      }
      // A name costs little, and names of one server are mostly of one seller.
      if (kind === 'first' && block !== '' && !(await store.isFirstOfBlock(block, at))) continue
      if (!pace.enter(url)) continue
      try {
        return await this.#check(entry, amount, toTarget(entry, kind, block))
      } finally {
        pace.leave(url)
        probeSoon(id)
      }
    }
  }

  /** Returns the price of an endpoint that may be bought from; a sentence says why one may not. */
  #termsOf(entry: CatalogEntry): bigint | string {
    const { endpoint, merchant } = entry
    const { asset, maxAmount, isPayToBlocked } = this.#options
    if (endpoint.status !== 'live') return 'Its last probe did not find it live.'
    if (endpoint.method === 'MCP') return 'Tools of MCP servers are not bought.'
    const amount = quotedAmount(entry, asset)
    if (amount === undefined || endpoint.asset !== asset) {
      return 'It is not priced in dollars by exact with EIP-3009.'
    }
    if (amount > maxAmount || endpoint.price > maxAmount) return 'It costs more than a check may.'
    if (payToProofOf(merchant) === null) return 'Its payout address is not proven.'
    return isPayToBlocked(merchant.payTo) ? 'Its payout address is blocked.' : amount
  }

  /**
   * Returns the block of addresses that answers for an endpoint, which is empty for a private one and for our own.
   * `undefined` where no public address is known: whoever answers for the name may give one to the purchase itself, so it
   * would count for no block and no site.
   */
  async #blockOf({ endpoint }: CatalogEntry): Promise<string | undefined> {
    if (endpoint.isHosted) return ''
    const block = await blockAt(endpoint.url, this.#resolve)
    return block === '' && !this.#options.isPrivateAllowed ? undefined : block
  }

  async #check(entry: CatalogEntry, amount: bigint, target: CheckTarget): Promise<void> {
    const { store, buyer, network, asset, readHead, openFetch, log } = this.#options
    const wallet = await this.#chooseWallet(amount)
    if (wallet === undefined) {
      log.warn({ amount: String(amount) }, 'no wallet of the checks can pay')
      this.#pausedUntil = this.#seconds() + POOR_SECONDS
      return
    }
    const { number: afterBlock } = await readHead()
    const clock = startClock(this.#stopping.signal)
    const { fetch, close: hangUp } = openFetch()
    const limits = { dailyLimit: this.#options.dailyLimit, gapSeconds: this.#gapSeconds }
    let id: number | undefined
    let signedAt = 0
    const reserve = async ({ nonce, amount, validBefore }: SignedTerms) => {
      const payment = { payer: wallet, nonce, amount, validBefore, afterBlock }
      id = await store.reserve(target, payment, this.#seconds(), limits)
      if (id === undefined) throw new Error('the budget of the day is spent')
      // Our own endpoints are bought from to learn whether we settle.
      if (!entry.endpoint.isHosted) this.#open.remember(nonce, id)
      clock.restart(Math.min(MAX_ANSWER_MS, (validBefore - this.#seconds()) * 1_000))
      signedAt = performance.now()
    }
    try {
      const bought = await buyer.buy({
        item: toItem(entry),
        example: entry.endpoint.example,
        wallet,
        network,
        asset,
        maxAmount: amount,
        fetch,
        signal: clock.signal,
        beforeSigning: reserve,
      })
      if (id === undefined) await this.#keepUnpaid(target, bought)
      else await store.noteOutcome(id, await this.#toOutcome(bought, entry, { clock, signedAt }))
    } finally {
      clock.stop()
      hangUp()
    }
  }

  /** Returns a wallet that can pay, any of them alike; `undefined` if none can. */
  async #chooseWallet(amount: bigint): Promise<Address | undefined> {
    const { buyer, canPay } = this.#options
    const wallets = [...buyer.wallets]
    while (wallets.length > 0) {
      const [wallet] = wallets.splice(randomInt(wallets.length), 1)
      if (wallet !== undefined && (await canPay(wallet, amount))) return wallet
    }
    return undefined
  }

  async #keepUnpaid(target: CheckTarget, bought: PurchaseResult): Promise<void> {
    const isFault = bought.kind === 'refused' && bought.isDearer
    const reason = isFault ? 'price_changed' : undefined
    await this.#options.store.keepUnpaid(target, reason, this.#seconds())
  }

  async #toOutcome(
    bought: PurchaseResult,
    { endpoint }: CatalogEntry,
    { clock, signedAt }: { clock: PurchaseClock; signedAt: number },
  ): Promise<CheckOutcome> {
    if (bought.kind === 'redirected') return { ...unread, reason: 'redirected' }
    if (bought.kind === 'answered') {
      const judged = await judge(bought.response, endpoint).catch(() => undefined)
      const ms = Math.round(performance.now() - signedAt)
      if (judged !== undefined) return { ...judged, ms }
    }
    // The end of the service is no fault of the seller.
    if (this.#stopping.signal.aborted) return { ...unread, reason: 'interrupted' }
    return { ...unread, reason: clock.isLate() ? 'too_late' : 'no_answer' }
  }

  #seconds(): number {
    return toSeconds(this.#options.now())
  }
}

function toTarget(
  { endpoint, merchant }: CatalogEntry,
  kind: CheckKind,
  block: string,
): CheckTarget {
  const { id: endpointId, url, method, toolName = '', asset } = endpoint
  const { id: merchantId, network, payTo } = merchant
  return { endpointId, merchantId, network, url, method, toolName, asset, payTo, kind, block }
}

/** Returns the block of addresses that a URL leads to; nothing where it is not of the public internet. */
async function blockAt(url: string, resolve: Resolve): Promise<string> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  const [address] = isIP(host) === 0 ? await resolve(host).catch(() => []) : [host]
  if (address === undefined || ipaddr.process(address).range() !== 'unicast') return ''
  return blockOf(address)
}

/** Returns the price by `exact` with EIP-3009 that the last 402 quoted for the payout address; `undefined` without one. */
function quotedAmount({ endpoint, merchant }: CatalogEntry, asset: Address): bigint | undefined {
  const amounts = endpoint.accepts.flatMap((quote) => {
    const { scheme, network, amount, extra } = quote as Record<string, string> & { extra?: object }
    const method = (extra as { assetTransferMethod?: string } | undefined)?.assetTransferMethod
    const isPlain = scheme === 'exact' && (method ?? 'eip3009') === 'eip3009'
    const isOurs =
      network === merchant.network &&
      String(quote.asset).toLowerCase() === asset &&
      String(quote.payTo).toLowerCase() === merchant.payTo
    return isPlain && isOurs && /^\d{1,20}$/.test(amount ?? '') ? [BigInt(amount as string)] : []
  })
  return amounts.length === 0 ? undefined : amounts.reduce((a, b) => (a < b ? a : b))
}

type PurchaseClock = ReturnType<typeof startClock>

/** Bounds a purchase by the clock: first the question, then the answer to the payment. */
function startClock(parent: AbortSignal) {
  const abort = new AbortController()
  let isLate = false
  const expire = () => {
    isLate = true
    abort.abort()
  }
  let timer = setTimeout(expire, ASK_MS)
  return {
    signal: AbortSignal.any([abort.signal, parent]),
    isLate: () => isLate,
    restart(ms: number): void {
      clearTimeout(timer)
      timer = setTimeout(expire, ms)
    },
    stop: () => clearTimeout(timer),
  }
}
