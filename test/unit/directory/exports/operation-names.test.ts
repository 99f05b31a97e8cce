import { expect, it } from 'vitest'
import { nameOperations } from '../../../../src/directory/exports/openapi.js'
import type { StoredEndpoint } from '../../../../src/directory/store/listings.js'

const names = (...endpoints: { title: string; url?: string }[]) =>
  nameOperations(endpoints.map((it) => ({ url: 'https://a.example/', ...it }) as StoredEndpoint))

it('makes a name of the title', () => {
  expect(names({ title: 'Weather for a city' })).toEqual(['weather_for_a_city'])
  expect(names({ title: '  Prévisions – Zürich! ' })).toEqual(['previsions_zurich'])
})

it('makes a name of the path when the title has no Latin letter, and always has a name', () => {
  expect(names({ title: '天気', url: 'https://a.example/v1/weather?x=1' })).toEqual(['v1_weather'])
  expect(names({ title: '天気' })).toEqual(['endpoint'])
})

it('gives every endpoint a name of its own, and never one that is taken', () => {
  expect(names({ title: 'Ask' }, { title: 'ask!' }, { title: 'ask 2' }, { title: 'ASK' })).toEqual([
    'ask',
    'ask_2',
    'ask_2_2',
    'ask_3',
  ])
})

it('stays within 64 characters, with a number too', () => {
  const long = { title: 'x'.repeat(100) }
  const [first, second] = names(long, long)
  expect(first).toBe('x'.repeat(64))
  expect(second).toBe(`${'x'.repeat(62)}_2`)
})

it('takes names with a meaning in JavaScript as plain names', () => {
  expect(names({ title: 'constructor' }, { title: '__proto__' })).toEqual(['constructor', 'proto'])
})
