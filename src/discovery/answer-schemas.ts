import { z } from 'zod'
import { address, amount, anyObject, network, seconds, usd } from '../http/openapi/fields.js'
import type { toCard } from './card.js'
import type { DiscoveryItem } from './item.js'

export const quotedRequirement = z
  .looseObject({
    scheme: z.string(),
    network,
    amount,
    asset: address,
    payTo: address,
    maxTimeoutSeconds: z.int().optional(),
    extra: anyObject.optional(),
  })
  .meta({
    id: 'QuotedRequirement',
    description: 'As the 402 of the endpoint said when it was last seen.',
  })

export const discoveryItem = z
  .object({
    resource: z.string().describe('What to call.'),
    type: z.literal('http'),
    x402Version: z.literal(2),
    accepts: z.array(quotedRequirement).describe('The live 402 wins over this.'),
    lastUpdated: seconds,
    metadata: z.object({
      title: z.string(),
      description: z.string(),
      provider: z.string(),
      merchant: z.object({
        id: z.string(),
        name: z.string(),
        official: z.boolean(),
        partner: z.boolean(),
        identity: z.object({ agentId: z.string() }).nullable().describe('Its ERC-8004 agent.'),
      }),
      pricing: z.enum(['fixed', 'metered']),
      hostedByArcus: z.boolean(),
      input: z
        .looseObject({ type: z.literal('http'), method: z.string() })
        .describe('How to call it: `queryParams` by name, or a JSON `body`.'),
      inputSchema: anyObject.describe('JSON Schema of the parameters.'),
      output: z.looseObject({ type: z.string() }),
    }),
    status: z
      .enum(['unverified', 'failing'])
      .optional()
      .describe('Only of what is not live: seen to be wrong, or not seen yet.'),
    description: z.string().optional(),
    mimeType: z.string().optional(),
    serviceName: z.string().optional(),
    tags: z.array(z.string()).optional(),
    iconUrl: z.string().optional(),
    extensions: anyObject.optional(),
  })
  .meta({ id: 'DiscoveryItem' }) satisfies z.ZodType<{ [Name in keyof DiscoveryItem]: unknown }>

export const resourcesAnswer = z.object({
  x402Version: z.literal(2),
  items: z.array(discoveryItem),
  pagination: z.object({
    limit: z.int(),
    offset: z.int(),
    total: z.int().describe('Of all pages together.'),
  }),
})

const correctedQuery = z
  .string()
  .optional()
  .describe(
    'What was looked for instead: only where nothing has the words as typed, and something has these.',
  )

export const searchAnswer = z.object({
  x402Version: z.literal(2),
  correctedQuery,
  resources: z.array(discoveryItem),
  partialResults: z.boolean().describe('Whether there are more pages.'),
  pagination: z.object({ limit: z.int(), cursor: z.string().nullable() }),
})

export const changesAnswer = z.object({
  x402Version: z.literal(2),
  changes: z.array(
    z.object({
      merchant: z.string(),
      sequence: z.int().describe('Of its last change in this page.'),
      removed: z.boolean().describe('Deleted, hidden, or never public: forget what you hold.'),
      items: z.array(discoveryItem).describe('All it has now, failing ones too.'),
    }),
  ),
  next: z.int().describe('`since` of the next page, and of the next time.'),
  hasMore: z.boolean().describe('Whether there are more pages now.'),
})

const card = z
  .object({
    id: z.int(),
    url: z.string(),
    method: z.enum(['GET', 'POST']),
    title: z.string(),
    description: z.string(),
    tags: z.array(z.string()),
    pricing: z.enum(['fixed', 'metered']),
    price: amount,
    priceUsd: usd,
    hosted: z.boolean(),
    hasSchema: z.boolean(),
    status: z.enum(['live', 'unverified', 'failing']),
    probe: z.object({ verdict: z.string(), checkedAt: seconds }).nullable(),
    lastUpdated: seconds,
    merchant: z.object({
      id: z.string(),
      name: z.string(),
      official: z.boolean(),
      partner: z.boolean(),
      unclaimed: z.boolean(),
      identity: z
        .object({
          agentId: z.string(),
          checks: z.object({
            control: z.boolean(),
            pay: z.boolean(),
            file: z.boolean(),
            domain: z.boolean(),
          }),
        })
        .nullable(),
    }),
  })
  .meta({ id: 'EndpointCard' }) satisfies z.ZodType<{
  [Name in keyof ReturnType<typeof toCard>]: unknown
}>

export const browseAnswer = z.object({
  correctedQuery,
  items: z.array(card),
  total: z.int().nullable().describe('Of all pages together; `null` when words are looked for.'),
  next: z.string().nullable().describe('`cursor` of the next page.'),
})
