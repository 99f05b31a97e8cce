import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getAddress } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { exportToFile, importMerchants } from '../../../src/cli/merchants/catalog-file.js'
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
import { anEndpoint, owner, payTo } from '../directory/listed-merchants.js'
import { buyback, enter, list, openStores, settings, write } from './operator-stores.js'

let stores: OperatorStores
let folder: string

beforeEach(() => {
  stores = openStores()
  folder = mkdtempSync(join(tmpdir(), 'merchants-'))
})

afterEach(async () => {
  await stores.close()
  rmSync(folder, { recursive: true })
})

const url = anEndpoint().url
const eurc = '0xbEf5f6d51CB62b58e6A8f77868681825C6fe21c1'
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
    expect(await stores.listings.scanMerchants('', 10)).toEqual([])
    expect(await stores.listings.changesAfter(before, 10)).toMatchObject([
      { merchantId: 'weather' },
    ])
    expect(await linesOf()).toContain(
      'weather  1 endpoint  hidden: "Sells nothing"  Merchant weather',
    )
    expect(await unhide(stores, 'weather')).toBe('weather is listed again')
    expect(await unhide(stores, 'weather')).toBe('weather was not hidden')
    expect(await stores.listings.scanMerchants('', 10)).toHaveLength(1)
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

describe('a file of merchants', () => {
  const path = () => join(folder, 'merchants.json')
  const plain = { isDryRun: false, replaces: false }

  /** Returns the published members of every merchant, without numbers and dates. */
  async function published(of: OperatorStores) {
    const all = []
    for (const id of ['entered', 'hidden', 'weather']) {
      const { createdAt, updatedAt, revision, ...kept } =
        (await of.listings.findMerchant(id)) ?? ({} as never)
      const endpoints = await of.listings.endpointsOf(id)
      all.push({
        ...kept,
        endpoints: endpoints.map(
          ({ id: _, lastUpdated, createdAt: __, status, probe, nextProbeAt, accepts, ...listed }) =>
            listed,
        ),
      })
    }
    return all
  }

  async function fill(of: OperatorStores) {
    await list(of.listings, 'weather')
    await list(of.listings, 'hidden', {
      endpoints: [anEndpoint({ extras: { mimeType: 'text/plain' } })],
    })
    await of.listings.setFlags('hidden', { hiddenReason: 'Fraud' }, 1_500)
    await enter(of.listings, 'entered')
  }

  it('copies every published member to another database, to be probed again', async () => {
    await fill(stores)
    expect(await exportToFile(stores, path())).toBe(`3 merchants written to ${path()}`)
    expect(readdirSync(folder)).toEqual(['merchants.json'])
    const other = openStores()
    expect(await importMerchants(other, path(), plain)).toBe(
      '3 added, 0 replaced; every endpoint is probed again',
    )
    expect(await published(other)).toEqual(await published(stores))
    const [entry] = await other.listings.dueEndpoints(2_000, 10)
    expect(entry?.endpoint).toMatchObject({
      accepts: [{ scheme: 'exact', amount: '10000', payTo: getAddress(payTo) }],
    })
    await other.close()
  })

  it('keeps the order of the catalog', async () => {
    for (const id of ['zebra', 'apple', 'mango']) await list(stores.listings, id)
    await write(stores.listings, 'zebra', { kind: 'link', agentId: '0' }, { revision: 2 })
    await exportToFile(stores, path())
    const other = openStores()
    await importMerchants(other, path(), plain)
    const entries = await other.listings.scanEntries(0, 10)
    expect(entries.map(({ merchant }) => merchant.id)).toEqual(['zebra', 'apple', 'mango'])
    await other.close()
  })

  it('leaves out hosted endpoints, which every service lists itself', async () => {
    await fill(stores)
    await enter(stores.listings, 'arcus')
    expect(await exportToFile(stores, path())).toBe(`3 merchants written to ${path()}`)
    const other = openStores()
    expect(await importMerchants(other, path(), plain)).toMatch(/^3 added, /)
    await other.close()
  })

  it('includes the confirmation of the payTo address, and the agent', async () => {
    const paidTo = '0x6666666666666666666666666666666666666666'
    await list(stores.listings, 'weather', { paidTo })
    const confirmation = { owner, payTo: paidTo }
    await write(stores.listings, 'weather', { kind: 'confirm', owner }, { by: paidTo, revision: 2 })
    await write(
      stores.listings,
      'weather',
      { kind: 'link', agentId: '0' },
      { by: owner, revision: 3 },
    )
    await exportToFile(stores, path())
    const other = openStores()
    await importMerchants(other, path(), plain)
    expect(await other.listings.findMerchant('weather')).toMatchObject({
      confirmation,
      agentId: '0',
    })
    await other.close()
    const old = JSON.parse(readFileSync(path(), 'utf8'))
    for (const filed of old.merchants) {
      delete filed.confirmation
      delete filed.agentId
    }
    writeFileSync(path(), JSON.stringify(old))
    await importMerchants(stores, path(), { ...plain, replaces: true })
    expect(await stores.listings.findMerchant('weather')).toMatchObject({
      confirmation,
      agentId: '0',
    })
  })

  it('includes the state of each endpoint', async () => {
    const probe = {
      verdict: 'unreachable',
      message: 'It did not answer.',
      warnings: [],
      seen: { status: null },
      checkedAt: 900,
    }
    const health = { status: 'failing' as const, failures: 4, probe }
    await list(stores.listings, 'weather', { endpoints: [anEndpoint(health)] })
    await exportToFile(stores, path())
    await importMerchants(stores, path(), { ...plain, replaces: true })
    expect(await theEndpoint()).toMatchObject({ ...health, nextProbeAt: 2_000 })
    const other = openStores()
    await importMerchants(other, path(), plain)
    const [entry] = await other.listings.dueEndpoints(2_000, 10)
    expect(entry?.endpoint).toMatchObject(health)
    await other.close()
  })

  it('removes no stored endpoints when it lists none', async () => {
    await list(stores.listings, 'weather')
    writeFileSync(path(), JSON.stringify(aFile([{ ...aMerchant(), endpoints: [] }])))
    await expect(importMerchants(stores, path(), { ...plain, replaces: true })).rejects.toThrow(
      'The file has no endpoints for weather',
    )
    expect(await theEndpoint()).toBeDefined()
  })

  it('writes nothing on a dry run', async () => {
    await fill(stores)
    await exportToFile(stores, path())
    const other = openStores()
    expect(await importMerchants(other, path(), { ...plain, isDryRun: true })).toBe(
      '3 would be added, 0 would be replaced; every endpoint would be probed again',
    )
    expect(await other.listings.lastChange()).toBe(0)
    await other.close()
  })

  it('replaces signed listings only with --replace', async () => {
    await fill(stores)
    await exportToFile(stores, path())
    const before = await stores.listings.lastChange()
    await expect(importMerchants(stores, path(), plain)).rejects.toThrow(
      'The owners of weather, hidden signed the stored listings: leave them out, or use --replace. Nothing was written.',
    )
    expect(await stores.listings.lastChange()).toBe(before)
    expect(await importMerchants(stores, path(), { ...plain, replaces: true })).toMatch(
      /^0 added, 3 replaced/,
    )
    expect((await merchant())?.revision).toBe(1)
  })

  const aMerchant = (over: object = {}, endpoint: object = {}) => ({
    id: 'weather',
    name: 'Weather',
    network: 'eip155:5042',
    asset: settings.MAINNET_ASSET,
    payTo,
    endpoints: [{ url, method: 'GET', title: 'Weather', price: '10000', ...endpoint }],
    ...over,
  })
  const aFile = (merchants: unknown) => ({ format: 'arcus-merchants', version: 1, merchants })

  it('keeps the token of each price, here and in the file', async () => {
    const euros = {
      ...settings,
      MAINNET_ASSET: '',
      MAINNET_ASSETS: `${settings.MAINNET_ASSET},${eurc}`,
    }
    const both = openStores(euros)
    writeFileSync(path(), JSON.stringify(aFile([aMerchant({}, { asset: eurc })])))
    expect(await importMerchants(both, path(), plain)).toMatch(/^1 added/)
    const inEuros = { asset: eurc.toLowerCase(), symbol: 'EURC', price: 10_000n }
    const [kept] = await both.listings.endpointsOf('weather')
    expect(kept).toMatchObject({ ...inEuros, accepts: [{ asset: eurc }] })
    await exportToFile(both, path())
    expect(await importMerchants(both, path(), plain)).toMatch(/^0 added, 1 replaced/)
    expect(await both.listings.endpointsOf('weather')).toMatchObject([inEuros])
    for (const [wish, problem] of [
      [{ asset: eurc, currency: 'USD' }, /endpoints\[0\]\.currency must be that of EURC: EUR/],
      [{ asset: eurc, symbol: 'USDC' }, /endpoints\[0\]\.symbol must be EURC/],
      [{ asset: buyback }, /endpoints\[0\]\.asset must be a stablecoin/],
    ] as const) {
      writeFileSync(path(), JSON.stringify(aFile([aMerchant({}, wish)])))
      await expect(importMerchants(both, path(), plain)).rejects.toThrow(problem)
    }
    await both.close()
  })

  it('needs only the members that a listing needs', async () => {
    writeFileSync(path(), JSON.stringify(aFile([aMerchant()])))
    expect(await importMerchants(stores, path(), plain)).toMatch(/^1 added/)
    expect((await theEndpoint())?.accepts).toMatchObject([
      { scheme: 'exact', amount: '10000', payTo: getAddress(payTo) },
    ])
    expect((await merchant())?.owner).toBeNull()
  })

  it.each([
    ['no JSON', '{', /is not JSON/],
    ['another format', { ...aFile([]), format: 'csv' }, /format must be "arcus-merchants"/],
    ['another version', { ...aFile([]), version: 2 }, /version must be "1"/],
    ['a list', [], /The file must be an object/],
    ['no merchants', aFile(undefined), /merchants is required/],
    [
      'unknown members',
      aFile([aMerchant({ verified: true })]),
      /merchants\[0\] has members that are not known here: "verified"/,
    ],
    ['a malformed id', aFile([aMerchant({ id: 'A B' })]), /merchants\[0\]\.id must be 3 to 40/],
    [
      'an id of the service',
      aFile([aMerchant({ id: 'signing' })]),
      /no name that the service reserves/,
    ],
    [
      "somebody else's found id",
      aFile([aMerchant({ id: `payto-${buyback}` })]),
      /id must be payto- and its payTo/,
    ],
    ['an id twice', aFile([aMerchant(), aMerchant()]), /merchants\[1\]\.id must not appear twice/],
    [
      'an endpoint twice',
      aFile([aMerchant({ endpoints: [1, 2].map(() => aMerchant().endpoints[0]) })]),
      /endpoints\[1\] must not be listed twice: GET https/,
    ],
    [
      'another network',
      aFile([aMerchant({ network: 'eip155:1' })]),
      /network must be eip155:5042, got "eip155:1"/,
    ],
    [
      'another asset',
      aFile([aMerchant({ asset: buyback })]),
      /asset must be a stablecoin of eip155:5042/,
    ],
    ['a bad payTo', aFile([aMerchant({ payTo: '0x12' })]), /payTo must be an address/],
    [
      'a mistyped payTo',
      aFile([aMerchant({ payTo: '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A66' })]),
      /payTo must be an address .* right checksum/,
    ],
    [
      'official without right',
      aFile([aMerchant({ isOfficial: true })]),
      /isOfficial must not be true: its payTo/,
    ],
    [
      'a bad URL',
      aFile([aMerchant({}, { url: 'ftp://x' })]),
      /merchants\[0\]\.endpoints\[0\]\.url must be an absolute URL/,
    ],
    [
      'a bad method',
      aFile([aMerchant({}, { method: 'OPTIONS' })]),
      /endpoints\[0\]\.method must be "GET" or "HEAD"/,
    ],
    [
      'a bad price',
      aFile([aMerchant({}, { price: '0.01' })]),
      /endpoints\[0\]\.price must be a whole number/,
    ],
    [
      'a price with a comma',
      aFile([aMerchant({}, { price: '0,01' })]),
      /endpoints\[0\]\.price must be a whole number/,
    ],
    [
      'a bad flag',
      aFile([aMerchant({}, { isHosted: 'yes' })]),
      /endpoints\[0\]\.isHosted must be a boolean/,
    ],
    [
      'strange extras',
      aFile([aMerchant({}, { extras: { html: '' } })]),
      /endpoints\[0\]\.extras must have no members but/,
    ],
    [
      'strange accepts',
      aFile([aMerchant({}, { accepts: [{}] })]),
      /endpoints\[0\]\.accepts\[0\] must be a payment requirement/,
    ],
    [
      'turned text',
      aFile([aMerchant({ name: 'a\u202eb' })]),
      /name must not contain the character U\+202E/,
    ],
  ])('with %s is refused as a whole', async (_, content, message) => {
    const json = typeof content === 'string' ? content : JSON.stringify(content)
    writeFileSync(path(), json)
    await expect(importMerchants(stores, path(), plain)).rejects.toThrow(message)
    expect(await stores.listings.lastChange()).toBe(0)
  })

  it('shows the first ten problems and counts the rest', async () => {
    const many = Array.from({ length: 30 }, (_, n) => aMerchant({ id: `m-${n}x`, payTo: '0x' }))
    writeFileSync(path(), JSON.stringify(aFile([aMerchant(), ...many])))
    const message = await importMerchants(stores, path(), plain).catch(
      (error: Error) => error.message,
    )
    expect(message).toMatch(/nothing was written:\n {2}merchants\[1\]\.payTo/)
    expect(message).toMatch(/\n {2}and 20 more$/)
  })

  it('is named when it does not exist', async () => {
    await expect(importMerchants(stores, join(folder, 'none.json'), plain)).rejects.toThrow(
      /none.json cannot be read/,
    )
    await expect(exportToFile(stores, join(folder, 'no', 'x.json'))).rejects.toThrow(
      /x.json cannot be written/,
    )
  })

  it('may have no merchants', async () => {
    await exportToFile(stores, path())
    expect(JSON.parse(readFileSync(path(), 'utf8'))).toEqual({
      format: 'arcus-merchants',
      version: 1,
      exportedAt: '1970-01-01T00:33:20.000Z',
      merchants: [],
    })
  })
})
