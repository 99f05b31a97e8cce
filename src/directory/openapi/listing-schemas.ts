import { z } from 'zod'
import {
  address,
  amount,
  anyObject,
  livePrice,
  livePriceUsd,
  network,
  seconds,
} from '../../http/openapi/fields.js'
import { listingActions } from '../../listing-client/listing-write.js'

const probeRecord = z
  .object({
    verdict: z.string().describe('`live`, or what was wrong.'),
    message: z.string().describe('For the owner.'),
    warnings: z.array(z.string()).describe('What is odd though the endpoint is live.'),
    seen: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
    checkedAt: seconds,
  })
  .meta({ id: 'Probe', description: 'What one look at an endpoint found.' })

export const endpointHealth = {
  status: z.enum(['live', 'unverified', 'failing']),
  failures: z.int().describe('Failed looks in a row.'),
  nextProbeAt: seconds.nullable(),
  probe: probeRecord.nullable(),
}

const identityCheck = z.object({ passed: z.boolean(), detail: z.string(), checkedAt: seconds })

const listedEndpoint = z
  .object({
    url: z.string(),
    method: z.enum(['GET', 'POST']),
    title: z.string(),
    description: z.string(),
    pricing: z.enum(['fixed', 'metered']),
    price: amount,
    tags: z.array(z.string()),
    example: anyObject,
    inputSchema: anyObject.nullable(),
    output: z.looseObject({ type: z.string() }).nullable(),
    state: z.object({
      id: z.int(),
      ...endpointHealth,
      livePrice,
      livePriceUsd,
      accepts: z.array(anyObject).describe('What the endpoint quoted when it was last seen.'),
      extras: anyObject,
      hosted: z.boolean(),
      lastUpdated: seconds,
      createdAt: seconds,
    }),
  })
  .meta({ id: 'ListedEndpoint', description: 'Without `state` it is what a save takes.' })

export const payToProof = z
  .enum(['owner', 'confirmation', 'operator'])
  .nullable()
  .describe('How it is known that the address stands behind its owner.')

/** A listing as its owner sees it. */
export const merchantView = z
  .object({
    id: z.string(),
    owner: address.nullable(),
    name: z.string(),
    description: z.string(),
    network,
    asset: address,
    payTo: address,
    payToProof,
    revision: z.int().describe('Of the last accepted write.'),
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
    offer: z.object({ to: address, until: seconds }).nullable(),
    createdAt: seconds,
    updatedAt: seconds,
    endpoints: z.array(listedEndpoint),
    warnings: z.array(z.object({ path: z.string(), code: z.string(), message: z.string() })),
  })
  .meta({ id: 'Merchant', description: 'A listing as its owner sees it; nothing in it is secret.' })

const domain = z.object({ name: z.literal('Arcus'), version: z.literal('1'), chainId: z.int() })

export const historyAnswer = z.object({
  merchantId: z.string(),
  domain: domain.describe('What the signatures are over, with the types of `GET /api/signing`.'),
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
  next: z.int().nullable().describe('`after` of the next page.'),
})

export const signingAnswer = z.object({
  domain,
  primaryType: z.literal('ListingWrite'),
  types: z.record(z.string(), z.array(z.object({ name: z.string(), type: z.string() }))),
  audience: z.string(),
  network,
  asset: address,
  request: z.string(),
  bodyHash: z.string(),
  revision: z.string(),
  actions: z.record(
    z.string(),
    z.object({ method: z.string(), path: z.string(), body: z.string(), signer: z.string() }),
  ),
  limits: anyObject.describe('Every limit on what owners write.'),
  time: z.object({ now: seconds, skewSeconds: z.int(), maxDeadlineSeconds: z.int() }),
})

/** What a wallet may do with listings. */
export const ownedAnswer = z.object({
  owner: address,
  merchants: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      role: z
        .enum(['owner', 'offered', 'payTo'])
        .describe('`payTo` may claim what was found in payments to it.'),
      revision: z.int(),
      payTo: address,
      hidden: z.boolean(),
      endpoints: z.record(z.string(), z.int()).describe('How many are in each state.'),
      offer: z.object({ to: address, until: seconds }).nullable(),
      updatedAt: seconds,
    }),
  ),
})

/** The directory catalog. */
export const catalogAnswer = z.object({
  facilitator: z.string(),
  merchants: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      network,
      asset: address,
      endpoints: z.array(
        z.object({
          method: z.enum(['GET', 'POST']),
          url: z.string(),
          title: z.string(),
          pricing: z.enum(['fixed', 'metered']),
          price: amount,
          priceUsd: z.number(),
          livePrice,
          livePriceUsd: z.number().nullable(),
          params: z.array(z.string()),
          description: z.string(),
          tags: z.array(z.string()),
          status: z.enum(['live', 'unverified', 'failing']),
          hostedByArcus: z.boolean(),
        }),
      ),
      description: z.string(),
      payTo: address,
      official: z.boolean(),
      partner: z.boolean(),
      claimed: z.boolean(),
      identity: z.object({ agentId: z.string() }).nullable(),
    }),
  ),
})

export const openApiAnswer = z.looseObject({
  openapi: z.string(),
  info: anyObject,
  paths: anyObject,
})

export const toolsAnswer = z.object({
  tools: z.array(anyObject),
  calls: z.record(
    z.string(),
    z.object({
      method: z.string(),
      url: z.string(),
      arguments: z.enum(['query', 'body', 'body.body']).describe('Where the arguments go.'),
      pricing: z.enum(['fixed', 'metered']),
      price: amount,
      priceUsd: z.number(),
      livePrice,
      livePriceUsd: z.number().nullable(),
      network,
      asset: address,
      payTo: address,
      status: z.string(),
    }),
  ),
})

export const validation = z.object({
  verdict: z.string().describe('`live`, or what is wrong.'),
  message: z.string(),
  warnings: z.array(z.string()),
  seen: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
  checkedAt: seconds,
  listing: z
    .looseObject({ url: z.string(), method: z.string(), price: z.string(), payTo: z.string() })
    .nullable()
    .describe('A listing drafted from the live 402; its text is the endpoint’s own.'),
})

export const probeAnswer = z.object({
  endpoints: z.array(
    z.object({
      id: z.int(),
      url: z.string(),
      method: z.string(),
      state: z.string().describe('`probed`, or why it was not looked at now.'),
      ...endpointHealth,
    }),
  ),
})
