import { z } from 'zod'
import { type AnswerOf, address, amount, latency, network, time, usd } from './fields.js'
import { supportedAnswer, takenAsset } from './payments.js'

/** The description of this service. */
export const openApiDocument = z.looseObject({ openapi: z.literal('3.1.0') })

export const healthAnswer = z.object({ status: z.literal('ok') })

const readinessCheck = z.object({
  name: z.string(),
  ok: z.boolean(),
  detail: z.string().describe('One sentence without addresses of nodes or paths.'),
  warning: z
    .literal(true)
    .optional()
    .describe('Payments settle, and the operator should look at it.'),
})

export const readinessAnswer = z
  .object({ status: z.enum(['ready', 'not_ready']), checks: z.array(readinessCheck) })
  .meta({ id: 'Readiness', description: 'Every part without which no payment can be settled.' })

export type ReadinessAnswer = AnswerOf<typeof readinessAnswer>

const settling = z
  .object({
    since: time,
    settled: z
      .int()
      .describe('Payments of buyers, as every list counts them. Refunds are counted apart.'),
    own: z
      .int()
      .describe('Paid checks, and payments of sellers to themselves, which are no sales.'),
    failed: z
      .int()
      .describe(
        'Payments that were found valid and did not settle. Failures that a payer causes count once a day.',
      ),
    refunds: z.int(),
    successRate: z.number().nullable(),
    ...latency,
    verifies: z.int().describe('Payments found valid.'),
    verifyP50Ms: latency.p50Ms,
    verifyP95Ms: latency.p95Ms,
  })
  .meta({ id: 'Settling', description: 'Settles since a full hour.' })

const lane = z.object({
  address,
  state: z.enum(['open', 'closed', 'unfunded']),
  reason: z.string().nullable(),
  inFlight: z.int(),
  oldestPendingSeconds: z.number(),
  balanceUsd: usd.nullable(),
})

const node = z.object({
  host: z.string().describe('The host alone, because the rest of a URL may be a key.'),
  answers: z.boolean().nullable().describe('Whether its last call succeeded; `null` before one.'),
  at: time.nullable(),
  ms: z.int().nullable().describe('How long that call took.'),
})

const networkStatus = z.object({
  network,
  chainId: z.int(),
  name: z.string(),
  block: z.object({ number: z.int(), at: time, ageSeconds: z.number() }).nullable(),
  queueLength: z.int(),
  nodes: z.array(node).describe('In the order of the settings.'),
  lanes: z.array(lane),
  runwayDays: z.number().nullable().describe('Days until gas money runs out; `null` if unknown.'),
})

/** The state of a facilitator: what readiness checks, and its networks. */
export const facilitatorStatusAnswer = z.object({
  status: readinessAnswer.shape.status,
  version: z.string(),
  now: time,
  startedAt: time,
  checks: readinessAnswer.shape.checks,
  networks: z.array(networkStatus),
})

export type FacilitatorStatus = AnswerOf<typeof facilitatorStatusAnswer>

export const statusAnswer = facilitatorStatusAnswer.extend({
  settling: z.object({ hour: settling, day: settling }),
})

export type ServiceStatus = AnswerOf<typeof statusAnswer>
export type NetworkStatus = AnswerOf<typeof networkStatus>
export type LaneStatus = AnswerOf<typeof lane>
export type NodeStatus = AnswerOf<typeof node>
export type SettlingStatus = AnswerOf<typeof settling>

/** Everything a stranger must know to use or to check this facilitator. */
export const facilitatorAnswer = z
  .object({
    x402Version: z.literal(2),
    facilitator: z.url().describe('The address of verify and settle.'),
    kinds: supportedAnswer.shape.kinds,
    extensions: supportedAnswer.shape.extensions,
    signers: supportedAnswer.shape.signers,
    networks: z.array(
      z.object({
        network,
        chainId: z.int(),
        name: z.string(),
        explorerUrl: z.string().nullable(),
        assets: z.array(takenAsset),
        relayers: z.array(address),
      }),
    ),
    attestation: z
      .object({ format: z.literal('eip712'), facilitator: address })
      .nullable()
      .describe('The key that signs attestations now; `null` where none are signed.'),
    resources: z.object({
      supported: z.url(),
      discovery: z.url().optional(),
      search: z.url().optional(),
      mcp: z.url().optional(),
      openapi: z.url().optional(),
    }),
  })
  .meta({ id: 'Facilitator' })

export type FacilitatorAnswer = AnswerOf<typeof facilitatorAnswer>

const consoleNetwork = z.object({
  network,
  chainId: z.int(),
  name: z.string(),
  listed: z.boolean().describe('Whether listings are about it. True for exactly one network.'),
  nativeCurrency: z
    .object({ name: z.string(), symbol: z.string(), decimals: z.int() })
    .describe('The gas coin, as `wallet_addEthereumChain` takes it (EIP-3085).'),
  walletRpcUrls: z.array(z.string()),
  explorerUrl: z.string().nullable(),
  asset: takenAsset.describe('The default one: the first of `assets`.'),
  assets: z.array(takenAsset),
})

/** The facts about this deployment that the console needs. Public: no key, no address of the operator's own nodes. */
export const consoleAnswer = z.object({
  version: z.string(),
  baseUrl: z.string(),
  directoryUrl: z.string(),
  devnet: z.boolean(),
  tryIt: z.boolean().describe('Whether the page of a merchant calls and pays its endpoints.'),
  paidChecks: z.boolean().describe('Whether this service buys from listed endpoints.'),
  networks: z.array(consoleNetwork),
  buybackAddress: address.nullable(),
  identityRegistry: address,
  activityRetentionDays: z.int(),
  minAmount: amount,
})

export type ConsoleNetwork = AnswerOf<typeof consoleNetwork>
export type ConsoleSettings = AnswerOf<typeof consoleAnswer>
