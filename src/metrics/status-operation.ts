import { z } from 'zod'
import { address, network, time, usd } from '../http/openapi/fields.js'
import type { Operation } from '../http/openapi/operation.js'
import { readiness } from '../http/operations.js'

const milliseconds = z.number().nullable()

const settling = z
  .object({
    since: time,
    settled: z.int().describe('Payments; refunds are counted apart.'),
    failed: z
      .int()
      .describe('Once found sound, and not settled; by the doing of a payer, one a day.'),
    refunds: z.int(),
    successRate: z.number().nullable(),
    p50Ms: milliseconds,
    p95Ms: milliseconds,
    verifies: z.int().describe('Payments found valid.'),
    verifyP50Ms: milliseconds,
    verifyP95Ms: milliseconds,
  })
  .meta({ id: 'Settling', description: 'How settles went since a full hour.' })

const lane = z.object({
  address,
  state: z.enum(['open', 'closed', 'unfunded']),
  reason: z.string().nullable(),
  inFlight: z.int(),
  oldestPendingSeconds: z.number(),
  balanceUsd: usd.nullable(),
})

const servedNetwork = z.object({
  network,
  chainId: z.int(),
  name: z.string(),
  block: z.object({ number: z.int(), at: time, ageSeconds: z.number() }).nullable(),
  queueLength: z.int(),
  lanes: z.array(lane),
  runwayDays: z.number().nullable().describe('How long the gas money lasts; `null` if unknown.'),
})

const { status, checks } = readiness.shape

export const statusOperation: Operation = {
  id: 'getStatus',
  tag: 'Service',
  summary: 'How the service stands, for people',
  description: '200 even when it is not ready: `status` says so.',
  answers: {
    200: {
      description: 'What cannot be known at the moment is `null`.',
      schema: z.object({
        status,
        version: z.string(),
        now: time,
        startedAt: time,
        checks,
        networks: z.array(servedNetwork),
        settling: z.object({ hour: settling, day: settling }),
      }),
    },
  },
  examples: { now: { summary: 'Now', status: 200 } },
}
