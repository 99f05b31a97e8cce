import { z } from 'zod'
import { cached } from './openapi/cached-answer.js'
import { address, amount, network } from './openapi/fields.js'
import type { Operation } from './openapi/operation.js'

const tag = 'Service'

export const healthOperation: Operation = {
  id: 'getHealth',
  tag,
  summary: 'Whether the process is alive',
  answers: {
    200: { description: 'It is.', schema: z.object({ status: z.literal('ok') }) },
  },
  examples: { alive: { summary: 'Alive', status: 200, answer: { status: 'ok' } } },
}

export const readiness = z
  .object({
    status: z.enum(['ready', 'not_ready']),
    checks: z.array(z.object({ name: z.string(), ok: z.boolean(), detail: z.string() })),
  })
  .meta({ id: 'Readiness', description: 'Each thing without which no payment could be settled.' })

export const readyOperation: Operation = {
  id: 'getReady',
  tag,
  summary: 'Whether payments can be settled, with each reason if not',
  answers: {
    200: { description: 'They can.', schema: readiness },
    503: { description: 'They cannot.', schema: readiness },
  },
  examples: { ready: { summary: 'Now', status: 200 } },
}

export const metricsOperation: Operation = {
  id: 'getMetrics',
  tag,
  summary: 'Figures for Prometheus',
  answers: { 200: { description: 'Text exposition format.', type: 'text/plain' } },
  examples: { now: { summary: 'Now', status: 200 } },
}

export const openApiOperation: Operation = {
  id: 'getOpenApi',
  tag,
  summary: 'This description',
  answers: cached('OpenAPI 3.1.', z.looseObject({ openapi: z.literal('3.1.0') })),
  examples: { description: { summary: 'All of it', status: 200 } },
}

export const docsOperation: Operation = {
  id: 'getDocs',
  tag,
  summary: 'The same for people',
  answers: { 200: { description: 'A page without scripts.', type: 'text/html' } },
  examples: { page: { summary: 'The page', status: 200 } },
}

const consoleNetwork = z.object({
  network,
  chainId: z.int(),
  name: z.string(),
  listed: z.boolean().describe('Whether listings are about it: true for exactly one.'),
  nativeCurrency: z
    .object({ name: z.string(), symbol: z.string(), decimals: z.int() })
    .describe('As `wallet_addEthereumChain` wants it (EIP-3085).'),
  walletRpcUrls: z.array(z.string()),
  explorerUrl: z.string().nullable(),
  asset: z.object({
    address,
    symbol: z.string(),
    decimals: z.int(),
    name: z.string(),
    version: z.string(),
  }),
})

export const consoleOperation: Operation = {
  id: 'getConsoleSettings',
  tag,
  summary: 'What a page for people must know of this deployment',
  answers: {
    200: {
      description: 'Nothing in it is secret.',
      schema: z.object({
        version: z.string(),
        baseUrl: z.string(),
        directoryUrl: z.string(),
        devnet: z.boolean(),
        networks: z.array(consoleNetwork),
        buybackAddress: address.nullable(),
        identityRegistry: address,
        activityRetentionDays: z.int(),
        minAmount: amount,
      }),
    },
  },
  examples: { settings: { summary: 'As they are', status: 200 } },
}
