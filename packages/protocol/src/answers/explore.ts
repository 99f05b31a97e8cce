import { z } from 'zod'
import { publicTotals } from './activity.js'
import {
  type AnswerOf,
  address,
  amount,
  currency,
  hash,
  network,
  seconds,
  time,
  usd,
} from './fields.js'

const settlement = z
  .object({
    id: z.int().describe('Rises with time.'),
    at: time,
    network,
    amount,
    asset: address,
    symbol: z.string().nullable(),
    currency,
    transaction: hash,
    merchant: z
      .object({ id: z.string(), name: z.string() })
      .nullable()
      .describe('The listing that is proven to be paid at the address; `null` if there is none.'),
  })
  .meta({ id: 'Settlement', description: 'A payment that settled here, as the chain shows it.' })

export type Settlement = AnswerOf<typeof settlement>

export const exploreAnswer = z.object({
  month: publicTotals.describe('Of the last 30 days.'),
  days: z
    .array(
      z.object({
        at: seconds.describe('Start of the day (UTC).'),
        settled: z.int().describe('Paid calls without those that were refunded in full.'),
        usd: usd.describe('Net of refunds.'),
      }),
    )
    .describe('Thirty days with today, oldest first.'),
  settlements: z.array(settlement).describe('The latest, newest first.'),
})

export type ExploreAnswer = AnswerOf<typeof exploreAnswer>
