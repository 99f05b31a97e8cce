import { schemaProblem } from 'arcus-client/listing'
import { afterAll, describe, expect, it } from 'vitest'
import { createSchemaCheck } from '../../../../src/directory/listings/schema-check.js'

const schemas = createSchemaCheck()
/** For what is judged by what it says, however busy the machine is. */
const patient = createSchemaCheck(20_000)
afterAll(() => Promise.all([schemas.close(), patient.close()]))

const faultOf = async (schema: Record<string, unknown>, value: unknown = {}) => {
  const verdict = await schemas.check(schema, value)
  return verdict.ok ? undefined : verdict.fault
}

describe('a schema and its example', () => {
  it('agree, or the answer names the wrong one', async () => {
    const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }
    expect(await faultOf(schema, { a: 1 })).toBeUndefined()
    expect(await schemas.check(schema, { a: 'x' })).toEqual({
      ok: false,
      fault: 'value',
      message: '/a must be integer',
    })
    expect(await faultOf({ type: 'objekt' })).toBe('schema')
    expect(await faultOf({ type: 'object', $ref: '#/$defs/none' })).toBe('schema')
    expect(await faultOf({ type: 'object', pattern: '(' })).toBe('schema')
  })

  it('are checked by the rules of 2020-12: unknown keywords and formats mean nothing', async () => {
    expect(await faultOf({ type: 'object', 'x-note': 1, format: 'none' })).toBeUndefined()
    const tuple = { prefixItems: [{ type: 'string' }], items: false }
    expect(await faultOf({ properties: { a: tuple } }, { a: ['x', 1] })).toBe('value')
  })

  it('may have parameters with the names of keywords, or of what every object has', async () => {
    for (const name of ['$async', '$id', '$ref', '$schema', '$defs', 'toString', 'constructor']) {
      const schema = { type: 'object', properties: { [name]: { type: 'string' } } }
      expect(schemaProblem(schema)).toBeUndefined()
      expect(await faultOf(schema, {})).toBeUndefined()
      expect(await faultOf({ ...schema, required: [name] }, {})).toBe('value')
      expect(await faultOf({ ...schema, required: [name] }, { [name]: 'x' })).toBeUndefined()
      expect(await faultOf(schema, { [name]: 1 })).toBe('value')
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

  it('are told apart from earlier ones under the same anchors', async () => {
    const anchored = (type: string) => ({
      $defs: { a: { $anchor: 'a', type } },
      properties: { a: { $ref: '#a' } },
    })
    expect(await faultOf(anchored('string'), { a: 'x' })).toBeUndefined()
    expect(await faultOf(anchored('number'), { a: 'x' })).toBe('value')
  })
})

describe('schemas made to take for ever', () => {
  const doubling: Record<string, unknown> = { d80: { type: 'string' } }
  for (let level = 0; level < 80; level++) {
    const next = { $ref: `#/$defs/d${level + 1}` }
    doubling[`d${level}`] = { anyOf: [next, next] }
  }

  it.each([
    ['a pattern', { properties: { a: { pattern: '(a+)+$' } } }, { a: `${'a'.repeat(60)}!` }],
    ['references that double', { $defs: doubling, $ref: '#/$defs/d0' }, {}],
  ])('are given up, and never hold up the service: %s', async (_, schema, value) => {
    let turns = 0
    const timer = setInterval(() => turns++, 1)
    const [slow, next] = await Promise.all([
      faultOf(schema, value),
      faultOf({ type: 'object' }, {}),
    ])
    clearInterval(timer)
    expect([slow, next]).toEqual(['slow', undefined])
    // The thread takes half a second. This one goes on meanwhile: held up, it would have had no turn at all.
    expect(turns).toBeGreaterThan(5)
  })

  it('are refused when they refer to themselves without end', async () => {
    expect(await patient.check({ type: 'object', $ref: '#' }, {})).toEqual({
      ok: false,
      fault: 'schema',
      message: 'its references lead round in a circle',
    })
  })
})

it('is refused when five hundred wait', async () => {
  const verdicts = await Promise.all(
    Array.from({ length: 502 }, () => schemas.check({ type: 'object' }, {})),
  )
  const busy = verdicts.filter((verdict) => !verdict.ok && verdict.fault === 'busy')
  expect(busy).toHaveLength(1)
})
