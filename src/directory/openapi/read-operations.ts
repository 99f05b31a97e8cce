import { z } from 'zod'
import { cached } from '../../http/openapi/cached-answer.js'
import { address } from '../../http/openapi/fields.js'
import type { Operation } from '../../http/openapi/operation.js'
import { choiceParameter } from '../../http/query.js'
import { toolFormats } from '../catalog/tools.js'
import { unknownMerchant, writeCodes } from '../listings/faults.js'
import { historyQuery } from '../listings/history.js'
import {
  catalogAnswer,
  historyAnswer,
  merchantView,
  openApiAnswer,
  ownedAnswer,
  signingAnswer,
  toolsAnswer,
} from './listing-schemas.js'

export const ofMerchant = z.object({ id: z.string().max(200).describe('Merchant id.') })

const { merchantNotFound, merchantDeleted, merchantHidden } = writeCodes
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

export const merchantOpenApiOperation: Operation = {
  id: 'getMerchantOpenApi',
  tag,
  summary: 'The endpoints of a merchant as an OpenAPI document',
  params: ofMerchant,
  answers: cached('OpenAPI 3.1.', openApiAnswer),
  codes: [merchantNotFound, merchantDeleted, merchantHidden],
  examples: { unknown: unknownMerchant },
}

/** Parameters of the tools of a merchant. */
export const toolsQuery = z.object({
  format: choiceParameter(toolFormats)
    .prefault('function')
    .describe('`function` unless said; `mcp` is the answer to `tools/list`.'),
})

export const merchantToolsOperation: Operation = {
  id: 'getMerchantTools',
  tag,
  summary: 'The endpoints of a merchant as tools of a language model',
  params: ofMerchant,
  query: toolsQuery,
  answers: cached('The tools, and by name what a call of each is made of.', toolsAnswer),
  codes: [merchantNotFound, merchantDeleted, merchantHidden],
  examples: { unknown: unknownMerchant },
}

export const merchantLlmsOperation: Operation = {
  id: 'getMerchantLlmsText',
  tag,
  summary: 'The endpoints of a merchant as an llms.txt',
  params: ofMerchant,
  answers: cached('Markdown: what there is, what it costs, where to read on.', 'text/markdown'),
  codes: [merchantNotFound, merchantDeleted, merchantHidden],
  examples: { unknown: unknownMerchant },
}

export const ownerOperation: Operation = {
  id: 'listMerchantsOfOwner',
  tag,
  summary: 'What a wallet owns, what is offered to it, and what it may claim',
  params: z.object({ address }),
  answers: { 200: { description: 'Listings by role.', schema: ownedAnswer } },
  examples: {
    none: {
      summary: 'A wallet that has none',
      params: { address: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65' },
      status: 200,
      answer: { owner: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65', merchants: [] },
    },
    malformed: {
      summary: 'Not an address',
      params: { address: '0x12' },
      status: 400,
      answer: {
        error: 'invalid_request',
        message: 'address must be a 20-byte hex address with 0x prefix.',
      },
    },
  },
}
