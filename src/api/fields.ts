import { z } from 'zod'

/*
 * The fields that several answers share. Each is described once.
 */
export const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .meta({ id: 'Address', description: 'An account, with EIP-55 checksum in answers.' })

export const hash = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/)
  .meta({ id: 'Hash', description: '32 bytes in lower-case hex.' })

export const amount = z
  .string()
  .regex(/^(0|[1-9][0-9]*)$/)
  .meta({
    id: 'Amount',
    description: 'Atomic units of the stablecoin (6 decimals): 10000 is a cent.',
  })

export const usd = z
  .string()
  .regex(/^[0-9]+(\.[0-9]+)?$/)
  .meta({ id: 'Usd', description: 'Dollars as an exact decimal.' })

export const livePrice = amount
  .nullable()
  .describe(
    'The price that its 402 asked for at the last probe, the highest of several; `null` if it is not known.',
  )

export const livePriceUsd = usd.nullable().describe('The same in dollars.')

export const network = z
  .string()
  .regex(/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/)
  .meta({ id: 'Network', description: 'CAIP-2: eip155:5042 is Arc, eip155:5042002 its testnet.' })

export const seconds = z.int().meta({ id: 'UnixSeconds', description: 'Unix time in seconds.' })

export const time = z.iso.datetime().meta({ id: 'Time', description: 'ISO 8601, UTC.' })

export const method = z.enum(['GET', 'POST'])

export const pricing = z.enum(['fixed', 'metered'])

/** The state of an endpoint after its last probes. */
export const endpointStatus = z.enum(['live', 'unverified', 'failing'])

/** Any JSON object. */
export const anyObject = z.record(z.string(), z.unknown())

/** Example arguments of a call: parameters of the URL for GET, a JSON body for POST. */
export const callExample = z.object({
  queryParams: anyObject.optional(),
  body: z.unknown().optional(),
})

/** The type of an answer, as its mapper writes it and the console reads it. */
export type AnswerOf<Schema extends z.ZodType> = Frozen<z.infer<Schema>>

/** A mapper may hand over what it must not change, so every member is read-only. */
type Frozen<Value> = Value extends readonly (infer Member)[]
  ? readonly Frozen<Member>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: Frozen<Value[Name]> }
    : Value
