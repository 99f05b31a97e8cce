import { z } from 'zod'
import { httpCodes } from '../../http/http-codes.js'
import { cached } from '../../http/openapi/cached-answer.js'
import type { Operation } from '../../http/openapi/operation.js'
import { historyQuery } from '../history.js'
import { listingBody } from '../listing-body.js'
import { link, nothing, offer } from '../small-bodies.js'
import { writeCodes } from '../write-codes.js'
import { writeEnvelope } from '../write-envelope.js'
import { exampleWrite, unknownMerchant } from './examples.js'
import {
  catalogAnswer,
  historyAnswer,
  merchantView,
  openApiAnswer,
  signingAnswer,
  toolsAnswer,
} from './listing-schemas.js'

export const ofMerchant = z.object({ id: z.string().max(200).describe('Merchant id.') })

const { merchantNotFound, merchantDeleted } = writeCodes
const tag = 'Directory'

export const signingOperation: Operation = {
  id: 'getSigningTerms',
  tag,
  summary: 'All a client needs to sign a write',
  answers: {
    200: {
      description: 'Domain, types, audience, clock, routes and limits.',
      schema: signingAnswer,
    },
  },
  examples: { terms: { summary: 'As they are now', status: 200 } },
}

export const catalogOperation: Operation = {
  id: 'listMerchants',
  tag,
  summary: 'The directory: every merchant with its endpoints and prices',
  answers: cached('All of it, as a stream.', catalogAnswer),
  examples: { all: { summary: 'All of it', status: 200 } },
}

export const merchantOperation: Operation = {
  id: 'getMerchant',
  tag,
  summary: 'One listing as its owner sees it, with the health of each endpoint',
  params: ofMerchant,
  answers: { 200: { description: 'The listing.', schema: merchantView } },
  codes: [merchantNotFound, merchantDeleted],
  examples: { unknown: unknownMerchant },
}

export const historyOperation: Operation = {
  id: 'getMerchantHistory',
  tag,
  summary: 'Every accepted signed message, to verify again',
  params: ofMerchant,
  query: historyQuery,
  answers: { 200: { description: 'A page, oldest first.', schema: historyAnswer } },
  codes: [merchantNotFound],
  examples: { unknown: unknownMerchant },
}

const notFound = {
  ...unknownMerchant,
  answer: { error: 'not_found', message: 'There is no merchant with this id in the directory.' },
}

export const merchantOpenApiOperation: Operation = {
  id: 'getMerchantOpenApi',
  tag,
  summary: 'The endpoints of a merchant as an OpenAPI document',
  params: ofMerchant,
  answers: cached('OpenAPI 3.1.', openApiAnswer),
  codes: [httpCodes.notFound],
  examples: { unknown: notFound },
}

export const merchantToolsOperation: Operation = {
  id: 'getMerchantTools',
  tag,
  summary: 'The endpoints of a merchant as tools of a language model',
  params: ofMerchant,
  query: z.object({
    format: z
      .enum(['function', 'mcp'])
      .optional()
      .describe('`function` unless said; `mcp` is the answer to `tools/list`.'),
  }),
  answers: cached('The tools, and by name what a call of each is made of.', toolsAnswer),
  codes: [httpCodes.notFound],
  examples: { unknown: notFound },
}

/** A signed write: its codes are those of the table, and each is checked in the order of what it costs. */
function write(
  id: string,
  summary: string,
  body: z.ZodType,
  more: Partial<Operation> = {},
): Operation {
  return {
    id,
    tag,
    summary,
    description:
      'An EIP-712 message signed by the wallet of the owner. `GET /api/signing` says how; the deadline is minutes ahead, so the example is too old for a success.',
    params: ofMerchant,
    body: writeEnvelope.extend({ body }),
    answers: { 200: { description: 'The listing as it is now.', schema: merchantView } },
    codes: Object.values(writeCodes),
    ...more,
  }
}

export const saveOperation = write('saveMerchant', 'Create or replace a listing', listingBody, {
  answers: {
    200: { description: 'Replaced.', schema: merchantView },
    201: { description: 'Created.', schema: merchantView },
  },
  examples: { expired: exampleWrite('listing.create') },
})

export const deleteOperation = write('deleteMerchant', 'Delete a listing', nothing, {
  examples: { expired: exampleWrite('listing.delete') },
})

export const offerOperation = write('offerMerchant', 'Offer a listing to another owner', offer, {
  examples: { expired: exampleWrite('owner.offer') },
})

export const acceptOperation = write('acceptMerchant', 'Take over an offered listing', nothing, {
  examples: { expired: exampleWrite('owner.accept') },
})

export const linkOperation = write('linkAgent', 'Say which ERC-8004 agent the merchant is', link, {
  examples: { expired: exampleWrite('agent.link') },
})
