import { z } from 'zod'
import { bodyTypes, callMethods, TOOL_NAME } from '../x402/calls.js'
import { isObject } from '../x402/json.js'
import { parseUrl } from '../x402/parse-url.js'
import {
  type AnswerOf,
  address,
  amount,
  anyObject,
  CAIP_2,
  callExample,
  cardSorts,
  currency,
  endpointStatus,
  listedPrice,
  livePrice,
  livePriceUsd,
  method,
  network,
  ofTool,
  pricing,
  seconds,
  sorts,
  standing,
  usage,
} from './fields.js'
import { delivery } from './paid-checks.js'
import {
  choiceParameter,
  flagParameter,
  integerParameter,
  limitParameter,
  nameParameter,
  textParameter,
} from './parameters.js'

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
      delivery: delivery.optional(),
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
  partialResults: z
    .boolean()
    .describe(
      'Whether there are more pages, or some of these lack words of the query. Those come after all that have every word: rare words, titles and short texts count more, and of those alike, the ones with evidence of payment and delivery come first.',
    ),
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
        .describe('Whether the merchant is deleted or hidden. Drop what you have of it.'),
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
    failures: z.int().describe('Failed probes in a row.'),
    probe: z
      .object({
        verdict: z.string(),
        warnings: z.array(z.string()).describe('What is odd though it is live: `price_drift`.'),
        checkedAt: seconds,
      })
      .nullable(),
    lastUpdated: seconds,
    usage: usage.nullable(),
    delivery: delivery.nullable(),
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
    .describe('Payments for it that listed nothing lately, latest first, with the reason.'),
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

const MAX_LIMIT = 100
/** The longest text that is searched for. */
const MAX_QUERY_CHARS = 200

const page = {
  limit: limitParameter(MAX_LIMIT)
    .prefault('20')
    .describe(`How many items a page has at most; above ${MAX_LIMIT} it counts as ${MAX_LIMIT}.`),
}

const standardFilter = {
  type: textParameter()
    .optional()
    .describe('`http` or `mcp`, both unless said; any other value finds nothing.'),
  payTo: nameParameter()
    .optional()
    .describe('Address that is paid. Endpoints that are not live are listed too.'),
  scheme: nameParameter().optional().describe('Scheme that is accepted, such as `exact`.'),
  network: nameParameter()
    .regex(CAIP_2, 'must be a CAIP-2 network, such as eip155:5042')
    .optional()
    .describe('Network of the payment, such as `eip155:5042`.'),
  asset: nameParameter().optional().describe('Address of a token that is taken.'),
  currency: nameParameter().optional().describe('Currency of the price (ISO 4217), such as `EUR`.'),
  extensions: nameParameter()
    .optional()
    .describe('Extension that the endpoint offers, such as `bazaar`.'),
}

const wideFilter = {
  ...standardFilter,
  method: choiceParameter(callMethods)
    .optional()
    .describe('Method of the endpoint; `MCP` for a tool of an MCP server.'),
  pricing: choiceParameter(['fixed', 'metered']).optional().describe('Pricing of the endpoint.'),
  maxPrice: integerParameter()
    .optional()
    .describe(
      'Highest price that the 402 may ask for on the listed network, in atomic units of `currency`, else of `asset`, else of dollars. Prices in other money are not found, because no rate is known.',
    ),
  verified: flagParameter()
    .optional()
    .describe('Whether the last probe saw the 402 as it is listed.'),
  delivered: flagParameter()
    .optional()
    .describe('Whether the last paid check delivered, and the endpoint is as it was then.'),
  official: flagParameter()
    .optional()
    .describe('Whether the operator of this service runs the endpoint.'),
  hasSchema: flagParameter().optional().describe('Whether the parameters have a schema.'),
  tag: nameParameter().optional().describe('A tag of the endpoint.'),
  merchant: nameParameter()
    .optional()
    .describe('Endpoints of this merchant only, those that are not live too.'),
}

export const rankedCursor = nameParameter()
  .regex(/^([0-9]{1,5})-([0-9]{1,15})$/, 'must be one that a page before gave')
  .optional()
  .describe('`cursor` of the page before.')

const sort = choiceParameter(sorts)
  .optional()
  .describe(
    'Most calls first, most payers, lowest price (dollars before other money), newest, or paid last; calls are those of 30 days without the busiest payer. Without it, the order is that of creation.',
  )

/** Parameters of `/discovery/resources`. */
export const listQuery = z.object({
  ...page,
  offset: integerParameter().prefault('0').describe('How many items to skip.'),
  sort,
  q: textParameter(MAX_QUERY_CHARS)
    .default('')
    .describe('Every word must occur in the name or description of the merchant or the endpoint.'),
  merchant: nameParameter()
    .optional()
    .describe('Endpoints of this merchant only, those that are not live too.'),
  ...standardFilter,
})

/** The sentence that answers a search without words. */
export const wordsWanted = `is required: words to look for, at most ${MAX_QUERY_CHARS} characters`

/** Parameters of `/discovery/search`. */
export const rankedQuery = z.object({
  query: textParameter(MAX_QUERY_CHARS, wordsWanted).describe('Words to look for.'),
  ...page,
  cursor: rankedCursor,
  ...wideFilter,
})

/** Parameters of `/api/endpoints`. The form of a cursor depends on whether there are words. */
export const browseQuery = z.object({
  query: textParameter(MAX_QUERY_CHARS)
    .default('')
    .describe(
      'Words to look for. With words the best come first, unless `sort` says otherwise; without, the order is that of creation.',
    ),
  ...page,
  cursor: z
    .custom<string>()
    .optional()
    .meta({ wire: { type: 'string' } })
    .describe('`next` of the page before.'),
  sort: choiceParameter(cardSorts)
    .optional()
    .describe(
      'As in `/discovery/resources`; or by title, by the plain number of payments in 30 days, by the share of the last paid checks that delivered, or by the share of payments that settled, the most first.',
    ),
  ...wideFilter,
})

export const changesQuery = z.object({
  since: integerParameter()
    .prefault('0')
    .describe('`next` of the answer before; 0 is the whole catalog.'),
  limit: limitParameter(MAX_LIMIT)
    .prefault('20')
    .describe(
      `How many merchants a page has at most; above ${MAX_LIMIT} it counts as ${MAX_LIMIT}.`,
    ),
  wait: integerParameter({ min: 0, max: 30 })
    .prefault('0')
    .describe('Seconds to wait for a change, if there is none yet.'),
})

const MAX_URL_CHARS = 2_048

export const statusQuery = z.object({
  resource: textParameter(MAX_URL_CHARS, 'is required: the URL of a paid resource')
    .refine((text) => /^https?:$/.test(parseUrl(text)?.protocol ?? ''), {
      error: 'must be an http or https URL',
    })
    .describe('URL of the resource, or of the MCP server.'),
  method: choiceParameter(callMethods).optional().describe('Only with this method.'),
  toolName: nameParameter().optional().describe('Only the tool of this name.'),
})

const MAX_PARAMS = 32
const MAX_PARAM_NAME_CHARS = 64
const MAX_PARAM_VALUE_CHARS = 512
const MAX_BODY_BYTES = 16 * 1024

const url = z
  .string('must be a string')
  .max(MAX_URL_CHARS, { error: `must have at most ${MAX_URL_CHARS} characters`, abort: true })
  .regex(/^[hH][tT][tT][pP][sS]?:\/\//, {
    error: 'must be an absolute http or https URL, such as https://api.example.com/data',
    abort: true,
  })
  .refine((text) => parseUrl(text) !== undefined, 'must be a URL that can be read')
  .describe('What to call.')

const queryValue = z
  .union([z.string(), z.number(), z.boolean()], 'must be a string, a number or a boolean')
  .refine((value) => String(value).length <= MAX_PARAM_VALUE_CHARS, {
    error: `must have at most ${MAX_PARAM_VALUE_CHARS} characters`,
  })

const queryParams = z
  .record(z.string(), queryValue, 'must be an object of parameter name to value')
  .refine((given) => Object.keys(given).length <= MAX_PARAMS, {
    error: `may have at most ${MAX_PARAMS} members`,
  })
  .refine((given) => Object.keys(given).every(({ length }) => length <= MAX_PARAM_NAME_CHARS), {
    error: `names may have at most ${MAX_PARAM_NAME_CHARS} characters`,
  })

const jsonBody = z
  .unknown()
  .refine(
    (value) => new TextEncoder().encode(JSON.stringify(value) ?? '').length <= MAX_BODY_BYTES,
    {
      error: `may have at most ${MAX_BODY_BYTES} bytes as JSON`,
    },
  )

const byQuery = {
  url,
  queryParams: queryParams.optional().describe('Sent as the query.'),
  body: z.undefined('goes with POST, PUT and PATCH; use queryParams').optional(),
}
const byBody = {
  url,
  bodyType: z.enum(bodyTypes, `must be ${bodyTypes.join(', ')}`).optional(),
  body: jsonBody.optional().describe('Sent as JSON unless bodyType says otherwise; {} if absent.'),
  queryParams: queryParams.optional().describe('Sent as the query, in addition to the body.'),
}

export const validateBody = z
  .discriminatedUnion(
    'method',
    [
      z.object({ ...byQuery, method: z.literal(['GET', 'HEAD', 'DELETE']) }),
      z.object({ ...byBody, method: z.literal(['POST', 'PUT', 'PATCH']) }),
      z.object({
        url,
        method: z.literal('MCP'),
        toolName: z
          .string()
          .regex(TOOL_NAME, 'must be 1 to 128 visible ASCII characters')
          .optional()
          .describe('Without it the tools of the server are listed.'),
        arguments: jsonBody
          .refine((value) => value === undefined || isObject(value), 'must be an object')
          .optional()
          .describe('Arguments of the call; {} if absent.'),
      }),
    ],
    {
      error: ({ input }) =>
        isObject(input)
          ? `must be one of ${callMethods.join(', ')}`
          : 'must be a JSON object with url and method',
    },
  )
  .meta({ id: 'ValidateRequest' })
