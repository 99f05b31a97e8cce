import { z } from 'zod'
import { address, amount, hash, seconds, time } from '../../http/openapi/fields.js'
import { payToProof } from './listing-schemas.js'

const sums = z.object({ amount, usd: z.string() })
const percentiles = { p50Ms: z.number().nullable(), p95Ms: z.number().nullable() }
const payers = z.object({
  unique: z.int(),
  repeat: z.int(),
  topShare: z.number().nullable().describe('Of the one who paid most, 0 to 1.'),
})

const publicTotals = z
  .object({
    settled: z.int(),
    successRate: z.number().nullable(),
    settleP50Ms: z.number().nullable(),
    settleP95Ms: z.number().nullable(),
    revenue: sums,
    payers,
  })
  .meta({ id: 'Totals', description: 'Without those who pay themselves.' })

export const statsAnswer = z.object({
  merchant: z.string().optional(),
  payToProof: payToProof.optional(),
  note: z
    .string()
    .nullable()
    .optional()
    .describe('Why nothing is counted, and what mends it; null where payments count.'),
  '24h': publicTotals,
  '7d': publicTotals,
  '30d': publicTotals,
  all: publicTotals,
})

const counts = { count: z.int(), ...percentiles }

export const activityAnswer = z.object({
  merchant: z.string(),
  range: z.string(),
  since: seconds,
  stepSeconds: z.int(),
  summary: z.object({
    verify: z.object({ ...counts, valid: z.int() }),
    settle: z.object({
      ...counts,
      settled: z.int(),
      failed: z.int(),
      successRate: z.number().nullable(),
    }),
    revenue: sums,
    selfPayments: sums
      .extend({ verifies: z.int(), count: z.int(), failed: z.int(), gasUsd: z.string() })
      .describe('Of those who pay themselves; in nothing else here.'),
    payers,
    gasUsd: z.string(),
    failures: z.array(z.object({ kind: z.string(), reason: z.string(), count: z.int() })),
  }),
  series: z.array(
    sums.extend({ at: seconds, verifies: z.int(), settled: z.int(), failed: z.int() }),
  ),
})

export const activityTable = z.object({
  items: z.array(
    z.object({
      id: z.int(),
      at: time,
      kind: z.enum(['verify', 'settle']),
      state: z.enum(['valid', 'invalid', 'settled', 'failed', 'pending']),
      endpointId: z.int().nullable(),
      resource: z.string().nullable(),
      payer: address,
      payTo: address,
      amount,
      usd: z.string(),
      reason: z.string().nullable(),
      transaction: hash.nullable(),
      latencyMs: z.number(),
      gasUsd: z.string().nullable(),
      isSelf: z.boolean(),
    }),
  ),
  next: z.int().nullable().describe('`before` of the next page.'),
})
