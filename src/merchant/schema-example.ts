import { isPlainObject } from './inline-schema.js'

const textByFormat: Record<string, string> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  time: '12:00:00Z',
  email: 'name@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
}

/**
 * A value such as the schema describes, from its own examples and defaults where it has them; `undefined` when the
 * schema asks for what cannot be made up, as a pattern. Optional members appear only with an example of their own.
 */
export function exampleOf(schema: unknown): unknown {
  if (!isPlainObject(schema)) return undefined
  const stated = statedExample(schema)
  if (stated !== undefined) return stated
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'object' || isPlainObject(schema.properties)) return objectExample(schema)
  if (type === 'array') return arrayExample(schema)
  if (type === 'string') return textExample(schema)
  if (type === 'integer' || type === 'number') return numberExample(schema)
  if (type === 'boolean') return true
  return undefined
}

function statedExample(schema: Record<string, unknown>): unknown {
  const [first] = [schema.examples, schema.enum].filter(Array.isArray).flat()
  return schema.const ?? schema.example ?? first ?? schema.default
}

function objectExample(schema: Record<string, unknown>): unknown {
  const properties = isPlainObject(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? schema.required : []
  const example: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(properties)) {
    const isRequired = required.includes(name)
    const value = isRequired
      ? exampleOf(property)
      : statedExample(isPlainObject(property) ? property : {})
    if (value !== undefined) example[name] = value
    else if (isRequired) return undefined
  }
  return required.every((name) => Object.hasOwn(example, String(name))) ? example : undefined
}

function arrayExample(schema: Record<string, unknown>): unknown {
  const count = typeof schema.minItems === 'number' ? schema.minItems : 0
  if (count === 0) return []
  const item = exampleOf(schema.items)
  return count === 1 && item !== undefined ? [item] : undefined
}

function textExample({ format, pattern, minLength, maxLength }: Record<string, unknown>): unknown {
  if (pattern !== undefined) return undefined
  if (format !== undefined) return textByFormat[String(format)]
  const text = 'text'.padEnd(typeof minLength === 'number' ? minLength : 0, '.')
  return typeof maxLength === 'number' ? text.slice(0, maxLength) : text
}

function numberExample(schema: Record<string, unknown>): unknown {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  if (typeof multipleOf === 'number') return undefined
  const least = typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : minimum
  const most = typeof exclusiveMaximum === 'number' ? exclusiveMaximum - 1 : maximum
  if (typeof least === 'number') return least
  return typeof most === 'number' ? Math.min(1, most) : 1
}
