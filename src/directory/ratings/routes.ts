import {
  type EndpointRatingsAnswer,
  type RatingAnswer,
  type RatingView,
  ratingsQuery,
} from '@arcus/protocol/answers/ratings'
import type { RatingJson } from '@arcus/protocol/listing/rating-message'
import type { FastifyInstance } from 'fastify'
import type { Address } from 'viem'
import { describedAs, type Operation } from '../../http/operation.js'
import { readQuery } from '../../http/query.js'
import { ratingCodes, refusals, writeCodes } from '../listings/refusals.js'
import { writeOperation } from '../listings/routes.js'
import { aboutEndpoint, findEndpoint, type OfEndpoint } from '../probe/endpoint-history.js'
import type { ListingReader } from '../store/listings.js'
import { speaksForPayTo } from '../store/ownership.js'
import type { KeptRating, RatingStore } from '../store/ratings.js'
import type { FeedbackMaker } from './feedback.js'
import type { Ratings } from './ratings.js'

/** A rating is small; the signature of a contract wallet may be 8 KiB in hex. */
const MAX_BYTES = 32_768
const CACHE = 'public, max-age=60'

const unknown = {
  summary: 'An unknown id',
  params: { id: 'nothing' },
  status: 404,
  answer: { error: 'rating_not_found', message: 'There is no rating with this id.' },
}

const payer = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const rateOperation: Operation = {
  id: 'ratePayment',
  tag: 'Directory',
  summary: 'Rate what a payment bought, once',
  description:
    'An EIP-712 message signed by the payer; `rating` of `GET /api/signing` has its types. It is taken only with a confirmed payment of that payer for that endpoint.',
  answers: { 201: 'Kept.' },
  codes: [
    ...Object.values(ratingCodes),
    ...refusals('wrong_audience', 'wrong_chain', 'write_expired', 'issued_in_future'),
    ...refusals('deadline_too_far', 'invalid_signature', 'chain_unavailable', 'storage_low'),
  ],
  examples: {
    expired: {
      summary: 'Signed in January 2026',
      body: {
        message: {
          audience: 'http://localhost:4021',
          network: 'eip155:5042',
          asset: '0x3600000000000000000000000000000000000000',
          payer,
          nonce: `0x${'0e'.repeat(32)}`,
          resource: 'https://api.example.com/quote',
          toolName: '',
          score: 87,
          tag: 'quick',
          link: '',
          issuedAt: 1_767_225_600,
          deadline: 1_767_226_200,
        },
        signature: `0x${'51'.repeat(65)}`,
      },
      status: 400,
      answer: { error: 'write_expired', message: 'message.deadline passed 86400 seconds ago.' },
    },
  },
}

const listOperation: Operation = {
  ...aboutEndpoint,
  id: 'listRatings',
  summary: 'The ratings of an endpoint by those who paid, newest first',
  description:
    'They belong to the URL, the tool and the address that was paid: a listing that is deleted and made anew has them again.',
  answers: { 200: 'A page.' },
}

const ratingOperation: Operation = {
  id: 'getRating',
  tag: 'Directory',
  summary: 'One rating with the message that its payer signed',
  answers: { 200: 'The rating.' },
  codes: refusals('rating_not_found'),
  examples: { unknown },
}

const feedbackOperation: Operation = {
  id: 'getFeedbackCall',
  tag: 'Directory',
  summary: 'The call that puts a rating on the ERC-8004 reputation registry',
  description:
    'The registry refuses the owner and the operators of the agent as sender, and keeps the sender as the client: the payer sends it.',
  answers: { 200: 'The transaction to send.' },
  codes: refusals('rating_not_found', 'feedback_unavailable', 'chain_unavailable'),
  examples: { unknown },
}

const fileOperation: Operation = {
  id: 'getFeedbackFile',
  tag: 'Directory',
  summary: 'The ERC-8004 feedback file of a rating, whose hash is on chain',
  answers: { 200: 'Always the same bytes.' },
  codes: refusals('rating_not_found', 'feedback_unavailable'),
  examples: { unknown: { ...unknown, params: { id: 'nothing', agent: '7' } } },
}

const answerOperation = {
  ...writeOperation('rating.answer', 'answerRating', 'Answer a rating, once', {
    rating: '0198c0de-0000-7000-8000-000000000000',
    text: 'It is quicker now.',
  }),
  answers: { 200: 'The rating with the answer.' },
  codes: [...Object.values(writeCodes), ...refusals('rating_not_found', 'already_answered')],
}

interface RatingRoutesOptions {
  ratings: Ratings
  feedback: FeedbackMaker
  store: Pick<RatingStore, 'list'>
  listings: Pick<ListingReader, 'findMerchant' | 'entriesById'>
  checksum: (address: Address) => Address
}

type OfRating = { Params: { id: string } }
type OfFile = { Params: { id: string; agent: string } }

/** Serves `/api/ratings`, the ratings of an endpoint, and the answers of owners. */
export async function ratingRoutes(
  app: FastifyInstance,
  { ratings, feedback, store, listings, checksum }: RatingRoutesOptions,
): Promise<void> {
  app.post(
    '/api/ratings',
    { bodyLimit: MAX_BYTES, ...describedAs(rateOperation) },
    async ({ body }, reply) => {
      const rating = await ratings.rate(body)
      return reply.code(201).header('cache-control', 'no-store').send(toAnswer(rating, checksum))
    },
  )

  app.get<OfRating>('/api/ratings/:id', describedAs(ratingOperation), async ({ params }, reply) => {
    const rating = await ratings.get(params.id)
    return reply.header('cache-control', CACHE).send(toAnswer(rating, checksum))
  })

  app.get<OfRating>('/api/ratings/:id/feedback', describedAs(feedbackOperation), ({ params }) =>
    feedback.callOf(params.id),
  )

  app.get<OfFile>(
    '/api/ratings/:id/feedback/:agent',
    describedAs(fileOperation),
    async ({ params }, reply) => {
      const text = await feedback.fileOf(params.id, params.agent)
      // Text, so that nothing writes it in another form than the one that was hashed.
      return reply.type('application/json; charset=utf-8').header('cache-control', CACHE).send(text)
    },
  )

  app.get<OfEndpoint>(
    '/api/merchants/:id/endpoints/:endpoint/ratings',
    describedAs(listOperation),
    async ({ params, query }, reply) => {
      const { before, limit } = readQuery(ratingsQuery, query)
      const { endpoint, merchant, rating } = await findEndpoint(listings, params)
      const isCounted = speaksForPayTo(merchant)
      const { network, payTo } = merchant
      const rated = { network, payTo, url: endpoint.url, toolName: endpoint.toolName ?? '' }
      const found = isCounted ? await store.list(rated, before, limit + 1) : []
      const page = found.slice(0, limit)
      const answer: EndpointRatingsAnswer = {
        merchant: merchant.id,
        endpoint: endpoint.id,
        rating: isCounted && rating !== null ? JSON.parse(rating) : null,
        ratings: page.map((it) => toView(it, checksum)),
        next: found.length > limit ? (page.at(-1)?.number ?? null) : null,
      }
      return reply.header('cache-control', CACHE).send(answer)
    },
  )

  app.post<OfRating>(
    '/api/merchants/:id/rating-answer',
    { bodyLimit: MAX_BYTES, ...describedAs(answerOperation) },
    async ({ params, body, ip }, reply) => {
      const rating = await ratings.answer(params.id, body, ip)
      return reply.header('cache-control', 'no-store').send(toAnswer(rating, checksum))
    },
  )
}

function toView(rating: KeptRating, checksum: (address: Address) => Address): RatingView {
  const { id, score, amount, weight, transaction, ratedAt, answer } = rating
  const { tag, link, asset }: RatingJson = JSON.parse(rating.message)
  return {
    ...{ id, score, tag, link, amount, transaction, ratedAt, answer },
    payer: checksum(rating.payer),
    asset: checksum(asset),
    weight: String(weight),
  }
}

function toAnswer(rating: KeptRating, checksum: (address: Address) => Address): RatingAnswer {
  const { network, payTo, url, toolName, message, signature } = rating
  return {
    ...toView(rating, checksum),
    network,
    payTo: checksum(payTo),
    resource: url,
    ...(toolName === '' ? {} : { toolName }),
    message: JSON.parse(message),
    signature,
  }
}
