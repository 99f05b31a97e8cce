import { getAddress } from 'viem'
import { describe, expect, it } from 'vitest'
import { toCard, toItem } from '../../../../src/directory/discovery/item.js'
import type { Identity } from '../../../../src/directory/store/listings.js'
import { anEntry, aQuote, inEuros } from '../../../support/directory/a-catalog.js'

function anIdentity(isControlled: boolean): Identity {
  const check = { passed: true, detail: '', checkedAt: 1_000 }
  const control = { ...check, passed: isControlled }
  return {
    agentId: '0',
    registry: '0x8004000000000000000000000000000000000000',
    checks: { control, pay: check, file: check, domain: { ...check, passed: false } },
  }
}

describe('a discovery item', () => {
  it('has the members of the product specification', () => {
    const inputSchema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    }
    const entry = anEntry(
      { inputSchema, isHosted: true, pricing: 'metered' },
      { isOfficial: true, identity: anIdentity(true) },
    )
    expect(toItem(entry)).toEqual({
      resource: 'https://api.example.com/v1',
      type: 'http',
      x402Version: 2,
      accepts: [aQuote()],
      lastUpdated: 2_000,
      metadata: {
        title: 'Forecast',
        description: 'By city',
        provider: 'Weather House',
        merchant: {
          id: 'weather',
          name: 'Weather House',
          official: true,
          partner: false,
          claimed: true,
          payToProof: 'operator',
          warnings: [],
          identity: { agentId: '0' },
        },
        pricing: 'metered',
        price: '10000',
        priceUsd: '0.01',
        asset: '0x3600000000000000000000000000000000000000',
        symbol: 'USDC',
        currency: 'USD',
        hostedByArcus: true,
        input: { type: 'http', method: 'GET', queryParams: { city: 'Lisbon' } },
        inputSchema,
        output: { type: 'json' },
      },
      description: 'By city',
    })
  })

  it('in euros has no price in dollars, in a list of the console neither', () => {
    const entry = anEntry({ ...inEuros, price: 50_000n, accepts: [] })
    const euros = {
      price: '50000',
      asset: getAddress(inEuros.asset),
      symbol: 'EURC',
      currency: 'EUR',
    }
    expect(toItem(entry).metadata).toMatchObject(euros)
    expect(toItem(entry).metadata).not.toHaveProperty('priceUsd')
    const accepts = [aQuote({ amount: '1' }), aQuote({ asset: euros.asset, amount: '60000' })]
    const card = toCard(anEntry({ ...entry.endpoint, accepts }))
    expect(card).toMatchObject({ ...euros, livePrice: '60000', livePriceUsd: null })
    expect(card).not.toHaveProperty('priceUsd')
  })

  it('shows an offer of another rail whole, and counts its price only where there is no other', () => {
    const verifyingContract = '0x77777777Dcc4d5A8B6E418Fd04D8997ef11000eE'
    const extra = { name: 'GatewayWalletBatched', version: '1', verifyingContract }
    const accepts = [aQuote({ amount: '90000', extra }), aQuote({ amount: '10000' })]
    expect(toItem(anEntry({ accepts })).accepts).toEqual(accepts)
    expect(toCard(anEntry({ accepts })).livePrice).toBe('10000')
    expect(toCard(anEntry({ accepts: accepts.slice(0, 1) })).livePrice).toBe('90000')
  })

  it('says how to call a POST endpoint with its body', () => {
    const body = { text: 'hello', n: [1, { deep: null }] }
    const { metadata } = toItem(anEntry({ method: 'POST', example: { body } }))
    expect(metadata.input).toEqual({ type: 'http', method: 'POST', bodyType: 'json', body })
  })

  it('names an agent only while its owner is proven to control it', () => {
    const identityOf = (identity: Identity | null) =>
      toItem(anEntry({}, { agentId: '0', identity })).metadata.merchant.identity
    expect(identityOf(null)).toBeNull()
    expect(identityOf(anIdentity(false))).toBeNull()
    expect(identityOf(anIdentity(true))).toEqual({ agentId: '0' })
  })

  it('adds type, properties and required to a schema that leaves them out', () => {
    const schemaOf = (inputSchema: Record<string, unknown>) =>
      toItem(anEntry({ inputSchema })).metadata.inputSchema
    const none = { type: 'object', properties: {}, required: [] }
    expect(schemaOf({ type: 'object', title: 'Nothing' })).toEqual({ ...none, title: 'Nothing' })
    const properties = { city: { type: 'string' } }
    const closed = { type: 'object', additionalProperties: false, properties }
    expect(schemaOf(closed)).toEqual({ ...closed, required: [] })
  })

  it('has an input schema and an output even if the listing gave none', () => {
    const { metadata } = toItem(anEntry({ inputSchema: null, output: null }))
    expect(metadata.inputSchema).toEqual({
      type: 'object',
      properties: { city: {} },
      required: [],
    })
    expect(metadata.output).toEqual({ type: 'json' })
  })

  it('carries the optional members of the official packages if they are well formed', () => {
    const extras = {
      mimeType: 'application/json',
      serviceName: 'Weather',
      iconUrl: 'https://example.com/icon.png',
      extensions: { bazaar: { info: {} } },
    }
    const tags = ['weather']
    expect(toItem(anEntry({ extras, tags }))).toMatchObject({ ...extras, tags })
    const odd = {
      mimeType: 1,
      serviceName: {},
      iconUrl: null,
      extensions: ['bazaar'],
      resource: 'x',
    }
    const item = toItem(anEntry({ extras: odd, description: '' }))
    expect(Object.keys(item)).toEqual([
      'resource',
      'type',
      'x402Version',
      'accepts',
      'lastUpdated',
      'metadata',
    ])
    expect(item.resource).toBe('https://api.example.com/v1')
  })

  it('leaves hostile names of parameters unchanged', () => {
    const example = JSON.parse('{"queryParams":{"__proto__":{"x":1},"constructor":"y"}}')
    const json = JSON.parse(JSON.stringify(toItem(anEntry({ example }))))
    expect(Object.keys(json.metadata.input.queryParams)).toEqual(['__proto__', 'constructor'])
    expect(Object.keys(json.metadata.inputSchema.properties)).toEqual(['__proto__', 'constructor'])
  })
})
