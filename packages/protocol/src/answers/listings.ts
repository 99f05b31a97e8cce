import { z } from 'zod'
import { listingLimits } from '../listing/listing.js'
import { listingActions } from '../listing/listing-write.js'
import {
  type AnswerOf,
  address,
  amount,
  anyObject,
  callExample,
  currency,
  endpointId,
  endpointStatus,
  listedPrice,
  livePrice,
  livePriceUsd,
  method,
  network,
  ofTool,
  payToProof,
  pricing,
  seconds,
  standing,
  usage,
} from './fields.js'
import { delivery } from './paid-checks.js'
import { integerParameter, limitParameter } from './parameters.js'

const probeRecord = z
  .object({
    verdict: z.string().describe('`live`, or what was wrong.'),
    message: z.string().describe('For the owner.'),
    warnings: z.array(z.string()).describe('Oddities of an endpoint that is live all the same.'),
    seen: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
    checkedAt: seconds,
    ms: z.int().optional().describe('Time until the answer.'),
  })
  .meta({ id: 'Probe', description: 'The result of one probe of an endpoint.' })

export type ProbeRecord = AnswerOf<typeof probeRecord>

const endpointHealth = {
  status: endpointStatus,
  failures: z.int().describe('Failed probes in a row.'),
  nextProbeAt: seconds.nullable(),
  probe: probeRecord.nullable(),
}

const listedEndpoint = z
  .object({
    url: z.string(),
    method,
    ...ofTool,
    title: z.string(),
    description: z.string(),
    pricing,
    price: amount,
    asset: address.describe('Token of the price.'),
    currency,
    tags: z.array(z.string()),
    example: callExample,
    inputSchema: anyObject.nullable(),
    output: z.object({ type: z.string(), example: z.unknown().optional() }).nullable(),
    state: z.object({
      id: z.int(),
      ...endpointHealth,
      symbol: listedPrice.symbol,
      priceUsd: listedPrice.priceUsd,
      livePrice,
      livePriceUsd,
      accepts: z.array(anyObject).describe('The requirements of its 402 at the last probe.'),
      extras: anyObject,
      hosted: z.boolean(),
      usage: usage.nullable(),
      delivery: delivery.nullable(),
      lastUpdated: seconds,
      createdAt: seconds,
    }),
  })
  .meta({ id: 'ListedEndpoint', description: 'Without `state` it is what a save takes.' })

export type MerchantEndpoint = AnswerOf<typeof listedEndpoint>
export type EndpointState = MerchantEndpoint['state']

const offer = z.object({ to: address, until: seconds }).nullable()
const identityCheck = z.object({ passed: z.boolean(), detail: z.string(), checkedAt: seconds })

export type IdentityCheck = AnswerOf<typeof identityCheck>

/** A listing as its owner sees it. */
export const merchantView = z
  .object({
    id: z.string(),
    owner: address.nullable(),
    name: z.string(),
    description: z.string(),
    network,
    asset: address.describe('Token of the first endpoint; each endpoint names its own.'),
    payTo: address,
    claimed: standing.claimed,
    payToProof,
    revision: z.int().describe('The number of the last accepted write.'),
    flags: z.object({
      official: z.boolean(),
      partner: z.boolean(),
      hidden: z.boolean(),
      hiddenReason: z.string().nullable(),
      unclaimed: z.boolean(),
    }),
    agentId: z.string().nullable(),
    identity: z
      .object({
        agentId: z.string(),
        registry: z.string(),
        checks: z.object({
          control: identityCheck,
          pay: identityCheck,
          file: identityCheck,
          domain: identityCheck,
        }),
      })
      .nullable(),
    offer,
    createdAt: seconds,
    updatedAt: seconds,
    usage: usage.nullable(),
    endpoints: z.array(listedEndpoint),
    warnings: z.array(z.object({ path: z.string(), code: z.string(), message: z.string() })),
  })
  .meta({ id: 'Merchant', description: 'A listing as its owner sees it; nothing in it is secret.' })

export type MerchantView = AnswerOf<typeof merchantView>

const domain = z.object({ name: z.literal('Arcus'), version: z.literal('1'), chainId: z.int() })

export const historyAnswer = z.object({
  merchantId: z.string(),
  domain: domain.describe(
    'The EIP-712 domain of the signatures; `GET /api/signing` has the types.',
  ),
  entries: z.array(
    z.object({
      revision: z.int(),
      action: z.enum(listingActions),
      owner: address,
      message: anyObject,
      body: z.unknown(),
      signature: z.string(),
      acceptedAt: seconds,
    }),
  ),
  next: z.int().nullable().describe('`after` for the next page.'),
})

export type HistoryAnswer = AnswerOf<typeof historyAnswer>

const types = z.record(z.string(), z.array(z.object({ name: z.string(), type: z.string() })))

export const signingAnswer = z.object({
  domain,
  primaryType: z.literal('ListingWrite'),
  types,
  audience: z.string(),
  network,
  asset: address.describe('The token of a price that names none: the first of `assets`.'),
  assets: z.array(z.object({ address, symbol: z.string(), currency })),
  request: z.string(),
  bodyHash: z.string(),
  revision: z.string(),
  actions: z.record(
    z.string(),
    z.object({ method: z.string(), path: z.string(), body: z.string(), signer: z.string() }),
  ),
  limits: anyObject.describe('Every limit of what owners write.'),
  time: z.object({ now: seconds, skewSeconds: z.int(), maxDeadlineSeconds: z.int() }),
})

export type SigningAnswer = AnswerOf<typeof signingAnswer>

/** A listing that a wallet owns or may take. */
const ownedMerchant = z.object({
  id: z.string(),
  name: z.string(),
  role: z
    .enum(['owner', 'offered', 'payTo'])
    .describe('`payTo` may claim what was found in payments to it.'),
  revision: z.int(),
  payTo: address,
  hidden: z.boolean(),
  endpoints: z
    .object({ live: z.int(), unverified: z.int(), failing: z.int() })
    .describe('Number of endpoints in each state.'),
  offer,
  updatedAt: seconds,
})

export const ownedAnswer = z.object({ owner: address, merchants: z.array(ownedMerchant) })

export type OwnedMerchant = AnswerOf<typeof ownedMerchant>
export type OwnedAnswer = AnswerOf<typeof ownedAnswer>

const probedEndpoint = z.object({
  id: z.int(),
  url: z.string(),
  method,
  toolName: ofTool.toolName,
  state: z.string().describe('`probed`, or why it was not probed now.'),
  ...endpointHealth,
})

export const probeAnswer = z.object({ endpoints: z.array(probedEndpoint) })

export type ProbeAnswer = AnswerOf<typeof probeAnswer>

const { defaultEntries, maxEntries } = listingLimits.history

export const historyQuery = z.object({
  after: integerParameter()
    .prefault('0')
    .describe('`next` of the page before; 0 is the beginning.'),
  limit: limitParameter(maxEntries)
    .prefault(String(defaultEntries))
    .describe(
      `Entries of a page; large ones make it shorter; above ${maxEntries} it counts as ${maxEntries}.`,
    ),
})

/** The body that says what is probed now. */
export const probeBody = z.object({
  endpointId: endpointId
    .optional()
    .describe('The id in its `state`; without it the endpoints with the oldest probe.'),
})
