import { z } from 'zod'
import { type AnswerOf, amount, currency, endpointStatus, latency, seconds } from './fields.js'
import { integerParameter } from './parameters.js'

const uptime = z.object({
  probes: z.int(),
  share: z
    .number()
    .nullable()
    .describe('Share of live probes, 0 to 1, each hour with a probe counted alike.'),
})

export const healthAnswer = z.object({
  merchant: z.string(),
  endpoint: z.int(),
  status: endpointStatus,
  uptime: z.object({ '24h': uptime, '7d': uptime, '30d': uptime, '90d': uptime }),
  latency: z.object(latency).describe('Of live probes within 90 days, by the mean of each hour.'),
  history: z.array(
    z.object({
      at: seconds.describe('Start of the hour. Hours without a probe are left out.'),
      probes: z.int(),
      live: z.int(),
      ms: z.number().nullable().describe('Mean of the live probes; `null` without one.'),
      verdicts: z.record(z.string(), z.int()).describe('Number of probes by result.'),
    }),
  ),
})

export type HealthAnswer = AnswerOf<typeof healthAnswer>

export const pricesAnswer = z.object({
  merchant: z.string(),
  endpoint: z.int(),
  prices: z
    .array(
      z.object({
        source: z
          .enum(['listed', 'asked'])
          .describe('`listed` in a signed revision, `asked` by a live 402.'),
        at: seconds,
        amount,
        symbol: z.string(),
        currency,
        sentence: z.string().nullable().describe('The change; `null` for the first price.'),
      }),
    )
    .describe('The last 100 changes of each source.'),
})

export type PricesAnswer = AnswerOf<typeof pricesAnswer>

export const healthQuery = z.object({
  days: integerParameter({ min: 1, max: 90 }).prefault('7').describe('Days of the history.'),
})
