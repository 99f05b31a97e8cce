import { z } from 'zod'

/*
 * What answers are made of, each described once.
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
  .meta({ id: 'Amount', description: 'Whole 6-decimal units of the stablecoin: 10000 is a cent.' })

export const usd = z
  .string()
  .regex(/^[0-9]+(\.[0-9]+)?$/)
  .meta({ id: 'Usd', description: 'Dollars as an exact decimal.' })

export const livePrice = amount
  .nullable()
  .describe(
    'What its 402 asked for when it was last seen live, the most of it where it asks for several; `null` where that is not known.',
  )

export const livePriceUsd = usd.nullable().describe('The same in dollars.')

export const network = z
  .string()
  .regex(/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/)
  .meta({ id: 'Network', description: 'CAIP-2: eip155:5042 is Arc, eip155:5042002 its testnet.' })

export const seconds = z.int().meta({ id: 'UnixSeconds', description: 'Unix time in seconds.' })

export const time = z.iso.datetime().meta({ id: 'Time', description: 'ISO 8601, UTC.' })

/** Any JSON object. */
export const anyObject = z.record(z.string(), z.unknown())
