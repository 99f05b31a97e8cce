import { RequestFault } from './request-fault.js'

/** The query of a URL as Fastify parses it: a parameter that is there twice is a list. */
export type RawQuery = Readonly<Record<string, unknown>>

/**
 * Reads single parameters; each throws a 400 that names the parameter and its limit, also for one that is given twice or
 * as a list (`limit[]`). Parameters that nobody asks for are ignored, as x402 clients may send more than is known here.
 */
export interface ParameterReader {
  /** `undefined` when absent. Longest in characters; of any length unless given. */
  text(name: string, maxChars?: number): string | undefined
  /** Like `text`, but an empty one is refused. */
  name(name: string): string | undefined
  /** Plain decimal digits, within the bounds. */
  integer(name: string, bounds: { min: number; max: number }): number | undefined
  flag(name: string): boolean | undefined
  oneOf<Value extends string>(name: string, values: readonly Value[]): Value | undefined
}

/** Longest merchant id, address, scheme, network, tag or key that is looked for. */
const MAX_NAME_CHARS = 200

export function readParameters(query: RawQuery): ParameterReader {
  const lists = new Set(Object.keys(query).flatMap((key) => /^([^[]+)\[/.exec(key)?.[1] ?? []))

  /** The one value of a parameter; `rule` completes the sentence that refuses others. */
  function single(name: string, rule: string): string | undefined {
    const value = Object.hasOwn(query, name) ? query[name] : undefined
    const isRepeated = value !== undefined && typeof value !== 'string'
    if (isRepeated || lists.has(name)) {
      throw parameterFault(`${name} must be given once, as ${name}=…; it must be ${rule}.`)
    }
    return value as string | undefined
  }

  function text(name: string, maxChars = Number.POSITIVE_INFINITY): string | undefined {
    const rule = maxChars === Number.POSITIVE_INFINITY ? 'a text' : `at most ${maxChars} characters`
    const value = single(name, rule)
    if (value !== undefined && value.length > maxChars) {
      throw parameterFault(`${name} must be ${rule}.`)
    }
    return value
  }

  return {
    text,
    name(name) {
      const value = text(name, MAX_NAME_CHARS)
      if (value === '') throw parameterFault(`${name} must not be empty; leave it out instead.`)
      return value
    },
    integer(name, { min, max }) {
      const rule = `an integer from ${min} to ${max}`
      const value = single(name, rule)
      if (value === undefined) return undefined
      const number = /^(0|[1-9][0-9]{0,15})$/.test(value) ? Number(value) : Number.NaN
      if (number >= min && number <= max) return number
      throw parameterFault(`${name} must be ${rule}.`)
    },
    flag(name) {
      const value = single(name, 'true or false')
      if (value === undefined) return undefined
      if (value !== 'true' && value !== 'false') {
        throw parameterFault(`${name} must be true or false.`)
      }
      return value === 'true'
    },
    oneOf(name, values) {
      const rule = values.join(' or ')
      const value = single(name, rule)
      if (value === undefined) return undefined
      const known = values.find((it) => it === value)
      if (known === undefined) throw parameterFault(`${name} must be ${rule}.`)
      return known
    },
  }
}

export function parameterFault(message: string): RequestFault {
  return new RequestFault({ statusCode: 400, code: 'invalid_request', message })
}
