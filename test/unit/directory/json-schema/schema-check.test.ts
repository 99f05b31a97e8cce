import { schemaProblem } from '@arcus/protocol/listing/listing'
import { describe, expect, it, vi } from 'vitest'
import { checkSchema } from '../../../../src/directory/json-schema/schema-check.js'

const faultOf = (schema: Record<string, unknown>, value: unknown = {}) => {
  const verdict = checkSchema(schema, value)
  return verdict.ok ? undefined : verdict.fault
}

describe('a schema and its example', () => {
  it('agree, or the answer names the wrong one', () => {
    const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }
    expect(faultOf(schema, { a: 1 })).toBeUndefined()
    expect(checkSchema(schema, { a: 'x' })).toEqual({
      ok: false,
      fault: 'value',
      message: '/a must be integer',
    })
    expect(faultOf({ type: 'objekt' })).toBe('schema')
    expect(faultOf({ type: 'object', $ref: '#/$defs/none' })).toBe('schema')
    expect(faultOf({ type: 'object', pattern: '(' })).toBe('schema')
  })

  it('are checked by the rules of 2020-12: unknown keywords and formats mean nothing', () => {
    expect(faultOf({ type: 'object', 'x-note': 1, format: 'none' })).toBeUndefined()
    const tuple = { prefixItems: [{ type: 'string' }], items: false }
    expect(faultOf({ properties: { a: tuple } }, { a: ['x', 1] })).toBe('value')
  })

  it('may say how many items of a kind a list has', () => {
    const strings = { contains: { type: 'string' } }
    expect(faultOf(strings, [1, 'a'])).toBeUndefined()
    expect(faultOf(strings, [1])).toBe('value')
    expect(faultOf({ ...strings, prefixItems: [true] }, [])).toBe('value')
    expect(faultOf({ ...strings, minContains: 0 }, [])).toBeUndefined()
    expect(faultOf({ ...strings, minContains: 2, maxContains: 2 }, ['a', 1, 'b'])).toBeUndefined()
    expect(faultOf({ ...strings, maxContains: 1 }, ['a', 'b'])).toBe('value')
  })

  it('leave alone what a keyword has looked at, also in another schema for the same value', () => {
    const closed = { allOf: [{ properties: { a: true } }], unevaluatedProperties: false }
    expect(faultOf(closed, { a: 1 })).toBeUndefined()
    expect(faultOf(closed, { a: 1, b: 1 })).toBe('value')
    const list = { anyOf: [{ prefixItems: [{ const: 'x' }] }, true], contains: { const: 1 } }
    expect(faultOf({ ...list, unevaluatedItems: false }, ['x', 1])).toBeUndefined()
    expect(faultOf({ ...list, unevaluatedItems: false }, ['x', 1, 2])).toBe('value')
    expect(faultOf({ ...list, unevaluatedItems: false }, ['y', 1])).toBe('value')
  })

  it('may have parameters with the names of keywords, or of what every object has', () => {
    for (const name of ['$async', '$id', '$ref', '$schema', '$defs', 'toString', 'constructor']) {
      const schema = { type: 'object', properties: { [name]: { type: 'string' } } }
      expect(schemaProblem(schema)).toBeUndefined()
      expect(faultOf(schema, {})).toBeUndefined()
      expect(faultOf({ ...schema, required: [name] }, {})).toBe('value')
      expect(faultOf({ ...schema, required: [name] }, { [name]: 'x' })).toBeUndefined()
      expect(faultOf(schema, { [name]: 1 })).toBe('value')
    }
  })

  it('may have data that resembles keywords, but no keyword that leads outside', () => {
    const data = { $ref: 'https://evil.example/s.json', $async: true }
    for (const keyword of ['const', 'default']) {
      expect(schemaProblem({ properties: { a: { [keyword]: data } } })).toBeUndefined()
    }
    expect(schemaProblem({ enum: [data], examples: [data] })).toBeUndefined()
    for (const within of [
      { properties: { properties: data } },
      { properties: { a: { $defs: { const: data } } } },
      { items: [data] },
      { 'x-note': { deep: [data] } },
    ]) {
      expect(schemaProblem(within)).toMatch(/must not/)
    }
  })

  it('are distinguished from earlier ones under the same anchors', () => {
    const anchored = (type: string) => ({
      $defs: { a: { $anchor: 'a', type } },
      properties: { a: { $ref: '#a' } },
    })
    expect(faultOf(anchored('string'), { a: 'x' })).toBeUndefined()
    expect(faultOf(anchored('number'), { a: 'x' })).toBe('value')
  })
})

describe('a pattern', () => {
  const withPattern = (pattern: string, text: string) =>
    checkSchema({ properties: { a: { pattern } } }, { a: text })

  it.each([
    ['^[^@\\s]+@[a-z]+\\.[a-z]{2,}$', 'joe@example.com', 'joe'],
    ['^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6', 'f81d'],
    ['^.{0,1000}$', 'hello', `${'x'.repeat(2)}\n`],
    ['^\\p{L}+$', 'Lisboã', 'L1'],
    ['^[\\u{10000}-\\u{10FFFF}]$', '😀', 'a'],
    ['^(?<year>\\d{4})\\/\\d\\d$', '2026/11', '26/11'],
  ])('is one of ECMAScript: %s', (pattern, fitting, other) => {
    expect(withPattern(pattern, fitting)).toEqual({ ok: true })
    expect(withPattern(pattern, other)).toMatchObject({ ok: false, fault: 'value' })
  })

  it.each([
    ['(?=a)b', /no lookahead, lookbehind or backreference/],
    ['(?<!a)b', /no lookahead, lookbehind or backreference/],
    ['(a)\\1', /no lookahead, lookbehind or backreference/],
    ['\\p{Script=Greek}', /RE2/],
    ['a{2000}', /repeats up to 1000/],
    ['((a{30}){30}){30}', /too large/],
    ['a{900}(b)c{900}(d)e{900}', /too large/],
    ['(', /no regular expression/],
  ])('that cannot be checked is refused with the reason: %s', (pattern, reason) => {
    const refusal = { ok: false, fault: 'schema', message: expect.stringMatching(reason) }
    expect(withPattern(pattern, 'ab')).toEqual(refusal)
    expect(checkSchema({ patternProperties: { [pattern]: true } }, {})).toEqual(refusal)
  })
})

describe('a schema made to take for ever', () => {
  const doubling: Record<string, unknown> = { d80: { type: 'string' } }
  for (let level = 0; level < 80; level++) {
    const next = { $ref: `#/$defs/d${level + 1}` }
    doubling[`d${level}`] = { anyOf: [next, next] }
  }
  let deep: unknown = 1
  for (let level = 0; level < 24; level++) deep = { a: deep }
  const recursion = { properties: { a: { $ref: '#' } } }
  const many = (count: number, of: (index: number) => unknown) =>
    Array.from({ length: count }, (_, index) => of(index))

  // None of these would end within a test without the bound: they take 2^24 steps and more, or seconds to compile.
  it.each<[string, Record<string, unknown>, unknown]>([
    ['references that double', { $defs: doubling, $ref: '#/$defs/d0' }, {}],
    ['a tree that doubles', { anyOf: [{ ...recursion, required: ['z'] }, recursion] }, deep],
    [
      'a hundred patterns',
      { properties: { a: { allOf: many(100, (n) => ({ pattern: `^([a-z]{2}|${n}){9}$` })) } } },
      { a: 'x' },
    ],
    [
      'long texts measured by each of many',
      { properties: { a: { allOf: many(900, (n) => ({ minLength: n })) } } },
      { a: 'x'.repeat(8_000) },
    ],
    ['classes of Unicode', { properties: { a: { pattern: '[^\\p{L}]'.repeat(100) } } }, { a: 'x' }],
  ])('is given up: %s', (_, schema, value) => {
    expect(checkSchema(schema, value)).toEqual({
      ok: false,
      fault: 'work',
      message: 'it takes too much work to check',
    })
  })

  it('writes a long name once, however many rules complain about its value', () => {
    const name = '/~'.repeat(5_000)
    const complaint = { additionalProperties: { additionalProperties: { type: 'string' } } }
    const schema = { anyOf: [...many(200, () => complaint), complaint], type: 'object' }
    const written = vi.spyOn(String.prototype, 'replaceAll')
    const verdict = checkSchema(schema, { [name]: { b: 1 } })
    expect(verdict).toEqual({ ok: false, fault: 'value', message: 'it must match one of anyOf' })
    expect(written).not.toHaveBeenCalled()
    expect(checkSchema(complaint, { [name]: { '~': 1 } })).toMatchObject({ fault: 'value' })
    expect(written).toHaveBeenCalledTimes(4)
    written.mockRestore()
    expect(checkSchema(complaint, { 'a/b': { '~': 1 } })).toMatchObject({
      message: '/a~1b/~0 must be string',
    })
  })

  it.each([
    { minProperties: 501 },
    { additionalProperties: false },
    { propertyNames: false },
    { unevaluatedProperties: false },
  ])('reads the names of a large object once: %j', (leaf) => {
    const value = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`b${n}`, n]))
    const schema = { anyOf: [...many(200, () => ({ not: { not: leaf } })), true] }
    const read = vi.spyOn(Object, 'keys')
    const readBoth = vi.spyOn(Object, 'entries')
    expect(faultOf(schema, value)).toBeUndefined()
    const calls = [...read.mock.calls, ...readBoth.mock.calls]
    expect(calls.filter(([of]) => of === value)).toHaveLength(1)
    read.mockRestore()
    readBoth.mockRestore()
  })

  it('has no way to make a pattern go back in its text', () => {
    const schema = { properties: { a: { pattern: '^(a+)+$' } } }
    expect(faultOf(schema, { a: `${'a'.repeat(5_000)}!` })).toBe('value')
    expect(faultOf(schema, { a: 'a'.repeat(5_000) })).toBeUndefined()
  })

  it('is refused when it refers to itself without end', () => {
    for (const schema of [{ $ref: '#' }, { anyOf: [{ $ref: '#' }, { $ref: '#' }] }]) {
      expect(checkSchema({ type: 'object', ...schema }, {})).toEqual({
        ok: false,
        fault: 'schema',
        message: 'its references form a loop',
      })
    }
  })
})
