import type { FastifyInstance, RouteHandlerMethod } from 'fastify'
import type { RoutePrice } from '../merchant/x402.js'
import { formatNative, formatUnits } from '../x402/amounts.js'
import { summarize } from './summary.js'

/** All paths that are hosted begin with it. */
export const HOSTED_PREFIX = '/hosted/'

/** What the chain asks of who settles, as last seen; `undefined` before the first block. */
export type ReadFees = () => { baseFeePerGas: bigint; blockTime: number } | undefined

/** An endpoint as it is sold and as it is listed. */
export interface HostedEndpoint {
  method: 'GET' | 'POST'
  path: string
  title: string
  tags: string[]
  price: RoutePrice & { price: `$${string}`; description: string; pricing: 'fixed' | 'metered' }
  /** In units of the stablecoin. */
  amount: bigint
  example: { queryParams: Record<string, unknown> } | { body: Record<string, unknown> }
  inputSchema: Record<string, unknown>
  handle(readFees: ReadFees): RouteHandlerMethod
}

/** Characters that one step of the price pays for, and how many steps the ceiling has. */
const STEP_CHARS = 5_000
const MAX_STEPS = 4
const STEP_DOLLARS_MILLIS = 5
const MAX_SENTENCES = 20
/** Of one settlement alone in its transaction. */
const SETTLE_GAS = 113_000n

interface SummaryBody {
  text: string
  sentences?: number
}

const summaryEndpoint: HostedEndpoint = {
  method: 'POST',
  path: `${HOSTED_PREFIX}summary`,
  title: 'Summary of a text',
  tags: ['text', 'summary'],
  amount: 20_000n,
  price: {
    price: '$0.02',
    pricing: 'metered',
    description: `Picks the sentences of a text that say most. Half a cent for each ${STEP_CHARS} characters begun.`,
    mimeType: 'application/json',
    maxTimeoutSeconds: 60,
  },
  example: {
    body: {
      text: 'Rain fell all night. By morning the rain had filled the harbour. A boat sank. Nobody was hurt by the rain.',
      sentences: 2,
    },
  },
  inputSchema: {
    type: 'object',
    properties: {
      text: { type: 'string', minLength: 1, maxLength: STEP_CHARS * MAX_STEPS },
      sentences: { type: 'integer', minimum: 1, maximum: MAX_SENTENCES, default: 3 },
    },
    required: ['text'],
    additionalProperties: false,
  },
  handle: () => async (request) => {
    const { text, sentences = 3 } = request.body as SummaryBody
    const steps = Math.max(1, Math.ceil([...text].length / STEP_CHARS))
    request.payment?.charge(`$0.${String(steps * STEP_DOLLARS_MILLIS).padStart(3, '0')}`)
    return summarize(text, sentences)
  },
}

const feesEndpoint: HostedEndpoint = {
  method: 'GET',
  path: `${HOSTED_PREFIX}fees`,
  title: 'What settling costs on Arc now',
  tags: ['arc', 'gas'],
  amount: 5_000n,
  price: {
    price: '$0.005',
    pricing: 'fixed',
    description:
      'Base fee of the newest block, and what it makes of the gas of one settlement, in dollars.',
    mimeType: 'application/json',
    maxTimeoutSeconds: 60,
  },
  example: { queryParams: {} },
  inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  handle: (readFees) => async (_, reply) => {
    const fees = readFees()
    if (fees === undefined) {
      const message = 'No block has been seen yet; nothing was charged.'
      return reply.code(503).send({ error: 'unavailable', message })
    }
    return {
      baseFeeGwei: formatUnits(fees.baseFeePerGas, 9),
      settlementUsd: formatNative(fees.baseFeePerGas * SETTLE_GAS),
      blockTime: fees.blockTime,
    }
  },
}

export const hostedEndpoints: readonly HostedEndpoint[] = [summaryEndpoint, feesEndpoint]

/** Mounts what is sold; the plugin that sells has been registered in this scope before. */
export function mountEndpoints(app: FastifyInstance, readFees: ReadFees): void {
  for (const endpoint of hostedEndpoints) {
    const { method, path, price, inputSchema, handle } = endpoint
    const schema = method === 'GET' ? { querystring: inputSchema } : { body: inputSchema }
    app.route({
      method,
      url: path,
      config: { x402: price, cors: openToBrowsers },
      exposeHeadRoute: false,
      schema,
      handler: handle(readFees),
    })
    app.options(path, { config: { cors: openToBrowsers } }, (_, reply) => reply.callNotFound())
  }
}

const PREFLIGHT_MAX_AGE_SECONDS = 86_400
const openToBrowsers = {
  origin: '*',
  methods: ['GET', 'POST'],
  allowedHeaders: [
    'content-type',
    'payment-signature',
    'x-payment',
    'access-control-expose-headers',
  ],
  exposedHeaders: ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE', 'Retry-After'],
  maxAge: PREFLIGHT_MAX_AGE_SECONDS,
}
