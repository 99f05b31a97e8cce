import { z } from 'zod'
import { bodyTypes, callMethods, mcpTransports } from '../x402/calls.js'

/*
 * The fields that several answers share. Each is described once.
 */

/** A text of hex, which types know by its prefix. */
function hex(pattern: RegExp) {
  return z.string().regex(pattern) as unknown as z.ZodType<`0x${string}`, `0x${string}`>
}

export const address = hex(/^0x[0-9a-fA-F]{40}$/).meta({
  id: 'Address',
  description: 'An account, with EIP-55 checksum in answers.',
})

export const hash = hex(/^0x[0-9a-f]{64}$/).meta({
  id: 'Hash',
  description: '32 bytes in lower-case hex.',
})

export const amount = z
  .string()
  .regex(/^(0|[1-9][0-9]*)$/)
  .meta({
    id: 'Amount',
    description:
      'Atomic units of a stablecoin (6 decimals): 10000 is a cent, of a dollar or a euro.',
  })

export const usd = z
  .string()
  .regex(/^[0-9]+(\.[0-9]+)?$/)
  .meta({ id: 'Usd', description: 'Dollars as an exact decimal.' })

export const currency = z
  .string()
  .nullable()
  .describe('Currency of the token, ISO 4217; `null` if not known.')

/** Half of what was measured took no longer than the first, 95 % no longer than the second. */
export const latency = { p50Ms: z.number().nullable(), p95Ms: z.number().nullable() }

export const listedPrice = {
  price: amount.describe('As listed, in atomic units of the asset.'),
  priceUsd: usd.optional().describe('Absent where the price is not in dollars.'),
  asset: address.describe('Token of the price.'),
  symbol: z.string().describe('Symbol of the token, such as `EURC`.'),
  currency,
}

export const livePrice = amount
  .nullable()
  .describe(
    'The price that its 402 asked for in the same token at the last probe, the highest of several; `null` if it is not known.',
  )

export const livePriceUsd = usd
  .nullable()
  .describe('The same in dollars; `null` for a price that is not in dollars.')

/** A namespace and a reference of CAIP-2. */
export const CAIP_2 = /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/

export const network = z
  .string()
  .regex(CAIP_2)
  .meta({ id: 'Network', description: 'CAIP-2: eip155:5042 is Arc, eip155:5042002 its testnet.' })

const ID_RULE = 'must be a whole number from 1'

export const endpointId = z.int(ID_RULE).min(1, ID_RULE)

export const seconds = z.int().meta({ id: 'UnixSeconds', description: 'Unix time in seconds.' })

export const time = z.iso.datetime().meta({ id: 'Time', description: 'ISO 8601, UTC.' })

export const method = z.enum(callMethods).meta({
  id: 'CallMethod',
  description: 'A method of HTTP, or `MCP` for a tool of an MCP server.',
})

/** The members of an endpoint that only a tool has. */
export const ofTool = {
  toolName: z.string().optional().describe('Of an MCP tool: its name at the server.'),
  transport: z.enum(mcpTransports).optional(),
}

export const pricing = z.enum(['fixed', 'metered'])

/** The state of an endpoint after its last probes. */
export const endpointStatus = z.enum(['live', 'unverified', 'failing'])

const byWindow = z.object({ '24h': z.int(), '7d': z.int(), '30d': z.int() })

export const usage = z
  .object({
    calls: byWindow.describe('Paid calls that were not refunded in full.'),
    payers: byWindow.describe(
      'Different payers of these calls who also paid another seller: with another owner, payout address and domain.',
    ),
    onlyHere: byWindow.describe(
      'The other payers of these calls. A seller can be all of them at no cost, so they count in no order.',
    ),
    topPayerShare: z
      .number()
      .nullable()
      .describe('Share of the calls in 30 days that the busiest payer made, 0 to 1.'),
    daily: z
      .array(z.int())
      .optional()
      .describe(
        'Paid calls of each of the last 30 days (UTC), the last one today. Absent in figures that an older version made.',
      ),
    successRate: z
      .number()
      .nullable()
      .optional()
      .describe('Share of the payments in 30 days that settled once they were sent, 0 to 1.'),
    settleP50Ms: z.number().nullable(),
    settleP95Ms: z.number().nullable(),
    firstPaid: seconds,
    lastPaid: seconds,
  })
  .meta({
    id: 'Usage',
    description:
      'Payments for the endpoint, or for the merchant as a whole, that settled here, net of refunds and without payments of the owner or the recipient to themselves. Absent or `null` where none is known, and where the payout address does not stand behind the owner.',
  })

export type Usage = AnswerOf<typeof usage>

/** The orders of a list: by the payments of 30 days, by price, by age. */
export const sorts = ['calls', 'payers', 'price', 'new', 'lastPaid'] as const
export type Sort = (typeof sorts)[number]
/** The orders of the cards of the console: also by what else a row shows. */
export const cardSorts = [...sorts, 'title', 'payments', 'delivered', 'success'] as const
export type CardSort = (typeof cardSorts)[number]

export const payToProof = z
  .enum(['owner', 'confirmation', 'operator'])
  .nullable()
  .describe(
    'The proof that the payout address stands behind the owner; `null` where there is none. Without it a listing stands below all others.',
  )

/** The members by which every public answer shows who stands behind a listing. */
export const standing = {
  claimed: z
    .boolean()
    .describe('Whether an owner lists it, for whom the payout address is proven.'),
  payToProof,
  warnings: z
    .array(
      z.object({
        path: z.string().describe('The field of the listing, such as `name` or `payTo`.'),
        code: z.enum(['pay_to_unproven', 'confusable_name']),
        message: z.string(),
      }),
    )
    .describe(
      '`pay_to_unproven`: anybody may have written the listing. `confusable_name`: a name in it looks like that of another merchant.',
    ),
}

export const anyObject = z.record(z.string(), z.unknown())

/** Example values of a call: parameters of the URL, a body, or arguments of a tool. */
export const callExample = z.object({
  pathParams: z
    .record(z.string(), z.string())
    .optional()
    .describe('Values of the places of the path, such as `id` of `/users/:id`.'),
  queryParams: anyObject.optional(),
  bodyType: z.enum(bodyTypes).optional().describe('`json` unless said.'),
  body: z.unknown().optional(),
  headers: anyObject.optional().describe('For buyers; Arcus never sends them.'),
  arguments: anyObject.optional().describe('Of an MCP tool.'),
})

/** The type of an answer, as its mapper writes it and the console reads it. */
export type AnswerOf<Schema extends z.ZodType> = Frozen<z.infer<Schema>>

/** A mapper may hand over what it must not change, so every member is read-only. */
type Frozen<Value> = Value extends readonly (infer Member)[]
  ? readonly Frozen<Member>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: Frozen<Value[Name]> }
    : Value
