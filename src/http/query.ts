import { NAME } from '@arcus/protocol/answers/parameters'
import type { z } from 'zod'
import { httpFault, type RequestFault } from './errors.js'

/** The query of a URL as Fastify parses it: a parameter that is there twice is a list. */
export type RawQuery = Readonly<Record<string, unknown>>

/**
 * Reads a query by its schema. Throws a 400 that names the parameter and what it may be, also for one that is given
 * twice or as a list (`limit[]`).
 */
export function readQuery<Schema extends z.ZodObject>(schema: Schema, query: unknown) {
  const parsed = schema.safeParse(withLists(query as RawQuery, schema.shape))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  if (issue?.code === 'unrecognized_keys') {
    throw parameterFault(`${issue.keys.join(', ')} is not a parameter of this route.`)
  }
  const name = issue?.path.join('.') || 'The query'
  throw parameterFault(`${name} ${issue?.message.replace(NAME, name)}.`)
}

/** `limit[]` and `limit[0]` are a list of `limit`, where that is a parameter. */
function withLists(query: RawQuery, shape: Readonly<Record<string, unknown>>): RawQuery {
  const read: Record<string, unknown> = Object.create(null)
  for (const [key, value] of Object.entries(query)) {
    const [, list] = /^([^[]+)\[/.exec(key) ?? []
    if (list !== undefined && Object.hasOwn(shape, list)) read[list] = [value]
    else read[key] ??= value
  }
  return read
}

export function parameterFault(message: string): RequestFault {
  return httpFault('invalid_request', message)
}
