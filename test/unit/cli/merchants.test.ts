import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  hide,
  listMerchants,
  markHosted,
  markOfficial,
  markPartner,
  showMerchant,
  unhide,
} from '../../../src/cli/merchants/commands.js'
import type { OperatorStores } from '../../../src/cli/merchants/operator-stores.js'
import { anEndpoint, payTo } from '../directory/listed-merchants.js'
import { buyback, enter, list, openStores, settings } from './operator-stores.js'

let stores: OperatorStores

beforeEach(() => {
  stores = openStores()
})

afterEach(async () => {
  await stores.close()
})

const url = anEndpoint().url
const merchant = (id = 'weather') => stores.listings.findMerchant(id)
const theEndpoint = async (id = 'weather') => (await stores.listings.endpointsOf(id))[0]
const linesOf = async () => {
  const lines: string[] = []
  for await (const line of listMerchants(stores)) lines.push(line)
  return lines
}

describe('marks', () => {
  it('make official only a merchant that is paid at BUYBACK_ADDRESS, in any spelling', async () => {
    await list(stores.listings, 'weather')
    await list(stores.listings, 'own', { paidTo: buyback })
    await expect(markOfficial(stores, 'weather', true)).rejects.toThrow(
      `weather cannot be official: its payTo is ${payTo}, and BUYBACK_ADDRESS is ${buyback}.`,
    )
    expect((await merchant())?.isOfficial).toBe(false)
    expect(await markOfficial(stores, 'own', true)).toBe('own is official')
    expect((await merchant('own'))?.isOfficial).toBe(true)
    expect(await markOfficial(stores, 'own', false)).toBe('own is not official')
    expect((await merchant('own'))?.isOfficial).toBe(false)
  })

  it('make nobody official while BUYBACK_ADDRESS is unset', async () => {
    const without = openStores({ ...settings, BUYBACK_ADDRESS: '' })
    await list(without.listings, 'own', { paidTo: buyback })
    await expect(markOfficial(without, 'own', true)).rejects.toThrow(/BUYBACK_ADDRESS is not set/)
    expect(await markOfficial(without, 'own', false)).toBe('own is not official')
    await without.close()
  })

  it('make a partner, and show in list and show', async () => {
    await list(stores.listings, 'weather')
    await markPartner(stores, 'weather', true)
    expect(await linesOf()).toEqual([
      'weather  1 endpoint  partner  Merchant weather',
      '1 merchant',
    ])
    expect(await showMerchant(stores, 'weather')).toMatch(/marks +partner/)
    await markPartner(stores, 'weather', false)
    expect(await linesOf()).toEqual(['weather  1 endpoint  Merchant weather', '1 merchant'])
  })

  it('show found merchants as unclaimed, and entries of the operator as the operator’s', async () => {
    await enter(stores.listings, 'entered')
    await enter(stores.listings, `payto-${payTo}`)
    expect(await linesOf()).toEqual([
      'entered  1 endpoint  partner  entered',
      `payto-${payTo}  1 endpoint  unclaimed  partner  payto-${payTo}`,
      '2 merchants',
    ])
    expect(await showMerchant(stores, 'entered')).toMatch(/owner +the operator/)
    expect(await showMerchant(stores, `payto-${payTo}`)).toMatch(/owner +nobody yet/)
  })

  it('hide with a public reason, and record a change for a running service', async () => {
    await list(stores.listings, 'weather')
    const before = await stores.listings.lastChange()
    expect(await hide(stores, 'weather', '  Sells nothing ')).toBe(
      'weather is hidden: Sells nothing',
    )
    expect(await stores.listings.publishedIds(0, 10)).toEqual([])
    expect(await stores.listings.changesAfter(before, 10)).toMatchObject([
      { merchantId: 'weather' },
    ])
    expect(await linesOf()).toContain(
      'weather  1 endpoint  hidden: "Sells nothing"  Merchant weather',
    )
    expect(await unhide(stores, 'weather')).toBe('weather is listed again')
    expect(await unhide(stores, 'weather')).toBe('weather was not hidden')
    expect(await stores.listings.publishedIds(0, 10)).toHaveLength(1)
  })

  it.each([
    [undefined, /--reason/],
    [' ', /--reason/],
    ['a\u202eb', /U\+202E/],
    ['x'.repeat(201), /at most 200/],
  ])('do not hide for %j', async (reason, message) => {
    await list(stores.listings, 'weather')
    await expect(hide(stores, 'weather', reason)).rejects.toThrow(message)
    expect((await merchant())?.hiddenReason).toBeNull()
  })

  it('need an existing merchant', async () => {
    await expect(markPartner(stores, 'nobody', true)).rejects.toThrow(
      'There is no merchant "nobody"',
    )
    await expect(hide(stores, 'nobody', 'x')).rejects.toThrow('There is no merchant')
    await expect(showMerchant(stores, '__proto__')).rejects.toThrow('There is no merchant')
  })
})

describe('a hosted endpoint', () => {
  const target = { id: 'weather', url, method: undefined, isHosted: true }

  it('is found by its URL in any spelling', async () => {
    await list(stores.listings, 'weather')
    const shouted = url.replace('https://api.example.com', 'HTTPS://API.example.com:443')
    expect(await markHosted(stores, { ...target, url: shouted })).toBe(
      `GET ${url} of weather is hosted by Arcus`,
    )
    expect((await theEndpoint())?.isHosted).toBe(true)
    await markHosted(stores, { ...target, method: 'GET', isHosted: false })
    expect((await theEndpoint())?.isHosted).toBe(false)
  })

  it('needs its method when the URL is listed with both', async () => {
    const both = [anEndpoint(), anEndpoint({ method: 'POST', example: { body: {} } })]
    await list(stores.listings, 'weather', { endpoints: both })
    await expect(markHosted(stores, target)).rejects.toThrow(
      /with several methods: name the method/,
    )
    await markHosted(stores, { ...target, method: 'POST' })
    const hosted = (await stores.listings.endpointsOf('weather')).filter(({ isHosted }) => isHosted)
    expect(hosted).toMatchObject([{ method: 'POST' }])
  })

  it.each([
    [{ url: 'https://api.example.com/other' }, /lists no endpoint https/],
    [{ method: 'POST' }, /lists no endpoint POST https/],
    [{ method: 'MCP' }, /METHOD must be one of GET, HEAD/],
    [{ url: 'weather' }, /URL cannot be read/],
    [{ id: 'nobody' }, /There is no merchant/],
  ])('is not found by %j', async (change, message) => {
    await list(stores.listings, 'weather')
    await expect(markHosted(stores, { ...target, ...change })).rejects.toThrow(message)
  })
})
