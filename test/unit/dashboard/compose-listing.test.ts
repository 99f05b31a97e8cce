import { listingBody } from 'arcus-client/listing'
import { describe, expect, it } from 'vitest'
import { composeListing } from '../../../src/dashboard/pages/console/editor/compose-listing.js'
import type { ListingDraft } from '../../../src/dashboard/pages/console/editor/draft.js'
import { parseBody } from '../../../src/directory/listings/faults.js'
import { aDraft, anEndpointDraft, euros, merchantAddress, tokens } from './a-draft.js'

function problemsOf(draft: ListingDraft) {
  const composed = composeListing(draft)
  return composed.ok ? {} : composed.problems
}

describe('a valid draft', () => {
  it('becomes a listing that the service accepts', () => {
    const composed = composeListing(
      aDraft({
        endpoints: [
          anEndpointDraft({ tags: ' a, b ,a,', example: '{"city":"Lisbon"}' }),
          anEndpointDraft({ method: 'POST', example: '[1]', inputSchema: '{"type":"object"}' }),
        ],
      }),
    )
    if (!composed.ok) throw new Error(JSON.stringify(composed.problems))
    const { endpoints, payTo } = parseBody(listingBody, composed.listing)
    expect(payTo).toBe(merchantAddress.toLowerCase())
    expect(endpoints).toMatchObject([
      { price: 10_000n, tags: ['a', 'b'], example: { queryParams: { city: 'Lisbon' } } },
      { method: 'POST', example: { body: [1] }, inputSchema: { type: 'object' } },
    ])
  })
})

describe('a price in euros', () => {
  const inEuros = (price: string) =>
    composeListing(
      aDraft({ endpoints: [anEndpointDraft({ price, asset: euros.address })] }),
      tokens,
    )

  it('is signed with its token and its currency', () => {
    const composed = inEuros('€0,05')
    expect(composed).toMatchObject({
      ok: true,
      listing: { endpoints: [{ price: '50000', asset: euros.address, currency: 'EUR' }] },
    })
  })

  it('is refused beside the sign of other money', () => {
    const problems = {
      'endpoints[0].price': expect.stringContaining('is in EUR, and $ is the sign'),
    }
    expect(inEuros('$0.05')).toEqual({ ok: false, problems })
    expect(problemsOf(aDraft({ endpoints: [anEndpointDraft({ price: '€0.05' })] }))).toEqual({
      'endpoints[0].price': expect.stringContaining('is in USD, and € is the sign'),
    })
  })
})

describe('an invalid draft', () => {
  it.each<[string, Partial<ListingDraft>]>([
    ['id', { id: 'No' }],
    ['name', { name: '  ' }],
    ['name', { name: 'x'.repeat(61) }],
    ['description', { description: 'x'.repeat(1_001) }],
    ['payTo', { payTo: '0x12' }],
    ['payTo', { payTo: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A66' }],
    ['endpoints', { endpoints: [] }],
  ])('has a problem at %s', (path, wish) => {
    expect(Object.keys(problemsOf(aDraft(wish)))).toEqual([path])
  })

  it.each([
    ['url', { url: 'api.example.com' }],
    ['url', { url: 'ftp://api.example.com/x' }],
    ['title', { title: '' }],
    ['price', { price: '0' }],
    ['price', { price: 'cheap' }],
    ['tags', { tags: 'x'.repeat(33) }],
    ['example', { example: '{oops' }],
    ['example', { example: '[1]' }],
    ['inputSchema', { inputSchema: '{"type":"string"}' }],
  ])('has a problem at the %s of an endpoint', (field, wish) => {
    const problems = problemsOf(aDraft({ endpoints: [anEndpointDraft(wish)] }))
    expect(Object.keys(problems)).toEqual([`endpoints[0].${field}`])
  })

  it('has a problem at the second of two equal endpoints', () => {
    const twins = [anEndpointDraft(), anEndpointDraft({ url: 'https://API.example.com/quote' })]
    expect(Object.keys(problemsOf(aDraft({ endpoints: twins })))).toEqual(['endpoints[1].url'])
  })
})
