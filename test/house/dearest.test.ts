import { routes } from '@arcus/protocol/answers/routes'
import { expect, it } from 'vitest'
import { dear, dearest } from '../../bench/dearest.js'
import { hostedEndpoints } from '../../src/hosted/endpoints.js'
import { readSources } from './source-files.js'

/** The route that a source registers by a literal, such as `app.get<Query>('/docs', …)`. */
const REGISTERED = /\bapp\.(get|post|put|patch|delete)(?:<[^(]*>)?\(\s*'(\/[^']*)'/g

/** Parameters are named differently in the table of routes. */
const nameless = (route: string) => route.replace(/\{\w+\}|:\w+/g, '{}')

const known = new Set(Object.keys(dear).map(nameless))

/** Says what to do about a route that nobody thought of as an attacker would. */
function missing(registered: readonly string[]): string[] {
  return registered
    .filter((route) => !known.has(nameless(route)))
    .map((route) => `${route} has no request in bench/dearest.ts: write the dearest one`)
}

it('every route of the table has its dearest request', () => {
  expect(missing(Object.keys(routes))).toEqual([])
  const stale = Object.keys(dearest).filter((route) => !(route in routes))
  expect(stale.map((route) => `${route} is no route any more: remove its request`)).toEqual([])
})

it('every other route that the service registers has one, pages and what is sold included', () => {
  const registered = readSources('src')
    .filter(({ room }) => !['console', 'devnet', 'cli'].includes(room))
    .flatMap(({ text }) => [...text.matchAll(REGISTERED)])
    .map(([, method = '', path]) => `${method.toUpperCase()} ${path}`)
  expect(registered.length).toBeGreaterThan(30)
  expect(missing(registered)).toEqual([])
  expect(missing(hostedEndpoints.map(({ method, path }) => `${method} ${path}`))).toEqual([])
})
