import { describe, expect, it } from 'vitest'
import { composeListing } from '../../../src/dashboard/pages/console/editor/compose-listing.js'
import { diffListings, isUnchanged } from '../../../src/dashboard/pages/console/editor/diff.js'
import type { ListingDraft } from '../../../src/dashboard/pages/console/editor/draft.js'
import { aDraft, anEndpointDraft, euros, merchantAddress, tokens } from './a-draft.js'

function listing(wish: Partial<ListingDraft> = {}) {
  const composed = composeListing(aDraft(wish), tokens)
  if (!composed.ok) throw new Error(JSON.stringify(composed.problems))
  return composed.listing
}

describe('the changes of a signature', () => {
  it('are empty where only spelling differs', () => {
    const before = listing({ endpoints: [anEndpointDraft({ example: '{"a":1,"b":2}' })] })
    const after = listing({
      payTo: merchantAddress.toLowerCase(),
      endpoints: [anEndpointDraft({ example: '{"b":2, "a":1}', price: '0.010' })],
    })
    expect(isUnchanged(diffListings(before, after))).toBe(true)
  })

  it('are all fields of a new listing', () => {
    const diff = diffListings(undefined, listing())
    expect(diff.fields.map(({ field }) => field)).toEqual(['Name', 'Paid to'])
    expect(diff.endpoints).toMatchObject([
      { kind: 'added', name: 'GET https://api.example.com/quote' },
    ])
    expect(diff.changesPayTo).toBe(false)
  })

  it('show a price with its token', () => {
    const change = { price: '0.05', asset: euros.address }
    const before = listing({ endpoints: [anEndpointDraft({ price: '0.05' })] })
    const after = listing({ endpoints: [anEndpointDraft(change)] })
    expect(diffListings(before, after, tokens).endpoints).toMatchObject([
      { changes: [{ field: 'Price', before: '0.05 USDC', after: '0.05 EURC' }] },
    ])
  })

  it('are each endpoint that is new, gone or different, with old and new values', () => {
    const stays = anEndpointDraft({ url: 'https://api.example.com/stays' })
    const before = listing({ endpoints: [anEndpointDraft(), stays] })
    const after = listing({
      endpoints: [stays, anEndpointDraft({ method: 'POST' }), anEndpointDraft({ price: '0.02' })],
    })
    expect(diffListings(before, after).endpoints).toMatchObject([
      { kind: 'added', name: 'POST https://api.example.com/quote' },
      {
        kind: 'changed',
        name: 'GET https://api.example.com/quote',
        changes: [{ field: 'Price', before: '0.01 USDC', after: '0.02 USDC' }],
      },
    ])
    expect(diffListings(after, before).endpoints).toMatchObject([
      { kind: 'changed' },
      { kind: 'removed', name: 'POST https://api.example.com/quote' },
    ])
  })

  it('flag a new payout address', () => {
    const after = listing({ payTo: '0x90F79bf6EB2c4f870365E785982E1f101E93b906' })
    expect(diffListings(listing(), after).changesPayTo).toBe(true)
  })
})
