import { z } from 'zod'
import {
  type AnswerOf,
  address,
  anyObject,
  endpointStatus,
  listedPrice,
  livePrice,
  method,
  network,
  ofTool,
  pricing,
  sorts,
  standing,
  usage,
} from './fields.js'
import { delivery } from './paid-checks.js'
import { choiceParameter, limitParameter } from './parameters.js'

/** Prices as catalogs have them: dollars as the nearest number. */
const prices = {
  ...listedPrice,
  priceUsd: z.number().optional().describe('Absent where the price is not in dollars.'),
  livePrice,
  livePriceUsd: z.number().nullable(),
}

const catalogEndpoint = z.object({
  method,
  url: z.string(),
  toolName: ofTool.toolName,
  title: z.string(),
  pricing,
  ...prices,
  params: z.array(z.string()),
  description: z.string(),
  tags: z.array(z.string()),
  status: endpointStatus,
  hostedByArcus: z.boolean(),
  delivery: delivery.nullable(),
})

const catalogMerchant = z.object({
  id: z.string(),
  name: z.string(),
  network,
  asset: address.describe('Token of the first endpoint; each endpoint names its own.'),
  endpoints: z.array(catalogEndpoint),
  description: z.string(),
  payTo: address,
  official: z.boolean(),
  partner: z.boolean(),
  ...standing,
  identity: z.object({ agentId: z.string() }).nullable(),
  usage: usage.nullable(),
})

/** The catalog of the directory. It is streamed merchant by merchant. */
export const catalogAnswer = z.object({
  facilitator: z.string(),
  merchants: z.array(catalogMerchant),
})

export type CatalogEndpoint = AnswerOf<typeof catalogEndpoint>
export type CatalogMerchant = AnswerOf<typeof catalogMerchant>

export const badgeParams = z.object({ merchant: z.string().max(200).describe('Merchant id.') })

export const openApiAnswer = z.looseObject({
  openapi: z.string(),
  info: anyObject,
  paths: anyObject,
})

/** The path of the routes about one merchant. */
export const ofMerchant = z.object({ id: z.string().max(200).describe('Merchant id.') })

/** The path of the routes about one endpoint. */
export const ofEndpoint = ofMerchant.extend({
  endpoint: z.string().describe('The id of the endpoint in its `state`.'),
})

/** Merchants that an answer in another order has at most. */
export const MAX_FIRST = 1_000
/** Merchants of a sorted answer unless the caller says how many. */
export const USUAL_FIRST = 100

/** Parameters of `/api/merchants`. */
export const catalogQuery = z.object({
  sort: choiceParameter(sorts)
    .optional()
    .describe(
      `By the payments of 30 days (\`calls\` without those of the busiest payer), the lowest price (dollars before other money), the last payment, or age; the best ${USUAL_FIRST} unless \`limit\` says how many.`,
    ),
  limit: limitParameter(MAX_FIRST)
    .optional()
    .describe(
      `The number of merchants; all of them without \`sort\` and \`limit\`; above ${MAX_FIRST} it counts as ${MAX_FIRST}.`,
    ),
})

/** The merchant whose listing speaks for an address. */
export const payeeAnswer = z.object({
  payTo: address,
  merchant: z
    .object({ id: z.string(), name: z.string() })
    .nullable()
    .describe('`null` where no listing speaks for the address.'),
})
