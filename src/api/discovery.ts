import { z } from 'zod'
import {
  type AnswerOf,
  address,
  amount,
  anyObject,
  callExample,
  currency,
  endpointStatus,
  listedPrice,
  livePrice,
  livePriceUsd,
  method,
  network,
  ofTool,
  pricing,
  rating,
  seconds,
  standing,
  usage,
} from './fields.js'

const quotedRequirement = z
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
    description: 'What the 402 of the endpoint said at the last probe.',
  })

const discoveryItem = z
  .object({
    resource: z.string().describe('The URL to call, or that of the MCP server.'),
    type: z
      .enum(['http', 'mcp'])
      .describe('With `mcp` the item is one tool: `metadata.input.toolName`.'),
    x402Version: z.literal(2),
    accepts: z.array(quotedRequirement).describe('A live 402 takes precedence over this.'),
    lastUpdated: seconds,
    metadata: z.object({
      title: z.string(),
      description: z.string(),
      provider: z
        .string()
        .describe('The name of the merchant, or the payout address without `payToProof`.'),
      merchant: z.object({
        id: z.string(),
        name: z.string(),
        official: z.boolean(),
        partner: z.boolean(),
        ...standing,
        identity: z
          .object({ agentId: z.string() })
          .nullable()
          .describe('The ERC-8004 agent of the merchant.'),
      }),
      pricing,
      ...listedPrice,
      hostedByArcus: z.boolean(),
      input: z
        .looseObject({
          type: z.enum(['http', 'mcp']),
          method: z.string().optional(),
          toolName: z.string().optional(),
        })
        .describe(
          'How to call the endpoint: `pathParams` and `queryParams` by name, a `body` of `bodyType`, or the `example` arguments of a tool.',
        ),
      inputSchema: anyObject.describe('JSON Schema of the parameters.'),
      output: z.looseObject({ type: z.string() }),
      usage: usage.optional(),
      rating: rating.optional(),
    }),
    status: z
      .enum(['unverified', 'failing'])
      .optional()
      .describe(
        'Absent for a live endpoint. `failing` after repeated failed probes, `unverified` before the first good one.',
      ),
    description: z.string().optional(),
    mimeType: z.string().optional(),
    serviceName: z.string().optional(),
    tags: z.array(z.string()).optional(),
    iconUrl: z.string().optional(),
    extensions: anyObject.optional(),
  })
  .meta({ id: 'DiscoveryItem' })

export type DiscoveryItem = AnswerOf<typeof discoveryItem>

const unappliedFilters = z
  .array(z.string())
  .optional()
  .describe('Filters of the query that this route knows and does not apply.')

const usedLimit = z
  .int()
  .describe('Items of a page as they were counted: 100 for a `limit` above it.')

export const resourcesAnswer = z.object({
  x402Version: z.literal(2),
  items: z.array(discoveryItem),
  unappliedFilters,
  pagination: z.object({
    limit: usedLimit,
    offset: z.int(),
    total: z.int().describe('Number of items of all pages together.'),
  }),
})

export const searchAnswer = z.object({
  x402Version: z.literal(2),
  resources: z.array(discoveryItem),
  partialResults: z.boolean().describe('Whether there are more pages.'),
  unappliedFilters,
  pagination: z.object({ limit: usedLimit, cursor: z.string().nullable() }),
})

export const changesAnswer = z.object({
  x402Version: z.literal(2),
  changes: z.array(
    z.object({
      merchant: z.string(),
      sequence: z.int().describe('Number of the last change of the merchant in this page.'),
      removed: z
        .boolean()
        .describe('Whether the merchant is deleted or hidden. Forget what you hold of it.'),
      items: z
        .array(discoveryItem)
        .describe('All items of the merchant now, those that are not live too.'),
    }),
  ),
  next: z.int().describe('`since` for the next page, and for the next time you ask.'),
  hasMore: z.boolean().describe('Whether there are more pages now.'),
})

const card = z
  .object({
    id: z.int(),
    url: z.string(),
    method,
    toolName: ofTool.toolName,
    title: z.string(),
    description: z.string(),
    tags: z.array(z.string()),
    pricing,
    ...listedPrice,
    livePrice,
    livePriceUsd,
    hosted: z.boolean(),
    hasSchema: z.boolean(),
    status: endpointStatus,
    probe: z
      .object({
        verdict: z.string(),
        warnings: z.array(z.string()).describe('What is odd though it is live: `price_drift`.'),
        checkedAt: seconds,
      })
      .nullable(),
    lastUpdated: seconds,
    usage: usage.nullable(),
    trend: z
      .object({
        calls: z.array(z.int()).nullable().describe('Paid calls; `null` where nobody paid.'),
        uptime: z
          .array(z.number().nullable())
          .describe('Share of live probes, 0 to 1; `null` on a day without a probe.'),
      })
      .describe('By day (UTC) for 30 days, today last.'),
    merchant: z.object({
      id: z.string(),
      name: z.string(),
      official: z.boolean(),
      partner: z.boolean(),
      unclaimed: z.boolean(),
      ...standing,
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
  .meta({ id: 'EndpointCard' })

/** An endpoint as the console lists it. */
export type EndpointCard = AnswerOf<typeof card>

export const browseAnswer = z.object({
  items: z.array(card),
  total: z
    .int()
    .nullable()
    .describe('Number of items of all pages together; `null` when words rank them.'),
  next: z.string().nullable().describe('`cursor` for the next page; `null` after the last.'),
})

export type BrowseAnswer = AnswerOf<typeof browseAnswer>

/** The answer to why a URL is listed, or is not. */
export const statusAnswer = z.object({
  resource: z.string(),
  message: z.string().describe('All of it in one sentence.'),
  entries: z.array(
    z.object({
      type: z.enum(['http', 'mcp']),
      url: z.string(),
      method,
      toolName: ofTool.toolName,
      merchant: z.string().describe('Id of the merchant.'),
      ...standing,
      status: z.enum(['live', 'unverified', 'failing', 'hidden']),
      isListed: z.boolean().describe('Whether it is in the default list of discovery.'),
      reason: z.string(),
      mend: z.string().nullable().describe('What gets it into the list; `null` if it is live.'),
      probe: z.object({ verdict: z.string(), message: z.string(), checkedAt: seconds }).nullable(),
      failures: z.int().describe('Failed probes in a row.'),
      nextProbeAt: seconds.nullable(),
    }),
  ),
  refusals: z
    .array(z.object({ payTo: address, reason: z.string(), at: seconds }))
    .describe('Payments for it whose bazaar extension was refused lately, latest first.'),
})

export type ListingStatus = AnswerOf<typeof statusAnswer>

/** The result of one probe of an endpoint that need not be listed. */
export const validation = z.object({
  verdict: z.string().describe('`live`, or what is wrong.'),
  message: z.string(),
  warnings: z.array(z.string()),
  seen: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
  checkedAt: seconds,
  listing: z
    .object({
      url: z.string(),
      method,
      ...ofTool,
      pricing,
      price: z.string(),
      asset: z.string(),
      symbol: z.string(),
      currency,
      payTo: z.string(),
      network: z.string(),
      title: z.string().optional(),
      description: z.string().optional(),
      tags: z.array(z.string()).optional(),
      inputSchema: anyObject.optional(),
      example: callExample.optional(),
    })
    .nullable()
    .describe('A listing drafted from the live 402. Its texts are those of the endpoint.'),
  tools: z
    .array(
      z.object({
        name: z.string(),
        description: z.string().optional(),
        inputSchema: anyObject.optional(),
      }),
    )
    .optional()
    .describe('The tools of an MCP server, if none was named.'),
})

export type Validation = AnswerOf<typeof validation>
