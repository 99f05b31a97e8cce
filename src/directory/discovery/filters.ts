import type { browseQuery } from '@arcus/protocol/answers/discovery'
import type { z } from 'zod'
import type { SearchableEndpoint } from './endpoint-list.js'
import { fold } from './words.js'

/** Everything that narrows a search apart from words, as the query names it. An absent member narrows nothing. */
export type EndpointFilter = Partial<
  Omit<z.infer<typeof browseQuery>, 'limit' | 'query' | 'cursor' | 'sort'>
>

export type EndpointTest = (endpoint: SearchableEndpoint) => boolean

/** Returns whether the filter names a merchant or its payTo. Then all its endpoints are shown. */
function isAddressed({ merchant, payTo }: EndpointFilter): boolean {
  return merchant !== undefined || payTo !== undefined
}

/** Returns the test that an endpoint must pass to be found under the filter. The filter's merchant is no part of it. */
export function testOf(filter: EndpointFilter): EndpointTest {
  const { type, extensions: extension, tag, method, pricing, maxPrice } = filter
  const { verified, delivered, official, hasSchema } = filter
  const asset = filter.asset?.toLowerCase()
  const tests: EndpointTest[] = isAddressed(filter) ? [] : [({ isListed }) => isListed]
  if (type !== undefined) tests.push((endpoint) => typeOf(endpoint) === type)
  if (method !== undefined) tests.push((endpoint) => endpoint.method === method)
  if (pricing !== undefined) tests.push((endpoint) => endpoint.pricing === pricing)
  // An amount means nothing without its money: that of the filter, or else dollars.
  const isInDollars = maxPrice !== undefined && asset === undefined
  const currency = filter.currency?.toUpperCase() ?? (isInDollars ? 'USD' : undefined)
  if (currency !== undefined) tests.push((endpoint) => endpoint.currency === currency)
  if (maxPrice !== undefined) {
    tests.push(({ price }) => price <= maxPrice)
    if (currency === undefined) tests.push((endpoint) => endpoint.asset === asset)
  }
  if (verified !== undefined) tests.push(({ isLive }) => isLive === verified)
  if (delivered !== undefined) tests.push(({ isDelivered }) => isDelivered === delivered)
  if (official !== undefined) tests.push(({ merchant }) => merchant.isOfficial === official)
  if (hasSchema !== undefined) tests.push((endpoint) => endpoint.hasSchema === hasSchema)
  if (extension !== undefined) tests.push(({ extensions }) => extensions.includes(extension))
  if (tag !== undefined) tests.push(hasTag(tag))
  const isQuoted = quoteTest(filter)
  if (isQuoted !== undefined) tests.push(isQuoted)
  const [only] = tests
  return only !== undefined && tests.length === 1 ? only : (endpoint) => passes(tests, endpoint)
}

function typeOf({ method }: SearchableEndpoint): string {
  return method === 'MCP' ? 'mcp' : 'http'
}

function passes(tests: readonly EndpointTest[], endpoint: SearchableEndpoint): boolean {
  for (const test of tests) if (!test(endpoint)) return false
  return true
}

function hasTag(tag: string): EndpointTest {
  const folded = fold(tag)
  return ({ tags }) => tags.includes(folded)
}

/** One and the same entry of `accepts` must have all of them; addresses in any case of their letters. */
function quoteTest({ payTo, scheme, network, asset }: EndpointFilter): EndpointTest | undefined {
  const wanted = { payTo: payTo?.toLowerCase(), scheme, network, asset: asset?.toLowerCase() }
  const names = (['payTo', 'scheme', 'network', 'asset'] as const).filter(
    (name) => wanted[name] !== undefined,
  )
  if (names.length === 0) return undefined
  return ({ quotes }) => quotes.some((quote) => names.every((name) => quote[name] === wanted[name]))
}
