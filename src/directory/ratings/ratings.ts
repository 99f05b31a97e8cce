import { answerBody, type RatingRequest, ratingBody } from '@arcus/protocol/answers/writes'
import { ratingTypedData } from '@arcus/protocol/listing/rating-message'
import { asSentence, quote } from '@arcus/protocol/listing/text'
import { type Address, hashTypedData } from 'viem'
import { RpcResponseError, RpcUnavailableError } from '../../chain/rpc-errors.js'
import { createPathIndex, digestQuery, readResource } from '../activity/attribution.js'
import { requireProof } from '../listings/merchant-view.js'
import { parseRequest, WriteFault } from '../listings/refusals.js'
import {
  checkAudience,
  checkClock,
  type SignatureCheck,
  type WriteCheck,
  type WriteQuota,
} from '../listings/signed-write.js'
import type { FoundPayment, SharedPorts } from '../ports.js'
import { checkTarget } from '../probe/target-rules.js'
import type { EndpointHistory } from '../store/endpoint-history.js'
import type { ListingReader, Merchant } from '../store/listings.js'
import { speaksForPayTo } from '../store/ownership.js'
import {
  type KeptRating,
  MAX_WEIGHT,
  type RatedEndpoint,
  type RatingStore,
} from '../store/ratings.js'
import { type PaidTerms, paidPrice } from './asked-prices.js'

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

interface RatingsOptions
  extends Pick<
    SharedPorts,
    | 'findPayment'
    | 'refundWallets'
    | 'network'
    | 'isRelayer'
    | 'isPayerBlocked'
    | 'isDiskLow'
    | 'now'
  > {
  store: RatingStore
  listings: Pick<ListingReader, 'merchantsPaidTo' | 'indexedOf'>
  history: Pick<EndpointHistory, 'notedPrices'>
  /** Reads how much money went to a payer around a block; all in lower case. Throws `RpcUnavailableError`. */
  readReceived: (query: {
    from: readonly Address[]
    to: Address
    block?: number
  }) => Promise<bigint>
  check: WriteCheck
  checkSignature: SignatureCheck
  quota: WriteQuota
  audience: string
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
          const id = createPathIndex(endpoints).find(paid, tool, digestQuery(paid))
          return endpoints.find((endpoint) => endpoint.id === id && isRated(endpoint))
        },
      }))
  }

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

  /**
   * Checks that the payment was for this endpoint, at a price that it asked, and that the payer did not pay themself.
   * Returns what the payment counts for, in atomic units, and the owners who were paid.
   */
  async function checkPurchase(rated: RatedEndpoint, found: FoundPayment) {
    const { status, resourceUrl, toolName } = found
    const payer = status.payer.toLowerCase() as Address
    const listed = await listingsOf(rated)
    const owners = listed.flatMap(({ merchant }) => merchant.owner ?? [])
    if (payer === rated.payTo || owners.includes(payer) || options.isRelayer(payer)) {
      throw new WriteFault('self_rating', 'Nobody rates what they paid to themself.')
    }
    if (listed.length === 0) {
      const text = `No listing of the address that was paid has ${quote(rated.url)}: message.resource and toolName must be those of an item of the catalog.`
      throw new WriteFault('payment_elsewhere', text)
    }
    const paid = readResource(resourceUrl)
    if (paid === undefined) {
      const text = 'The payment does not say what it was for: its payload named no resource.'
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
    // The payer wrote the resource, so a cheap call must not pass for an expensive one.
    for (const endpoint of bought) {
      const noted = await history.notedPrices(endpoint.id)
      const counted = paidPrice(endpoint, noted, termsOf(found))
      if (counted !== undefined) return { counted, owners }
    }
    const text = `The payment moved ${status.amount} (atomic units) of ${status.symbol ?? status.asset} by ${found.scheme}, and the endpoint is not known to have asked for so little in this token by this scheme when it was paid. Of a ceiling, a tenth counts, and at least a cent.`
    throw new WriteFault('payment_elsewhere', text)
  }

  /** Reads what a payer got from a recipient, the owners behind it and the wallets that refund for it. */
  function readGiven(payTo: Address, payer: Address, owners: readonly Address[], block?: number) {
    const wallets = [...options.refundWallets].filter(([, paidFor]) => paidFor === payTo)
    const from = [...new Set([payTo, ...owners, ...wallets.map(([wallet]) => wallet)])]
    return options.readReceived({ from, to: payer, ...(block !== undefined && { block }) })
  }

  /** Weighs a rating: what its payment counts for, less what the payer got from the recipient and no earlier rating lost. */
  async function weigh(
    { payTo }: RatedEndpoint,
    { amount, blockNumber, ...status }: FoundPayment['status'],
    { counted, owners }: { counted: bigint; owners: readonly Address[] },
  ): Promise<number> {
    const payer = status.payer.toLowerCase() as Address
    const given = await readGiven(payTo, payer, owners, blockNumber ?? undefined).catch(
      (error: unknown) => {
        if (!(error instanceof RpcUnavailableError || error instanceof RpcResponseError))
          throw error
        const text = 'The chain could not be asked what the recipient paid to the payer; try again.'
        throw new WriteFault('chain_unavailable', text, undefined, 5)
      },
    )
    const before = await store.weighed(network, payTo, payer)
    const left = before.paid + BigInt(amount) - given - before.weight
    const weight = [counted, left, BigInt(MAX_WEIGHT)].reduce((a, b) => (a < b ? a : b))
    return weight > 0n ? Number(weight) : 0
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
      // Only the payer learns below what the payment was for, because anybody finds the nonce on the chain.
      await options.checkSignature({ signer: payer, member: 'payer', hashOn }, signature)
      const weight = await weigh(rated, status, await checkPurchase(rated, payment))
      const rating = {
        ...rated,
        id: status.settlementId,
        payer,
        score,
        amount: status.amount,
        weight,
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

    /** Weighs the ratings of a payer again after their recipient, in lower case, paid something to them. */
    async reweigh(payTo: Address, payer: Address): Promise<void> {
      const { paid, weight } = await store.weighed(network, payTo, payer)
      if (weight === 0n) return
      const merchants = (await listings.merchantsPaidTo(payTo)).filter(speaksForPayTo)
      const owners = merchants.slice(0, MAX_MERCHANTS).flatMap(({ owner }) => owner ?? [])
      const left = paid - (await readGiven(payTo, payer, owners))
      await store.lighten(network, payTo, payer, left > 0n ? left : 0n)
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

function termsOf({ scheme, status }: FoundPayment): PaidTerms {
  const { network, symbol, amount, createdAt } = status
  return {
    ...{ scheme, network, symbol },
    asset: status.asset.toLowerCase(),
    amount: BigInt(amount),
    at: Math.floor(Date.parse(createdAt) / 1000),
  }
}
