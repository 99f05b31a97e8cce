import type { Address } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  createAttributor,
  createPathIndex,
  digestQuery,
} from '../../../../src/directory/activity/attribution.js'
import type { IndexedEndpoint, Merchant } from '../../../../src/directory/store/listings.js'

const payTo: Address = '0x3333333333333333333333333333333333333333'
const otherPayTo: Address = '0x6666666666666666666666666666666666666666'
const owner: Address = '0x5555555555555555555555555555555555555555'
const weather = new URL('https://api.example.com/weather?city=Lisbon')

interface Listed {
  merchant: Merchant
  urls: string[]
}

let listed: Map<string, Listed>
let changes: string[]
let reads: number

beforeEach(() => {
  listed = new Map()
  changes = []
  reads = 0
})

function list(id: string, urls: string[], over: Partial<Merchant> = {}): void {
  const state = { hiddenReason: null, deletedAt: null, confirmation: null, isOfficial: false }
  const merchant = { id, owner: payTo, payTo, ...state, ...over } as Merchant
  listed.set(id, { merchant, urls })
  changes.push(id)
}

function anAttributor() {
  return createAttributor({
    merchantsPaidTo: async (address) => {
      const all = [...listed.values()].map(({ merchant }) => merchant)
      return all.filter((merchant) => merchant.payTo === address)
    },
    indexedOf: async (id) => {
      reads++
      const { urls } = listed.get(id) as Listed
      return urls.map((url, i) => ({ id: i + 1, url }) as IndexedEndpoint)
    },
    changeOf: async (id) => changes.lastIndexOf(id) + 1,
    lastChange: async () => changes.length,
  })
}

describe('an answer about a payment', () => {
  it('counts for the endpoint that is paid, else for the merchant, else for nobody', async () => {
    list('weather', ['https://api.example.com/forecast', 'https://api.example.com/weather'])
    const { find } = anAttributor()
    expect(await find(payTo, weather, { query: [] })).toEqual({
      merchantId: 'weather',
      endpointId: 2,
      owner: payTo,
    })
    const merchantOnly = { merchantId: 'weather', endpointId: null, owner: payTo }
    expect(await find(payTo, new URL('https://elsewhere.example/'))).toEqual(merchantOnly)
    expect(await find(payTo, undefined)).toEqual(merchantOnly)
    expect(await find(otherPayTo, weather)).toBeUndefined()
  })

  it('counts for the proven owner of the address: its key, a confirmed owner, the operator; else for the entry it may claim', async () => {
    const urls = ['https://api.example.com/weather']
    const foundId = `payto-${payTo}`
    list('hidden', urls, { hiddenReason: 'fraud' })
    list(foundId, urls, { owner: null })
    list('official', urls, { owner, isOfficial: true })
    list('confirmed', urls, { owner, confirmation: { owner, payTo } })
    list('own', urls)
    for (const merchantId of ['own', 'confirmed', 'official', foundId, 'hidden']) {
      expect(await anAttributor().find(payTo, weather)).toMatchObject({ merchantId })
      listed.delete(merchantId)
    }
  })

  it("never counts for a merchant that lists somebody else's address, alone or first", async () => {
    list('copy', ['https://api.example.com/weather'], { owner })
    expect(await anAttributor().find(payTo, weather)).toBeUndefined()
    list('own', [])
    expect(await anAttributor().find(payTo, weather)).toMatchObject({ merchantId: 'own' })
  })

  it('never counts for an owner or an address that were not the ones confirmed', async () => {
    const urls = ['https://api.example.com/weather']
    list('sold', urls, { owner, confirmation: { owner: otherPayTo, payTo } })
    list('moved', urls, { owner, confirmation: { owner, payTo: otherPayTo } })
    expect(await anAttributor().find(payTo, weather)).toBeUndefined()
  })

  it('counts where the URL is listed before it counts where it is not', async () => {
    list('own', ['https://api.example.com/forecast'])
    list('agency', ['https://api.example.com/weather'], {
      owner,
      confirmation: { owner, payTo },
    })
    expect(await anAttributor().find(payTo, weather)).toMatchObject({ merchantId: 'agency' })
  })

  it('has its endpoints read once, until its listing changes', async () => {
    list('weather', ['https://api.example.com/weather'])
    list('news', [], { owner: otherPayTo, payTo: otherPayTo })
    const attributor = anAttributor()
    await attributor.refresh()
    await attributor.find(payTo, weather)
    list('news', ['https://news.example/'], { owner: otherPayTo, payTo: otherPayTo })
    await attributor.refresh()
    await attributor.find(payTo, weather)
    expect(reads).toBe(1)
    list('weather', [])
    await attributor.refresh()
    expect(await attributor.find(payTo, weather)).toMatchObject({ endpointId: null })
    expect(reads).toBe(2)
  })

  it('follows a payout address that moves, and a listing that is new', async () => {
    list('weather', ['https://api.example.com/weather'])
    const attributor = anAttributor()
    await attributor.refresh()
    expect(await attributor.find(payTo, weather)).toBeDefined()
    expect(await attributor.find(otherPayTo, weather)).toBeUndefined()
    list('weather', ['https://api.example.com/weather'], { owner: otherPayTo, payTo: otherPayTo })
    await attributor.refresh()
    expect(await attributor.find(payTo, weather)).toBeUndefined()
    expect(await attributor.find(otherPayTo, weather)).toMatchObject({ endpointId: 1 })
    list('second', [])
    await attributor.refresh()
    expect(await attributor.find(payTo, weather)).toMatchObject({ merchantId: 'second' })
  })
})

const index = createPathIndex([
  { id: 1, url: 'https://api.example.com/weather' },
  { id: 2, url: 'https://api.example.com/search?kind=news' },
  { id: 3, url: 'https://api.example.com/search?kind=news&lang=en' },
  { id: 4, url: 'https://api.example.com/city/:name/today' },
  { id: 5, url: 'https://api.example.com/city/lisbon/today' },
  { id: 6, url: 'https://tools.example.com/mcp', toolName: 'tides' },
  { id: 7, url: 'https://tools.example.com/mcp', toolName: 'forecast' },
  { id: 8, url: 'https://one.example.com/mcp', toolName: 'tides' },
  { id: 9, url: 'https://both.example.com/' },
  { id: 10, url: 'https://both.example.com/', toolName: 'tides' },
])
const find = (url: string, toolName?: string) =>
  index.find(new URL(url), toolName, digestQuery(new URL(url)))

describe('the endpoint of a paid URL', () => {
  it('is the only tool of an MCP server, and none of several', () => {
    expect(find('https://one.example.com/mcp')).toBe(8)
    expect(find('https://tools.example.com/mcp')).toBeUndefined()
  })

  it('is the tool that the payment names, and no other tool', () => {
    expect(find('https://tools.example.com/mcp', 'tides')).toBe(6)
    expect(find('https://tools.example.com/mcp', 'forecast')).toBe(7)
    expect(find('https://tools.example.com/mcp', 'Tides')).toBeUndefined()
    expect(find('https://one.example.com/mcp', 'forecast')).toBeUndefined()
    expect(find('https://elsewhere.example.com/mcp', 'tides')).toBeUndefined()
    expect(find('https://both.example.com/', 'tides')).toBe(10)
    expect(find('https://both.example.com/', 'forecast')).toBe(9)
    expect(find('https://both.example.com/')).toBe(9)
  })

  it('is the one of its origin and path, whatever the query', () => {
    expect(find('https://api.example.com/weather')).toBe(1)
    expect(find('https://api.example.com/weather?city=Lisbon#now')).toBe(1)
    expect(find('https://api.example.com/weather/')).toBeUndefined()
    expect(find('https://other.example.com/weather')).toBeUndefined()
    expect(find('http://api.example.com/weather')).toBeUndefined()
  })

  it('is the one whose listed query the call carries most of', () => {
    expect(find('https://api.example.com/search?q=x&kind=news')).toBe(2)
    expect(find('https://api.example.com/search?lang=en&kind=news')).toBe(3)
    expect(find('https://api.example.com/search?kind=images')).toBeUndefined()
  })

  it('is none where only the lost query of the call would decide', () => {
    const findKept = (url: string, toolName?: string) => index.find(new URL(url), toolName)
    expect(findKept('https://api.example.com/search')).toBeUndefined()
    expect(findKept('https://api.example.com/weather')).toBe(1)
    expect(findKept('https://api.example.com/city/porto/today')).toBe(4)
    expect(findKept('https://tools.example.com/mcp', 'tides')).toBe(6)
  })

  it('is that of a template only where the path itself is not listed', () => {
    expect(find('https://api.example.com/city/porto/today')).toBe(4)
    expect(find('https://api.example.com/city/lisbon/today')).toBe(5)
    expect(find('https://api.example.com/city//today')).toBeUndefined()
    expect(find('https://api.example.com/city/porto/today/x')).toBeUndefined()
  })
})
