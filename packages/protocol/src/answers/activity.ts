import { z } from 'zod'
import {
  type AnswerOf,
  address,
  amount,
  currency,
  hash,
  latency,
  network,
  payToProof,
  seconds,
  time,
  usd,
} from './fields.js'
import {
  addressParameter,
  amountParameter,
  choiceParameter,
  cursorParameter,
  dayParameter,
  integerParameter,
  limitParameter,
  nameParameter,
} from './parameters.js'

const money = z.object({ amount, usd: z.string() })
const refunds = money
  .extend({ count: z.int() })
  .describe(
    'What the plugin of merchants gave back, at most what was paid. All other figures are net of it.',
  )
const successRate = z
  .number()
  .nullable()
  .describe(
    'Settled payments as a share of settled and failed ones, 0 to 1. A payment counts as failed only if its signature and funds were found valid before. Failures that a payer causes count once a day.',
  )
const payers = z.object({
  unique: z.int().describe('Payers who did not get everything back.'),
  elsewhere: z
    .int()
    .nullable()
    .describe(
      'Those of them who also paid another seller: with another owner, payout address and domain. A seller can be all the others at no cost. `null` for everybody together.',
    ),
  repeat: z.int(),
  topShare: z.number().nullable().describe('Share of the payer who paid most, 0 to 1.'),
})

export const publicTotals = z
  .object({
    settled: z.int().describe('Paid calls without those that were refunded in full.'),
    successRate,
    settleP50Ms: z.number().nullable(),
    settleP95Ms: z.number().nullable(),
    revenue: money.describe('Net of refunds.'),
    refunds,
    payers,
  })
  .meta({
    id: 'Totals',
    description:
      'Net of refunds. Payments of an owner to themselves and payments that were never found valid are left out.',
  })

export const statsAnswer = z.object({
  merchant: z.string().optional(),
  payToProof: payToProof.optional(),
  note: z
    .string()
    .nullable()
    .optional()
    .describe('Why nothing is counted and what to do about it; null where payments count.'),
  '24h': publicTotals,
  '7d': publicTotals,
  '30d': publicTotals,
  all: publicTotals,
})

export type Totals = AnswerOf<typeof publicTotals>
export type PublicTotals = AnswerOf<typeof statsAnswer>

const kind = z.enum(['verify', 'settle'])
const byReason = z.object({ kind: z.string(), reason: z.string(), count: z.int() })
const counts = { count: z.int(), ...latency }
const point = money.extend({
  at: seconds.describe('Start of the hour or day.'),
  verifies: z.int(),
  settled: z.int(),
  failed: z.int(),
})

const range = z.enum(['24h', '7d', '30d', 'all', 'custom'])
const saleFigures = {
  settled: z.int().describe('Without those that were refunded in full.'),
  failed: z.int(),
  verifies: z.int().describe('Verifications, whatever they found.'),
  successRate,
  revenue: money.describe('Net of refunds.'),
  payers: z.int().describe('Payers who did not get everything back.'),
}

export const activityAnswer = z.object({
  merchant: z.string(),
  range,
  since: seconds,
  until: seconds.describe('End of the last hour or day.'),
  stepSeconds: z.int(),
  summary: z.object({
    verify: z.object({ ...counts, valid: z.int() }),
    settle: z.object({
      ...counts,
      settled: z.int().describe('Without those that were refunded in full.'),
      failed: z.int(),
      refused: z
        .int()
        .describe(
          'Neither paid nor failed: never found valid, used before, or beyond a rate limit.',
        ),
      successRate,
    }),
    revenue: money.describe('Net of refunds.'),
    refunds,
    selfPayments: money
      .extend({ verifies: z.int(), count: z.int(), failed: z.int(), gasUsd: z.string() })
      .describe('Payments of an owner to themselves. No other figure contains them.'),
    payers,
    gasUsd: z.string(),
    failures: z.array(byReason).describe('Failed verifies and settles by reason.'),
    refusals: z.array(byReason).describe('Refused settles by reason.'),
  }),
  series: z.array(point),
  unlisted: z
    .array(z.object({ url: z.string().nullable(), reason: z.string(), at: seconds }))
    .describe(
      'The last payments to the payout address, at most five, whose API is not in the catalog, with the reason; `url` is `null` where the payment named none.',
    ),
})

export type UnlistedPayment = ActivityAnswer['unlisted'][number]
export type ActivityAnswer = AnswerOf<typeof activityAnswer>
export type ActivitySummary = ActivityAnswer['summary']
export type ActivityPoint = AnswerOf<typeof point>
/** The ranges that go back from now. */
export type Range = Exclude<ActivityAnswer['range'], 'custom'>
export type ReasonCount = AnswerOf<typeof byReason>

export const activityBreakdown = z.object({
  merchant: z.string(),
  range,
  since: seconds,
  until: seconds,
  endpoints: z
    .array(
      z.object({
        endpointId: z.int().nullable().describe('`null` for payments of no listed endpoint.'),
        ...saleFigures,
        lastPaid: seconds
          .nullable()
          .describe(
            'The last payment within the range; `null` where none is among the newest rows.',
          ),
      }),
    )
    .describe('At most 200, those with most revenue first; deleted ones too.'),
  topPayers: z
    .array(
      money.extend({
        payer: address,
        count: z.int().describe('Payments that were not refunded in full.'),
        share: z.number().nullable().describe('Of the revenue, 0 to 1.'),
      }),
    )
    .describe('The ten who paid most, net of refunds.'),
})

export type ActivityBreakdown = AnswerOf<typeof activityBreakdown>

/**
 * The state of an answer. For settle, `failed` is a payment that was valid once and did not settle, and `refused` is every
 * other refusal. `free` is a success that charged nothing, which is in no figure. `refunded` is a payment that settled and
 * gives back what was paid before.
 */
export const activityStates = [
  'valid',
  'invalid',
  'settled',
  'free',
  'failed',
  'refused',
  'pending',
  'refunded',
] as const

const refunded = amount
  .nullable()
  .describe(
    'What the seller gave back of it, at most all of it; `null` where nothing. The chain proves it.',
  )

const isSelf = z
  .boolean()
  .describe('Whether the payer is the seller or this service. No figure counts such a payment.')
const isCheck = z
  .boolean()
  .describe('Whether it is a paid check: this service bought from the API to see what it delivers.')

const activityRow = z.object({
  amount,
  refunded,
  usd: z.string().nullable().describe('`null` for a payment in another money than dollars.'),
  asset: address,
  symbol: z.string().nullable(),
  currency,
  id: z.int(),
  at: time,
  kind,
  state: z
    .enum(activityStates)
    .describe('`free` is a settle that charged nothing and moved nothing; no figure counts it.'),
  endpointId: z.int().nullable(),
  resource: z.string().nullable(),
  toolName: z.string().nullable().describe('The tool of an MCP server that the payment names.'),
  network,
  payer: address,
  nonce: hash
    .nullable()
    .describe(
      'With network and payer the address of the payment, `/payments/{network}/{payer}/{nonce}`; `null` for a call through a channel.',
    ),
  payTo: address,
  reason: z.string().nullable(),
  transaction: hash.nullable(),
  latencyMs: z.number(),
  gasUsd: z.string().nullable(),
  isSelf,
  isCheck,
})

export const activityTable = z.object({
  items: z.array(activityRow),
  next: z.int().nullable().describe('`before` for the next page.'),
})

export type ActivityRow = AnswerOf<typeof activityRow>
export type ActivityTable = AnswerOf<typeof activityTable>

/** Rows of a page of the table. */
const MAX_TABLE_ROWS = 200

const filters = {
  range: choiceParameter(range.options)
    .prefault('24h')
    .describe('How far back, from now; `custom` with `from` and `to`.'),
  from: dayParameter().optional().describe('First day of `custom`, UTC.'),
  to: dayParameter().optional().describe('Last day of `custom`, UTC.'),
  endpoint: integerParameter().optional().describe('One endpoint only, by the id in its `state`.'),
}

const tableFilters = {
  ...filters,
  kind: choiceParameter(kind.options).optional(),
  state: choiceParameter(activityStates).optional(),
  buyer: addressParameter().optional().describe('Only what this address paid.'),
  minAmount: amountParameter().optional().describe('The least amount, atomic units.'),
  maxAmount: amountParameter().optional().describe('The most, atomic units.'),
}

/** The parameters of the reads. Others are refused, because a filter without effect misleads. */
export const summaryQuery = z.strictObject(filters)
export const exportQuery = z.strictObject(tableFilters)
export const tableQuery = z.strictObject({
  ...tableFilters,
  limit: limitParameter(MAX_TABLE_ROWS)
    .prefault('50')
    .describe(`Rows of a page; above ${MAX_TABLE_ROWS} it counts as ${MAX_TABLE_ROWS}.`),
  before: integerParameter().optional().describe('`next` of the page before.'),
})

const publicState = z.enum(['settled', 'refunded'])

const settlement = z
  .object({
    id: z.int().describe('Rises with time.'),
    at: time,
    state: publicState.describe('`refunded` is money that a seller gives back.'),
    network,
    payer: address,
    payTo: address,
    nonce: hash.nullable().describe('`null` for a call through a channel.'),
    amount,
    refunded,
    asset: address,
    symbol: z.string().nullable(),
    currency,
    transaction: hash,
    isSelf,
    isCheck,
    merchant: z
      .object({ id: z.string(), name: z.string() })
      .nullable()
      .describe('The listing that is proven to be paid at the address; `null` if there is none.'),
  })
  .meta({ id: 'Settlement', description: 'A payment that settled here, as the chain shows it.' })

export type Settlement = AnswerOf<typeof settlement>

/** Payments of a page of the public list. */
const MAX_PAYMENTS = 100

/** Payments of a file, so that it is made in less than a second. */
export const MOST_EXPORTED = 5_000

const paymentFilters = {
  seller: nameParameter()
    .optional()
    .describe('Only what was paid to this address, or to the payout address of this merchant id.'),
  buyer: addressParameter().optional().describe('Only what this address paid.'),
  state: choiceParameter(publicState.options)
    .prefault('settled')
    .describe('Payments, or the transfers by which sellers gave money back.'),
  network: nameParameter().optional().describe('Only on this network, CAIP-2.'),
  minAmount: amountParameter().optional().describe('The least amount, atomic units.'),
  maxAmount: amountParameter().optional().describe('The most, atomic units.'),
  from: dayParameter().optional().describe('The first day, UTC.'),
  to: dayParameter().optional().describe('The last day, UTC.'),
}

/** The parameters of the public list of payments. Others are refused, because a filter without effect misleads. */
export const paymentsExportQuery = z.strictObject(paymentFilters)
export const paymentsQuery = z.strictObject({
  ...paymentFilters,
  limit: limitParameter(MAX_PAYMENTS)
    .prefault('50')
    .describe(`Payments of a page; above ${MAX_PAYMENTS} it counts as ${MAX_PAYMENTS}.`),
  cursor: cursorParameter().optional().describe('`next` of the page before.'),
})

export const paymentsAnswer = z.object({
  items: z.array(settlement).describe('Newest first.'),
  next: z
    .string()
    .nullable()
    .describe(
      '`cursor` of the next page; `null` at the end. One request looks through a bounded number of payments, so that a page may be short, or empty, before the end.',
    ),
})

export type PaymentsAnswer = AnswerOf<typeof paymentsAnswer>

export const exploreAnswer = z.object({
  month: publicTotals.describe('Of the last 30 days.'),
  before: z
    .object({ settled: z.int(), usd, successRate: z.number().nullable() })
    .describe('The same of the 30 days before those.'),
  days: z
    .array(
      z.object({
        at: seconds.describe('Start of the day (UTC).'),
        settled: z.int().describe('Paid calls without those that were refunded in full.'),
        usd: usd.describe('Net of refunds.'),
      }),
    )
    .describe('Thirty days with today, oldest first.'),
  own: z
    .int()
    .describe(
      'Payments of the 30 days that no figure counts: paid checks, and payments of sellers to themselves.',
    ),
  settlements: z.array(settlement).describe('The latest, newest first.'),
})

export type ExploreAnswer = AnswerOf<typeof exploreAnswer>
