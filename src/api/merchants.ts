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
  standing,
  usage,
} from './fields.js'

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

export const openApiAnswer = z.looseObject({
  openapi: z.string(),
  info: anyObject,
  paths: anyObject,
})
