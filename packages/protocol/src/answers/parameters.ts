import { z } from 'zod'

/*
 * The parameters of queries, whose values are texts on the wire. Metadata `wire` describes what the text means.
 */

/** Longest merchant id, address, scheme, network, tag or key in a query. */
const MAX_NAME_CHARS = 200

/** Stands in a message where the parameter's name belongs, because schemas do not know it. */
export const NAME = '{name}'

/** Returns the message for a parameter that is given twice or as a list. */
const once = (rule: string) => `must be given once, as ${NAME}=…; it must be ${rule}`

/** A text, with at most `maxChars` characters if that is given. `missing` is the message for a required one. */
export function textParameter(maxChars?: number, missing?: string) {
  const rule = maxChars === undefined ? 'a text' : `at most ${maxChars} characters`
  const text = z.string({
    error: ({ input }) => (input === undefined && missing !== undefined ? missing : once(rule)),
  })
  return maxChars === undefined ? text : text.max(maxChars, `must be ${rule}`)
}

/** A text that is not empty. */
export function nameParameter() {
  return textParameter(MAX_NAME_CHARS).min(1, 'must not be empty; leave it out instead')
}

/** Plain decimal digits, within the bounds. */
export function integerParameter({ min = 0, max = Number.MAX_SAFE_INTEGER } = {}) {
  const rule = `an integer from ${min} to ${max}`
  return z
    .string(once(rule))
    .regex(/^(0|[1-9][0-9]{0,15})$/, { error: `must be ${rule}`, abort: true })
    .transform(Number)
    .refine((number) => number >= min && number <= max, `must be ${rule}`)
    .meta({ wire: { type: 'integer', minimum: min, maximum: max } })
}

/**
 * The length of a page: plain decimal digits from 1 on. Crawlers ask for more than a page holds, and get as much as it does.
 */
export function limitParameter(max: number) {
  const rule = `an integer from 1 on; above ${max} it counts as ${max}`
  return z
    .string(once(rule))
    .regex(/^[1-9][0-9]*$/, `must be ${rule}`)
    .transform((digits) => Math.min(Number(digits), max))
    .meta({ wire: { type: 'integer', minimum: 1 } })
}

export function flagParameter() {
  return z
    .string(once('true or false'))
    .pipe(z.enum(['true', 'false'], 'must be true or false'))
    .transform((text) => text === 'true')
    .meta({ wire: { type: 'boolean' } })
}

export function choiceParameter<const Value extends string>(values: readonly Value[]) {
  const rule = values.join(' or ')
  return z
    .string(once(rule))
    .pipe(z.enum(values, `must be ${rule}`))
    .meta({ wire: { type: 'string', enum: values } })
}

export function dayParameter() {
  const rule = 'a day as YYYY-MM-DD'
  return z
    .string(once(rule))
    .pipe(z.iso.date(`must be ${rule}`))
    .meta({ wire: { type: 'string', format: 'date' } })
}

/** An address, which is read in lower case. */
export function addressParameter() {
  const rule = 'an address: 0x and 40 hex digits'
  return z
    .string(once(rule))
    .regex(/^0x[0-9a-fA-F]{40}$/, `must be ${rule}`)
    .transform((text) => text.toLowerCase() as `0x${string}`)
    .meta({ wire: { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' } })
}

/** An amount of atomic units, within the 256 bits that a token has for it. */
export function amountParameter() {
  const rule = 'an amount of atomic units: at most 78 decimal digits'
  return z
    .string(once(rule))
    .regex(/^(0|[1-9][0-9]{0,77})$/, `must be ${rule}`)
    .meta({ wire: { type: 'string', pattern: '^(0|[1-9][0-9]{0,77})$' } })
}

/** The place of a payment in a list: its time in Unix milliseconds, and its number. */
export function cursorParameter() {
  const rule = '`next` of a page'
  return z
    .string(once(rule))
    .regex(/^[0-9]{1,15}[.][0-9]{1,15}$/, `must be ${rule}`)
    .transform((text) => {
      const [at = 0, id = 0] = text.split('.').map(Number)
      return { at, id }
    })
    .meta({ wire: { type: 'string' } })
}
