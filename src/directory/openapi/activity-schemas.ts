import { z } from 'zod'
import { address, amount, hash, seconds, time } from '../../http/openapi/fields.js'
import { activityStates } from '../../store/activity.js'
import { payToProof } from './listing-schemas.js'

const sums = z.object({ amount, usd: z.string() })
const percentiles = { p50Ms: z.number().nullable(), p95Ms: z.number().nullable() }
const refunds = sums
  .extend({ count: z.int() })
  .describe(
    'What the address that is paid gave back to who had paid it, up to what they paid; taken off everything else.',
  )
const successRate = z
  .number()
  .nullable()
  .describe(
    'Settled of those that settled or failed, 0 to 1. A payment fails only if it was once found sound, signature and funds; by the doing of a payer, once a day.',
  )
const payers = z.object({
  unique: z.int().describe('Who paid, and did not get all of it back.'),
  repeat: z.int(),
  topShare: z.number().nullable().describe('Of the one who paid most, 0 to 1.'),
})

const publicTotals = z
  .object({
    settled: z.int().describe('Paid calls; those given back in full are not among them.'),
    successRate,
    settleP50Ms: z.number().nullable(),
    settleP95Ms: z.number().nullable(),
    revenue: sums.describe('Net of refunds.'),
    refunds,
    payers,
  })
  .meta({
    id: 'Totals',
    description:
      'Net of refunds, without those who pay themselves, and without payments that were never found sound.',
  })

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

const byReason = z.object({ kind: z.string(), reason: z.string(), count: z.int() })
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
      settled: z.int().describe('Those given back in full are not among them.'),
      failed: z.int(),
      refused: z
        .int()
        .describe('Not paid for, and no failure: never found sound, used before, or one too many.'),
      successRate,
    }),
    revenue: sums.describe('Net of refunds.'),
    refunds,
    selfPayments: sums
      .extend({ verifies: z.int(), count: z.int(), failed: z.int(), gasUsd: z.string() })
      .describe('Of those who pay themselves; in nothing else here.'),
    payers,
    gasUsd: z.string(),
    failures: z.array(byReason).describe('Of verifies, and of settles that failed.'),
    refusals: z.array(byReason).describe('Of settles that were refused.'),
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
      state: z.enum(activityStates),
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
