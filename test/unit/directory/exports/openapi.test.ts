import { expect, it } from 'vitest'
import { rebaseSchema } from '../../../../src/directory/exports/openapi.js'

const base = '#/components/schemas/x'
const rebase = (schema: unknown) => rebaseSchema(schema, base)

it('moves references to places within the schema, however deep they stand', () => {
  expect(
    rebase({
      $defs: { a: { $ref: '#' } },
      properties: { b: { items: { anyOf: [{ $ref: '#/$defs/a' }] } } },
      if: { not: { $dynamicRef: '#/$defs/a' } },
    }),
  ).toEqual({
    $defs: { a: { $ref: base } },
    properties: { b: { items: { anyOf: [{ $ref: `${base}/$defs/a` }] } } },
    if: { not: { $ref: `${base}/$defs/a` } },
  })
})

it('leaves out references that lead elsewhere, and names that count for a whole document', () => {
  expect(
    rebase({
      $id: 'https://a.example/',
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $anchor: 'top',
      properties: {
        a: { $ref: 'https://a.example/b' },
        b: { $ref: 'file:///etc/passwd', type: 'string' },
        c: { $ref: '#top' },
        d: { $ref: 7 },
      },
    }),
  ).toEqual({ properties: { a: {}, b: { type: 'string' }, c: {}, d: {} } })
})

it('keeps data as data: a text like a reference in a value, or as the name of a property, stays', () => {
  const schema = {
    properties: { $ref: { type: 'string' }, $id: { type: 'string' }, items: { type: 'array' } },
    const: { $ref: '#/a' },
    enum: [{ $id: 'b' }],
    default: { $ref: 'https://a.example/' },
    examples: [{ $schema: 'c' }],
  }
  expect(rebase(schema)).toEqual(schema)
})

it('keeps a property named __proto__ one, and touches no prototype', () => {
  const schema = JSON.parse('{"properties":{"__proto__":{"type":"string","polluted":true}}}')
  expect(JSON.stringify(rebase(schema))).toBe(JSON.stringify(schema))
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
})

it('keeps boolean schemas and turns other values into a schema that accepts anything', () => {
  expect(rebase(true)).toBe(true)
  expect(rebase(false)).toBe(false)
  for (const nothing of [null, 'x', 1, []]) expect(rebase(nothing)).toEqual({})
})

it('ends at a depth no schema has', () => {
  let deep: Record<string, unknown> = {}
  for (let i = 0; i < 50_000; i++) deep = { not: deep }
  expect(JSON.stringify(rebase(deep)).length).toBeLessThan(1_000)
})
