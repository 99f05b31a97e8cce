import type { ProbeRecord } from '@arcus/protocol/answers/listings'
import { asSentence } from '@arcus/protocol/listing/text'
import { type BazaarResource, type BazaarStatus, parseBazaar } from '@arcus/protocol/x402/bazaar'
import { findToken, type Stablecoin } from '@arcus/protocol/x402/currencies'
import { LRUCache } from 'lru-cache'
import type { Address } from 'viem'
import { createTurns } from '../../async/turns.js'
import { RequestFault } from '../../http/errors.js'
import type { HostPace } from '../probe/call-limits.js'
import type { QuotedPayment } from '../probe/payment-required.js'
import type { Market, Probe, ProbeResult } from '../probe/probe.js'
import type { ListingReader, WrittenEndpoint } from '../store/listings.js'
import { speaksForPayTo } from '../store/ownership.js'
import { isAskedFor } from '../store/published.js'
import { siteOf } from '../store/site.js'
import type { AutoCatalog } from './auto-catalog.js'
import { FRESH_PROBE_SECONDS, isStale } from './entry-place.js'
import { createHourlyBounds } from './hourly-bounds.js'
import { leftOut } from './left-out.js'
import { type BarePayment, offerOn } from './offer.js'

interface BarePaymentsOptions extends Pick<Market, 'tokens'> {
  store: Pick<
    ListingReader,
    'findAtUrl' | 'findTemplates' | 'entriesById' | 'merchantsPaidTo' | 'indexedOf'
  >
  catalog: Pick<AutoCatalog, 'take' | 'noteRefusal'>
  /** Finds the number of the one endpoint that a payment without a URL counts for. */
  findOnly: (payment: BarePayment) => Promise<number | null>
  probe: Probe
  /** The pace that probes share. */
  pace: Pick<HostPace, 'inTurn'>
  probeSoon: (endpointId: number) => void
  /** Unix milliseconds. */
  now: () => number
  log: {
    info(details: object, message: string): void
    warn(details: object, message: string): void
  }
}

/**
 * Seconds of calls within an hour, of which each call takes at least one: a host that lets calls wait uses them up sooner.
 * A host is a registered domain here, because subdomains cost nothing.
 */
const strangerBounds = { inAll: 600, perPayer: 30, perPayTo: 30, perHost: 30 }
/** The same for a payTo that the host has named in a 402 before: no crowd of strangers uses these up. */
const provenBounds = { inAll: 600, perPayer: 100, perPayTo: 100, perHost: 100 }
const turnBounds = { atOnce: 3, waitingOfParty: 20, waitingInAll: 200 }
const MAX_ASKED = 5_000
/** Entries of one URL that are read. */
const MAX_ENTRIES = 20

const processing: BazaarStatus = { status: 'processing' }

/**
 * Settled payments whose buyer's client sent no description of what was bought. The URL is asked once, by GET, and never
 * by another method; what its own 402 says goes the way of every resource that is found in a payment.
 */
export class BarePayments {
  readonly #options: BarePaymentsOptions
  readonly #strangers: ReturnType<typeof createHourlyBounds>
  readonly #proven: ReturnType<typeof createHourlyBounds>
  /** Sites take turns. */
  readonly #turns = createTurns(turnBounds)
  /** What became of the URLs that were asked a short time ago, by payTo and URL. */
  readonly #asked: LRUCache<string, BazaarStatus>
  readonly #underWay = new Set<Promise<void>>()

  constructor(options: BarePaymentsOptions) {
    const { now } = options
    this.#options = options
    this.#strangers = createHourlyBounds(strangerBounds, now)
    this.#proven = createHourlyBounds(provenBounds, now)
    this.#asked = new LRUCache({
      max: MAX_ASKED,
      ttl: FRESH_PROBE_SECONDS * 1_000,
      perf: { now },
      ttlResolution: 0,
    })
  }

  /** Takes in a payment, and reports what became of it: at once, or when its URL has answered. */
  async take(payment: BarePayment, report: (status: BazaarStatus) => Promise<void>): Promise<void> {
    const { url } = payment
    const known = url === undefined ? await this.#match(payment) : await this.#look(payment, url)
    if (known !== 'unknown') return report(known)
    if (url !== undefined) await this.#askLater(payment, url, report)
  }

  /** Resolves when the calls under way have ended. */
  async stop(): Promise<void> {
    await Promise.allSettled(this.#underWay)
  }

  /** Counts a payment without a URL for the one API that it can be for. */
  async #match(payment: BarePayment): Promise<BazaarStatus> {
    const { findOnly, store } = this.#options
    const id = await findOnly(payment)
    const [entry] = id === null ? [] : await store.entriesById([id])
    if (entry === undefined) return this.#refuse(payment, leftOut.noMatch)
    const { method, url } = entry.endpoint
    const reason = `The payment named no URL: it counts for ${method} ${url}, the one API listed for this payTo at this price.`
    return { status: 'success', reason }
  }

  /** Returns what is known of a URL without asking it. */
  async #look(payment: BarePayment, url: string): Promise<BazaarStatus | 'unknown'> {
    const { store, probeSoon, now } = this.#options
    const { payTo } = payment
    const asked = this.#asked.get(`${payTo} ${url}`)
    const found = [
      ...(await store.findAtUrl({ url }, MAX_ENTRIES)),
      ...(await store.findTemplates({ url }, MAX_ENTRIES)),
    ]
    const own = found
      .filter(({ merchant }) => merchant.payTo === payTo && speaksForPayTo(merchant))
      .map(({ endpoint }) => endpoint)
    const live = own.filter(({ status }) => status === 'live')
    if (live.some(({ accepts }) => isAskedFor(payment, accepts))) return { status: 'success' }
    const nowSeconds = Math.floor(now() / 1_000)
    if (live[0] !== undefined) {
      if (isStale(live[0], nowSeconds)) probeSoon(live[0].id)
      return { status: 'processing', reason: leftOut.otherTerms }
    }
    if (own.some(({ probe }) => probe === null)) return processing
    const fresh = own.find((endpoint) => !isStale(endpoint, nowSeconds))
    if (fresh !== undefined) return rejected(`a probe of it found: ${fresh.probe?.message}`)
    return asked ?? 'unknown'
  }

  async #askLater(
    payment: BarePayment,
    url: string,
    report: (status: BazaarStatus) => Promise<void>,
  ): Promise<void> {
    const { payer, payTo } = payment
    if (payer === payTo) return report(this.#refuse(payment, leftOut.ownPayment))
    const site = siteOf(url)
    const one = { payer, payTo, host: site }
    const bounds = (await this.#isProven(payTo, site)) ? this.#proven : this.#strangers
    const full = bounds.take(one)
    if (full !== undefined) {
      return report(this.#refuse(payment, leftOut.notYet(`asked ${full}`)))
    }
    const asking = this.#turns.run(site, async () => {
      return this.#ask(payment, url, (seconds) => bounds.add(one, seconds))
    })
    if (asking === undefined) {
      return report(this.#refuse(payment, leftOut.notYet('waiting at this moment')))
    }
    const key = `${payTo} ${url}`
    this.#asked.set(key, { status: 'processing', reason: leftOut.asking })
    const work = asking
      .then(async (status) => {
        this.#asked.set(key, status)
        await report(status)
      })
      .catch((err) => {
        // The next payment asks again.
        this.#asked.delete(key)
        this.#options.log.warn({ err }, 'a paid URL could not be asked')
      })
      .finally(() => this.#underWay.delete(work))
    this.#underWay.add(work)
  }

  /** Returns whether an API at this place has named this payTo in its own 402. */
  async #isProven(payTo: Address, site: string): Promise<boolean> {
    const { store } = this.#options
    for (const merchant of await store.merchantsPaidTo(payTo)) {
      if (!speaksForPayTo(merchant)) continue
      const listed = await store.indexedOf(merchant.id)
      if (listed.some(({ status, url }) => status === 'live' && siteOf(url) === site)) return true
    }
    return false
  }

  /** Asks a URL by GET, without a payment, and has the catalog take in what its 402 declares. */
  async #ask(
    payment: BarePayment,
    url: string,
    /** Takes the seconds of the call after its first one. */
    charge: (seconds: number) => void,
  ): Promise<BazaarStatus> {
    const { probe, pace, catalog, tokens, now } = this.#options
    const { payTo, asset } = payment
    const { symbol } = findToken(tokens, asset) as Stablecoin
    const call = callOf(url, { ...payment, symbol })
    let found: ProbeResult
    try {
      found = await pace.inTurn(url, async () => {
        const startedAt = now()
        const result = await probe(call, payTo)
        charge(Math.max(0, Math.floor((now() - startedAt) / 1_000)))
        return result
      })
    } catch (error) {
      if (!(error instanceof RequestFault)) throw error
      return this.#refuse(payment, leftOut.notYet('asked at this host just now'))
    }
    const { quote, record } = found
    if (quote === undefined) {
      return this.#refuse(payment, `${leftOut.found} ${describe(record, payTo)} ${leftOut.next}`)
    }
    const resource = declaredBy(quote.quoted, url)
    if (resource === undefined) {
      return this.#refuse(payment, `${leftOut.found} ${leftOut.noDeclaration}`)
    }
    const offer = offerOn({ ...payment, symbol }, quote.chosen, resource)
    // What else than this very call the 402 describes has a probe of its own.
    const isCalled = resource.method === 'GET' && !record.warnings.includes('price_drift')
    return catalog.take(offer, isCalled ? found : undefined)
  }

  #refuse(payment: BarePayment, reason: string): BazaarStatus {
    const { catalog, log } = this.#options
    const { url, payTo, settlementId } = payment
    const status = rejected(reason)
    const { rejectedReason } = status
    catalog.noteRefusal({ ...(url !== undefined && { url }), payTo, rejectedReason })
    log.info({ settlementId, url, rejectedReason }, 'paid resource not listed')
    return status
  }
}

/** Returns the call of a URL of which nothing is known but what was paid for it. */
function callOf(url: string, { asset, symbol, amount }: BarePayment & { symbol: string }) {
  return {
    url,
    method: 'GET',
    title: '',
    description: '',
    pricing: 'fixed',
    price: amount,
    asset,
    symbol,
    tags: [],
    example: {},
    inputSchema: null,
    output: null,
  } satisfies WrittenEndpoint
}

/** Says what a GET found, about the payment instead of a listing. */
function describe({ verdict, seen, message }: ProbeRecord, payTo: Address): string {
  return verdict === 'wrong_payto' && seen.payTo !== undefined
    ? `The 402 pays to ${seen.payTo}, and the payment went to ${payTo}.`
    : message
}

/** Reads the resource that a 402 declares; `undefined` where it declares none that can be listed. */
function declaredBy({ resource, bazaar }: QuotedPayment, url: string): BazaarResource | undefined {
  if (bazaar === null) return undefined
  const declared = { x402Version: 2, resource: { ...resource, url }, extensions: { bazaar } }
  const parsed = parseBazaar(declared)
  return parsed?.ok ? parsed.resource : undefined
}

function rejected(reason: string): Extract<BazaarStatus, { status: 'rejected' }> {
  return { status: 'rejected', rejectedReason: asSentence(reason) }
}
