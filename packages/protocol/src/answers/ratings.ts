import { z } from 'zod'
import {
  type AnswerOf,
  address,
  amount,
  anyObject,
  hash,
  network,
  ofTool,
  rating,
  seconds,
} from './fields.js'
import { integerParameter, limitParameter } from './parameters.js'

const ownerAnswer = z.object({ text: z.string(), at: seconds }).nullable()

const keptRating = z
  .object({
    id: z.string().describe('The id of the settlement that backs it.'),
    score: z.int().describe('0 to 100.'),
    tag: z.string().describe('The word of the payer, unchecked; may be empty.'),
    link: z.string().describe('A link of the payer, never opened by us; may be empty.'),
    payer: address,
    amount: amount.describe('What was paid.'),
    asset: address,
    weight: amount.describe(
      'What the rating weighs in the average: what was paid, at most the price that was asked, less what came back from the recipient. `0` where nothing is left; then it is in no figure.',
    ),
    transaction: hash,
    ratedAt: seconds,
    answer: ownerAnswer.describe('The one answer of the owner.'),
  })
  .meta({ id: 'KeptRating', description: 'A rating, backed by a payment that settled here.' })

export type RatingView = AnswerOf<typeof keptRating>

export const endpointRatingsAnswer = z.object({
  merchant: z.string(),
  endpoint: z.int(),
  rating: rating.nullable(),
  ratings: z.array(keptRating).describe('Newest first.'),
  next: z.int().nullable().describe('`before` for the next page.'),
})

export type EndpointRatingsAnswer = AnswerOf<typeof endpointRatingsAnswer>

export const ratingAnswer = keptRating
  .extend({
    network,
    payTo: address,
    resource: z.string(),
    toolName: ofTool.toolName,
    message: anyObject.describe(
      'The message as the payer signed it; `GET /api/signing` has its types.',
    ),
    signature: z.string(),
  })
  .meta({ id: 'SignedRating', description: 'A rating with everything that proves it.' })

export type RatingAnswer = AnswerOf<typeof ratingAnswer>

/** The call that puts a rating on the ERC-8004 reputation registry. */
export const feedbackAnswer = z.object({
  network,
  agentId: z.string(),
  to: address.describe('The reputation registry.'),
  data: z.string().describe('The call of `giveFeedback`.'),
  value: z.literal('0'),
  sender: address.describe(
    'The payer, who should send it: the registry keeps the sender as the client.',
  ),
  feedbackUri: z.string().describe('The feedback file, whose bytes never change.'),
  feedbackHash: hash.describe('keccak256 of these bytes.'),
  note: z.string(),
})

export type FeedbackAnswer = AnswerOf<typeof feedbackAnswer>

export const feedbackFile = z
  .looseObject({
    agentRegistry: z.string(),
    agentId: z
      .union([z.int(), z.string()])
      .describe('A text where it is larger than a JSON number holds.'),
    clientAddress: z.string(),
    createdAt: z.iso.datetime(),
    value: z.int(),
    valueDecimals: z.literal(0),
    endpoint: z.string(),
    proofOfPayment: z.object({
      fromAddress: address,
      toAddress: address,
      chainId: z.string(),
      txHash: hash,
    }),
  })
  .meta({ id: 'FeedbackFile', description: 'The feedback file of ERC-8004.' })

export type FeedbackFile = AnswerOf<typeof feedbackFile>

const MAX_RATINGS = 100

export const ratingsQuery = z.strictObject({
  before: integerParameter({ min: 1 }).optional().describe('`next` of the page before.'),
  limit: limitParameter(MAX_RATINGS)
    .prefault('20')
    .describe(`Ratings of a page; above ${MAX_RATINGS} it counts as ${MAX_RATINGS}.`),
})

/** The path of the routes about one rating. */
export const ofRating = z.object({ id: z.string().max(100).describe('Id of the settlement.') })
export const ofFeedbackFile = ofRating.extend({
  agent: z.string().max(78).describe('Id of the agent.'),
})
