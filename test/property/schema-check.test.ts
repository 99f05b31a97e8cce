import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { checkSchema } from '../../src/directory/json-schema/schema-check.js'

/**
 * Another implementation of the standard, which compiles schemas and therefore takes long for those of strangers. It
 * departs from the standard in `contains` with `prefixItems` or `unevaluatedItems`, and in `if` below
 * `unevaluatedProperties` (it ignores an `if` without `then` and `else`). These are therefore left out here.
 */
const ajv = new Ajv2020({
  strict: false,
  validateFormats: false,
  ownProperties: true,
  logger: false,
})

function byAjv(schema: Record<string, unknown>, value: unknown): 'schema' | 'value' | undefined {
  try {
    return ajv.compile(schema)(value) ? undefined : 'value'
  } catch (error) {
    // The code that it makes of `not: true` next to other keywords names a variable that is not there.
    fc.pre(!(error instanceof ReferenceError))
    return 'schema'
  } finally {
    ajv.removeSchema(schema)
  }
}

const name = fc.constantFrom('a', 'b', 'c')
const leaf = fc.constantFrom(null, true, false, 0, 1, 2, 2.5, -1, '', 'a', 'ab', 'abc', '😀')
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(name, tie('any'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any

const count = fc.integer({ min: 0, max: 3 })
const types = fc.constantFrom('null', 'boolean', 'integer', 'number', 'string', 'array', 'object')
const names = fc.uniqueArray(name, { maxLength: 2 })
const pattern = fc.constantFrom('^a', 'b$', '.', '^[a-c]{2}$', '(a|b)+c', '\\u{1F600}', 'o')

const schema = fc.letrec<{ any: unknown; object: Record<string, unknown> }>((tie) => {
  const any = fc.oneof({ maxDepth: 2, depthIdentifier: 'schema' }, fc.boolean(), tie('object'))
  const several = fc.array(any, { minLength: 1, maxLength: 2 })
  const byName = fc.dictionary(name, any, { maxKeys: 2, noNullPrototype: true })
  const keywords: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 })),
    const: value,
    enum: fc.array(value, { minLength: 1, maxLength: 3 }),
    minimum: count,
    exclusiveMaximum: count,
    multipleOf: fc.constantFrom(1, 2, 0.5),
    minLength: count,
    maxLength: count,
    pattern,
    minItems: count,
    maxItems: count,
    uniqueItems: fc.boolean(),
    prefixItems: several,
    items: any,
    properties: byName,
    patternProperties: fc.dictionary(pattern, any, { maxKeys: 2, noNullPrototype: true }),
    additionalProperties: any,
    propertyNames: any,
    minProperties: count,
    maxProperties: count,
    required: names,
    dependentRequired: fc.dictionary(name, names, { maxKeys: 2, noNullPrototype: true }),
    dependentSchemas: byName,
    allOf: several,
    anyOf: several,
    oneOf: several,
    not: any,
    if: any,
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    then: any,
    else: any,
    unevaluatedProperties: any,
  }
  const entry = fc.oneof(
    ...Object.entries(keywords).map(([keyword, of]) => fc.tuple(fc.constant(keyword), of)),
  )
  return {
    any,
    object: fc.array(entry, { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  }
})

const reference = fc.constantFrom({}, { $ref: '#/$defs/a' }, { $ref: '#b' })
const rooted = fc
  .tuple(schema.object, reference, schema.any, schema.object)
  .map(([root, ref, a, b]) => ({ ...root, ...ref, $defs: { a, b: { ...b, $anchor: 'b' } } }))

it('a schema and a value are judged as another implementation of the standard judges them', () => {
  fc.assert(
    fc.property(rooted, value, (schema, value) => {
      const text = JSON.stringify(schema)
      fc.pre(!text.includes('"if"') || !text.includes('"unevaluatedProperties"'))
      const verdict = checkSchema(schema, value)
      expect(verdict.ok ? undefined : verdict.fault).toBe(byAjv(schema, value))
    }),
    { numRuns: 1_000 },
  )
}, 60_000)

// References that lead outside are refused before, by `schemaProblem`.
it('a keyword with a value of the wrong form is refused wherever that one refuses it', () => {
  const keywords = rooted.chain((it) =>
    fc.tuple(
      fc.constant(it),
      fc.constantFrom(
        ...Object.keys(it).filter((keyword) => keyword !== '$ref'),
        'title',
        '$comment',
      ),
      value,
    ),
  )
  fc.assert(
    fc.property(keywords, ([it, keyword, wrong]) => {
      const malformed = { ...it, [keyword]: wrong }
      const verdict = checkSchema(malformed, {})
      const isRefused = !verdict.ok && verdict.fault === 'schema'
      expect(isRefused).toBe(byAjv(malformed, {}) === 'schema')
    }),
    { numRuns: 200 },
  )
}, 60_000)

it('what an `if` that holds has looked at is evaluated, with and without `then`', () => {
  const open = { if: { properties: { a: { type: 'string' } }, required: ['a'] } }
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
  for (const schema of [open, { ...open, then: true }]) {
    const closed = { ...schema, unevaluatedProperties: false }
    expect(checkSchema(closed, { a: 'x' })).toEqual({ ok: true })
    expect(checkSchema(closed, { a: 1 })).toMatchObject({ ok: false, fault: 'value' })
    expect(checkSchema(closed, { a: 'x', b: 1 })).toMatchObject({ ok: false, fault: 'value' })
  }
})
