import { type RatingJson, ratingTypedData } from 'arcus-client/rating-message'
import { asSentence, quote } from 'arcus-client/text'
import { type Address, hashTypedData } from 'viem'
import type { PaymentStatus } from '../../api/payments.js'
import { answerBody, type RatingRequest, ratingBody } from '../../api/writes.js'
import type { EndpointHistory } from '../../store/endpoint-history.js'
import type { IndexedEndpoint, ListingReader, Merchant } from '../../store/listings.js'
import { speaksForPayTo } from '../../store/ownership.js'
import type { KeptRating, RatedEndpoint, RatingStore } from '../../store/ratings.js'
import { createPathIndex, readResource } from '../activity/attribution.js'
import { parseRequest, WriteFault } from '../listings/faults.js'
import { requireProof } from '../listings/merchant-view.js'
import {
  checkAudience,
  checkClock,
  type SignatureCheck,
  type WriteCheck,
} from '../listings/signed-write.js'
import type { WriteQuota } from '../listings/write-limits.js'
import { checkTarget } from '../probe/target-rules.js'

/** A link is only shown. It still keeps to the rules of what is called, so that it leads where it seems to lead. */
function isPublicLink(url: string): boolean {
  const rules = { allowPrivateHosts: false, ownOrigins: [] }
  return /^https:\/\/[!-[\]-~]+$/.test(url) && checkTarget(url, rules).isAllowed
}

const { shape } = ratingBody.shape.message
/** The request of a rating, whose link must lead to a public host. */
const ratingRequest = ratingBody.extend({
  message: ratingBody.shape.message.extend({
    link: shape.link.refine((url) => url === '' || isPublicLink(url), {
      error: 'must be an https URL of a public host in plain ASCII, or empty',
    }),
  }),
})

/** A payment as the journal knows it, with the URL and the tool that its payload named. */
interface FoundPayment {
  status: PaymentStatus
  /** `undefined` for an archived payment, and where the payload named none. */
  resourceUrl: string | undefined
  toolName: string | undefined
}

/** Looks a payment up. Several with the nonce are no answer. */
export type FindPayment = (
  network: string,
  payer: Address,
  nonce: RatingJson['nonce'],
  which: { asset: Address; method?: RatingRequest['method'] },
) => Promise<FoundPayment | { queries: string[] } | undefined>

interface RatingsOptions {
  store: RatingStore
  listings: Pick<ListingReader, 'merchantsPaidTo' | 'indexedOf'>
  history: Pick<EndpointHistory, 'notedPrices'>
  findPayment: FindPayment
  check: WriteCheck
  checkSignature: SignatureCheck
  quota: WriteQuota
  /** Origin of the directory. */
  audience: string
  /** CAIP-2. */
  network: string
  /** Lower-case. */
  isRelayer: (address: Address) => boolean
  isPayerBlocked: (payer: Address) => boolean
  isDiskLow: () => boolean
  /** Unix milliseconds. */
  now: () => number
}

export type Ratings = ReturnType<typeof createRatings>

/** Listings of one recipient that are searched. */
const MAX_MERCHANTS = 20

/** Takes ratings of payers and answers of owners. Each takes the request as it was sent, and throws a `WriteFault`. */
export function createRatings(options: RatingsOptions) {
  const { store, listings, history, network, now } = options
  const nowSeconds = () => Math.floor(now() / 1000)

  async function listingsOf({ network, payTo, url, toolName }: RatedEndpoint) {
    const merchants = (await listings.merchantsPaidTo(payTo))
      .filter((merchant) => merchant.network === network && speaksForPayTo(merchant))
      .slice(0, MAX_MERCHANTS)
    const isRated = (it: { url: string; toolName?: string }) =>
      it.url === url && (it.toolName ?? '') === toolName
    const all = await Promise.all(
      merchants.map(async (merchant) => ({
        merchant,
        endpoints: await listings.indexedOf(merchant.id),
      })),
    )
    return all
      .filter(({ endpoints }) => endpoints.some(isRated))
      .map(({ merchant, endpoints }) => ({
        merchant,
        /** Finds what was paid for, if that is what is rated and not another endpoint of the merchant. */
        findPaid(paid: URL, tool: string | undefined) {
          const id = createPathIndex(endpoints).find(paid, tool)
          return endpoints.find((endpoint) => endpoint.id === id && isRated(endpoint))
        },
      }))
  }

  /** Finds the confirmed payment of a rating. */
  async function paymentOf({ message, method }: RatingRequest): Promise<FoundPayment> {
    const { payer, nonce, asset } = message
    const found = await options.findPayment(network, payer, nonce, { asset, method })
    if (found === undefined) {
      const text =
        'No payment of this payer with this nonce in this token was settled here. A call paid through a channel (batch-settlement) has no payment of its own on the chain, and cannot be rated.'
      throw new WriteFault('payment_not_found', text)
    }
    if ('queries' in found) {
      const text = 'The payer used the nonce twice in this token; add method, eip3009 or permit2.'
      throw new WriteFault('payment_unclear', text)
    }
    if (found.status.state === 'confirmed') return found
    const text =
      found.status.state === 'failed'
        ? 'The payment failed, so there is nothing to rate.'
        : 'The payment is on its way and not confirmed yet; rate it in a moment.'
    throw new WriteFault('payment_not_confirmed', text)
  }

  /** Checks that the payment was for this endpoint, and that the payer did not pay themself. */
  async function checkPurchase(
    rated: RatedEndpoint,
    { status, resourceUrl, toolName }: FoundPayment,
  ): Promise<void> {
    const payer = status.payer.toLowerCase() as Address
    const listed = await listingsOf(rated)
    const isSelf = payer === rated.payTo || listed.some(({ merchant }) => merchant.owner === payer)
    if (isSelf || options.isRelayer(payer)) {
      throw new WriteFault('self_rating', 'Nobody rates what they paid to themself.')
    }
    if (listed.length === 0) {
      const text = `No listing of the address that was paid has ${quote(rated.url)}: message.resource and toolName must be those of an item of the catalog.`
      throw new WriteFault('payment_elsewhere', text)
    }
    const paid = readResource(resourceUrl)
    if (paid === undefined) {
      const text =
        'The payment does not say what it was for: its payload named no resource, or it is so old that only its archive knows.'
      throw new WriteFault('payment_unclear', text)
    }
    // The row has no query. The payer signs which of the listed URLs of this path it was, as they wrote it when they paid.
    paid.search = new URL(rated.url).search
    const bought = listed.flatMap(({ findPaid }) => findPaid(paid, toolName) ?? [])
    if (bought.length === 0) {
      const place = paid.origin + paid.pathname
      const text = `The payment was for ${quote(place)}, which is another endpoint, or one of several tools of which it named none.`
      throw new WriteFault('payment_elsewhere', text)
    }
    // The payer wrote the resource, so a cheap call must not pass for a dear one.
    for (const endpoint of bought) if (await hasAsked(endpoint, status)) return
    const text = `The payment moved ${status.amount} (atomic units) of ${status.symbol ?? status.asset}, and the endpoint is not known to have ever asked for so little in this token.`
    throw new WriteFault('payment_elsewhere', text)
  }

  /** Tells whether an endpoint asks, or has asked, for no more than a payment moved in its token. */
  async function hasAsked(endpoint: IndexedEndpoint, { symbol, ...paid }: PaymentStatus) {
    const asset = paid.asset.toLowerCase()
    const noted = await history.notedPrices(endpoint.id)
    const asked: unknown[] = [
      ...(endpoint.asset === asset ? [endpoint.price] : []),
      ...noted.filter((it) => it.symbol === symbol).map(({ amount }) => amount),
      ...endpoint.accepts
        .filter((it) => it.network === network && String(it.asset).toLowerCase() === asset)
        .map(({ scheme, amount }) => (scheme === 'exact' ? amount : 0)),
    ]
    // A call may take any part of a ceiling.
    const isPart = endpoint.pricing === 'metered'
    const most = BigInt(paid.amount)
    return asked.some(
      (it) => isPart || (/^[0-9]{1,78}$/.test(String(it)) && BigInt(String(it)) <= most),
    )
  }

  /** Finds a rating that is not hidden. */
  async function get(id: string): Promise<KeptRating> {
    const found = await store.find(id)
    if (found?.hiddenReason === null) return found
    const text =
      found === undefined
        ? 'There is no rating with this id.'
        : asSentence(`The operator hides this rating: ${found.hiddenReason}`)
    throw new WriteFault('rating_not_found', text)
  }

  return {
    get,

    /** Finds the merchants that list what was rated and speak for the address that was paid. */
    async merchantsOf(rated: RatedEndpoint): Promise<Merchant[]> {
      return (await listingsOf(rated)).map(({ merchant }) => merchant)
    },

    async rate(request: unknown): Promise<KeptRating> {
      const parsed = parseRequest(ratingRequest, request, 'invalid_rating')
      const { message, signature } = parsed
      checkAudience(message, options.audience)
      if (message.network !== network) {
        const text = `message.network ${quote(message.network)} is not ${network}, which listings are about.`
        throw new WriteFault('wrong_chain', text)
      }
      checkClock(message, nowSeconds())
      if (options.isDiskLow()) {
        const text =
          'The disk of this service is nearly full, so that no rating is kept; try later.'
        throw new WriteFault('storage_low', text, undefined, 300)
      }
      const { payer, resource: url, toolName, score } = message
      if (options.isPayerBlocked(payer)) {
        throw new WriteFault('rater_blocked', 'The operator of this service blocks the payer.')
      }
      const payment = await paymentOf(parsed)
      const { status } = payment
      const rated = { network, payTo: status.payTo.toLowerCase() as Address, url, toolName }
      const hashOn = (chain: number) => hashTypedData(ratingTypedData(chain, message))
      // Only the payer is told below what the payment was for: anybody finds the nonce on the chain.
      await options.checkSignature({ signer: payer, member: 'payer', hashOn }, signature)
      await checkPurchase(rated, payment)
      const rating = {
        ...rated,
        id: status.settlementId,
        payer,
        score,
        amount: status.amount,
        transaction: status.transaction as KeptRating['transaction'],
        message: JSON.stringify(message),
        signature,
        ratedAt: nowSeconds(),
      }
      if (!(await store.add(rating))) {
        throw new WriteFault('already_rated', 'The payment is rated already, which is done once.')
      }
      return get(rating.id)
    },

    async answer(merchantId: string, request: unknown, ip: string): Promise<KeptRating> {
      const expected = {
        merchantId,
        actions: { standing: 'rating.answer' },
        schema: answerBody,
      } as const
      const { body, merchant, write } = await options.check(request, expected)
      requireProof(merchant)
      const rating = await get(body.rating)
      if (rating.payTo !== merchant?.payTo || rating.network !== merchant.network) {
        throw new WriteFault('rating_not_found', 'The rating is of another merchant.')
      }
      const size = { owner: write.owner, bytes: write.message.length, ip, isSave: true }
      return options.quota(size, async () => {
        const answer = { text: body.text, at: nowSeconds() }
        if (await store.answer(rating.id, answer)) return { ...rating, answer }
        const fault = 'The rating was answered before, which is done once.'
        throw new WriteFault('already_answered', fault)
      })
    },
  }
}
