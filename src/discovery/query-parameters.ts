import { RequestFault } from '../http/request-fault.js'

/** The query of a URL as Fastify parses it: a parameter that is there twice is a list. */
export type RawQuery = Readonly<Record<string, unknown>>

/** Reads single parameters; each throws a 400 that names the parameter and its limit. */
export interface ParameterReader {
  /** `undefined` when absent. Longest in characters. */
  text(name: string, maxChars: number): string | undefined
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
  function text(name: string, maxChars: number): string | undefined {
    const value = Object.hasOwn(query, name) ? query[name] : undefined
    if (value === undefined) return undefined
    if (typeof value !== 'string') throw parameterFault(`${name} must be given once.`)
    if (value.length > maxChars) {
      throw parameterFault(`${name} must be at most ${maxChars} characters.`)
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
      const value = text(name, MAX_NAME_CHARS)
      if (value === undefined) return undefined
      const number = /^(0|[1-9][0-9]{0,15})$/.test(value) ? Number(value) : Number.NaN
      if (number >= min && number <= max) return number
      throw parameterFault(`${name} must be an integer from ${min} to ${max}.`)
    },
    flag(name) {
      const value = text(name, MAX_NAME_CHARS)
      if (value === undefined) return undefined
      if (value !== 'true' && value !== 'false') {
        throw parameterFault(`${name} must be true or false.`)
      }
      return value === 'true'
    },
    oneOf(name, values) {
      const value = text(name, MAX_NAME_CHARS)
      if (value === undefined) return undefined
      const known = values.find((it) => it === value)
      if (known === undefined) throw parameterFault(`${name} must be ${values.join(' or ')}.`)
      return known
    },
  }
}

export function parameterFault(message: string): RequestFault {
  return new RequestFault({ statusCode: 400, code: 'invalid_request', message })
}
