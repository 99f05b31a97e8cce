import fc from 'fast-check'

export type Schema = Record<string, unknown>

const MAX_DEPTH = 6

/** Values that nobody means: hostile texts, numbers at their edges, other types, nesting. */
const hostile = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    '',
    '\u0000',
    '../../etc/passwd',
    "'; DROP TABLE jobs; --",
    '<script>alert(1)</script>',
    '\ud800',
    '__proto__',
    'x'.repeat(5_000),
    -1,
    2 ** 53,
    1e308,
    [],
    {},
    [[[[]]]],
  ),
  fc.string({ maxLength: 40 }),
  fc.jsonValue({ maxDepth: 3 }),
)

/** Mostly what a schema asks for, and now and then, at any depth, something else. */
export function arbitraryOf(
  schema: Schema,
  components: Readonly<Record<string, Schema>>,
  depth = 0,
): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 9, arbitrary: fitting(schema, components, depth) },
    { weight: 1, arbitrary: hostile },
  )
}

function fitting(
  schema: Schema,
  components: Readonly<Record<string, Schema>>,
  depth: number,
): fc.Arbitrary<unknown> {
  const deeper = (it: unknown) => arbitraryOf(it as Schema, components, depth + 1)
  if (depth > MAX_DEPTH) return fc.constant(null)
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.replace('#/components/schemas/', '')
    return fitting(components[name] ?? {}, components, depth)
  }
  if ('const' in schema) return fc.constant(schema.const)
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (choices !== undefined) return fc.oneof(...choices.map(deeper))
  switch (schema.type) {
    case 'object':
      return fittingObject(schema, deeper)
    case 'array':
      return fc.array(deeper(schema.items ?? {}), { maxLength: 3 })
    case 'string':
      return fittingText(schema)
    case 'integer':
    case 'number':
      return fittingNumber(schema)
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    default:
      return hostile
  }
}

function fittingObject(schema: Schema, deeper: (it: unknown) => fc.Arbitrary<unknown>) {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
  if (properties.length === 0)
    return fc.dictionary(fc.string({ maxLength: 8 }), hostile, { maxKeys: 3 })
  const members = Object.fromEntries(properties.map(([name, it]) => [name, deeper(it)]))
  const required = (schema.required ?? []) as string[]
  return fc.record(members, { requiredKeys: required })
}

function fittingText({ pattern, minLength = 0, maxLength = 60, format }: Schema) {
  if (format === 'uri') return fc.webUrl()
  if (typeof pattern === 'string') {
    return fc.stringMatching(new RegExp(pattern.replace('(?!(exact|upto)$)', '')), {
      size: 'small',
    })
  }
  return fc.string({
    minLength: Number(minLength),
    maxLength: Math.max(Number(minLength), Math.min(Number(maxLength), 60)),
  })
}

function fittingNumber({ minimum = -(2 ** 31), maximum = 2 ** 31 }: Schema) {
  const bound = (value: unknown) => Math.max(-(2 ** 52), Math.min(2 ** 52, Number(value)))
  return fc.integer({ min: bound(minimum), max: bound(maximum) })
}
