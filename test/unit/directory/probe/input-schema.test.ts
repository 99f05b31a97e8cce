import { expect, it } from 'vitest'
import { readInputSchema } from '../../../../src/directory/probe/payment-required.js'

const ofInput = (part: unknown, rest: object = {}, name = 'queryParams') => ({
  properties: { input: { properties: { [name]: part } } },
  ...rest,
})

it('is the part of the schema that describes the parameters, always of an object', () => {
  const part = { properties: { city: { type: 'string' } }, required: ['city'] }
  expect(readInputSchema(ofInput(part), 'GET')).toEqual({ ...part, type: 'object' })
  expect(readInputSchema(ofInput(part, {}, 'body'), 'POST')).toEqual({ ...part, type: 'object' })
})

it.each([
  ['says nothing', { type: 'object' }],
  ['is of another type', { type: 'string' }],
  ['is no schema of its own', true],
  ['is missing', undefined],
])('is none when that part %s', (_, part) => {
  expect(readInputSchema(ofInput(part), 'GET')).toBeNull()
})

it('is none of the other method', () => {
  expect(readInputSchema(ofInput({ properties: {} }), 'POST')).toBeNull()
})

it('takes the definitions along that its references name', () => {
  const $defs = { city: { type: 'string' } }
  const part = { type: 'object', properties: { city: { $ref: '#/$defs/city' } } }
  expect(readInputSchema(ofInput(part, { $defs }), 'GET')).toEqual({ ...part, $defs })
})

it.each(['#', '#/properties/input', '#city', '#/definitions/city'])(
  'is none when it refers to %s, which it would leave behind',
  ($ref) => {
    const part = { type: 'object', properties: { city: { $ref } } }
    const $defs = { city: { type: 'string' } }
    expect(readInputSchema(ofInput(part, { $defs, definitions: $defs }), 'GET')).toBeNull()
  },
)

it('is none when its definitions refer elsewhere', () => {
  const part = { type: 'object', properties: { city: { $ref: '#/$defs/city' } } }
  const $defs = { city: { $ref: '#/properties/output' } }
  expect(readInputSchema(ofInput(part, { $defs }), 'GET')).toBeNull()
})
