import { type Address, type Hex, toHex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { EndpointHistory } from '../../../../src/directory/store/endpoint-history.js'
import type {
  ListingChange,
  ListingStore,
  MerchantRoster,
  SignedWrite,
} from '../../../../src/directory/store/listings.js'
import { speaksForPayTo } from '../../../../src/directory/store/ownership.js'
import { merchantJson, withUsage } from '../../../../src/directory/store/published.js'
import type { Engine } from '../../app/stores/store-contract.js'

const owner: Address = '0x1111111111111111111111111111111111111111'
const other: Address = '0x2222222222222222222222222222222222222222'
const payTo: Address = '0x3333333333333333333333333333333333333333'
const asset: Address = '0x3600000000000000000000000000000000000000'
const network = 'eip155:5042'

let store: ListingStore
let history: EndpointHistory
let roster: MerchantRoster
let nonces = 0

function aWrite(over: Partial<SignedWrite> = {}): SignedWrite {
  return {
    merchantId: 'weather',
    revision: 1,
    owner,
    nonce: toHex(++nonces, { size: 32 }),
    action: 'listing.create',
    message: '{}',
    body: '{}',
    signature: '0x00' as Hex,
    acceptedAt: 1_000,
    ...over,
  }
}

/** Renders the list of merchants from their rows. */
async function listNow() {
  const merchants = (await roster.scan('', 100)).map(({ merchant }) => merchant)
  const list = []
  for (const merchant of merchants) {
    const json = merchantJson(merchant, await store.endpointsOf(merchant.id))
    const isLast = Number(!speaksForPayTo(merchant))
    if (json !== null) list.push({ id: merchant.id, isLast, json: withUsage(json, null) })
  }
  return list.sort((a, b) => a.isLast - b.isLast)
}

type Save = Extract<ListingChange, { kind: 'save' }>

function anEndpoint(over: Partial<Save['endpoints'][number]> = {}): Save['endpoints'][number] {
  return {
    url: 'https://api.example.com/weather',
    method: 'GET',
    title: 'Weather',
    description: 'By city',
    pricing: 'fixed',
    price: 10_000n,
    asset,
    symbol: 'USDC',
    tags: [],
    example: { queryParams: { city: 'Lisbon' } },
    inputSchema: null,
    output: { type: 'json' },
    extras: {},
    accepts: [{ scheme: 'exact', network, amount: '10000' }],
    status: 'live',
    probe: { verdict: 'live', message: '', warnings: [], seen: {}, checkedAt: 1_000 },
    failures: 0,
    nextProbeAt: 2_000,
    ...over,
  }
}

function aSave(over: Partial<Save['merchant']> = {}, endpoints = [anEndpoint()]): Save {
  const merchant = { name: 'Weather', description: '', network, asset, payTo, ...over }
  return { kind: 'save', merchant, endpoints }
}

const save = (write: Partial<SignedWrite> = {}, change: ListingChange = aSave()) =>
  store.applyWrite(aWrite(write), change)

/** What every engine must do with listings. */
export function describeListings(name: string, open: () => Promise<Engine>): void {
  let engine: Engine
  beforeAll(async () => {
    engine = await open()
  })
  afterAll(() => engine.close())
  beforeEach(async () => {
    ;({ listings: store, history, roster } = await engine.empty())
  })
  afterEach(async () => {
    // Whatever a test did, the stored list of merchants is that of the rows.
    expect(await store.publishedAfter(undefined, 100)).toEqual(await listNow())
  })

  describe(`listings on ${name}`, () => {
    describe('a signed write', () => {
      it('creates the merchant, its endpoints, its history and a change to follow', async () => {
        expect(await save()).toMatchObject({ state: 'applied', merchant: { revision: 1, owner } })
        const entries = await store.scanEntries(0, 10)
        expect(entries).toHaveLength(1)
        expect(entries[0]).toMatchObject({
          merchant: { id: 'weather', name: 'Weather', isOfficial: false, identity: null },
          endpoint: { price: 10_000n, status: 'live', lastUpdated: 1_000, isHosted: false },
        })
        const [merchant] = await store.findMerchants(['nobody', 'weather'])
        expect(merchant).toEqual(await store.findMerchant('weather'))
        expect(await store.findMerchants(['nobody'])).toEqual([])
        expect(await store.historyOf('weather', 0, 10)).toHaveLength(1)
        expect(await store.changesAfter(0, 10)).toEqual([{ sequence: 1, merchantId: 'weather' }])
      })

      it('is read as it is published, in the order asked for', async () => {
        const described = anEndpoint({
          url: 'https://api.example.com/news',
          method: 'POST',
          title: 'News "of" \\ today',
          tags: ['news'],
          example: { body: { words: ['a', null, '\u2028'] } },
          inputSchema: { type: 'object', properties: { words: { type: 'array' } } },
          output: null,
          extras: { mimeType: 'text/plain' },
        })
        await save({}, aSave({}, [anEndpoint(), described]))
        const ids = (await store.endpointsOf('weather')).map(({ id }) => id).reverse()
        const entries = await store.entriesById(ids)
        const published = await store.publishedById([...ids, 123_456])
        expect(entries.map(({ merchant }) => merchant)).toMatchObject(
          published.map(({ merchant }) => merchant),
        )
        const read = published.map(({ endpoint }) => ({
          ...endpoint,
          price: BigInt(endpoint.price),
          tags: JSON.parse(endpoint.tags),
          example: JSON.parse(endpoint.example),
          inputSchema: endpoint.inputSchema && JSON.parse(endpoint.inputSchema),
          output: endpoint.output && JSON.parse(endpoint.output),
          extras: JSON.parse(endpoint.extras),
          accepts: JSON.parse(endpoint.accepts),
          isHosted: JSON.parse(endpoint.isHosted),
        }))
        expect(read.map(({ url }) => url)).toEqual([described.url, anEndpoint().url])
        const http = read.map(({ toolName: _, transport: __, ...rest }) => rest)
        expect(entries.map(({ endpoint }) => endpoint)).toMatchObject(http)
      })

      it('is refused when its nonce was used, whatever else it says', async () => {
        const write = aWrite()
        await store.applyWrite(write, aSave())
        expect(await store.applyWrite({ ...write, revision: 2 }, aSave())).toEqual({
          state: 'replayed',
        })
        expect(await store.historyOf('weather', 0, 10)).toHaveLength(1)
      })

      it('is refused out of order, and told the revision that stands', async () => {
        await save()
        expect(await save({ revision: 1 })).toEqual({ state: 'stale', revision: 1 })
        expect(await save({ revision: 3 })).toEqual({ state: 'stale', revision: 1 })
        expect(await save({ merchantId: 'fresh', revision: 2 })).toEqual({
          state: 'stale',
          revision: 0,
        })
      })

      it('wins once when two of the same revision come together', async () => {
        const results = await Promise.all([save(), save()])
        expect(results.map(({ state }) => state).sort()).toEqual(['applied', 'stale'])
      })

      it('is refused from anybody but the owner', async () => {
        await save()
        for (const change of [
          aSave(),
          { kind: 'delete' },
          { kind: 'link', agentId: '0' },
        ] as const) {
          expect(await save({ revision: 2, owner: other }, change)).toEqual({ state: 'notOwner' })
        }
      })

      it('changes nothing that is not there', async () => {
        expect(await save({}, { kind: 'delete' })).toEqual({ state: 'missing' })
        expect(await store.findMerchant('weather')).toBeUndefined()
      })
    })

    describe('lastUpdated', () => {
      const lastUpdated = async () =>
        (await store.scanEntries(0, 10)).map((it) => it.endpoint.lastUpdated)

      it('moves with what is published', async () => {
        await save()
        const change = aSave({}, [anEndpoint({ title: 'Weather now' })])
        await save({ revision: 2, acceptedAt: 1_500 }, change)
        expect(await lastUpdated()).toEqual([1_500])
        await save({ revision: 3, acceptedAt: 1_600 }, aSave({ name: 'Sky' }, change.endpoints))
        expect(await lastUpdated()).toEqual([1_600])
      })

      it('stays when the same is saved again, and keeps the number of the endpoint', async () => {
        await save()
        const [before] = await store.scanEntries(0, 10)
        await save({ revision: 2, acceptedAt: 1_500 })
        const [after] = await store.scanEntries(0, 10)
        expect(after?.endpoint).toEqual(before?.endpoint)
      })

      it('stays over a look that finds the same, and moves with another answer', async () => {
        await save()
        const [entry] = await store.scanEntries(0, 10)
        const id = entry?.endpoint.id as number
        const { accepts, extras } = anEndpoint()
        const health = {
          accepts,
          extras,
          status: 'live',
          probe: null,
          failures: 0,
          nextProbeAt: 9,
        } as const
        await store.saveProbe(id, { ...health }, 1_700)
        expect(await lastUpdated()).toEqual([1_000])
        expect(await store.lastChange()).toBe(1)
        await store.saveProbe(id, { ...health, accepts: [{ amount: '20000' }] }, 1_800)
        expect(await lastUpdated()).toEqual([1_800])
        expect(await store.lastChange()).toBe(2)
        const told = { extensions: { bazaar: { info: {} } } }
        await store.saveProbe(id, { ...health, extras: told }, 1_900)
        expect(await lastUpdated()).toEqual([1_900])
        expect(await store.entriesById([id])).toMatchObject([{ endpoint: { extras: told } }])
      })

      it('moves at each change, also of the same second', async () => {
        await save()
        await save({ revision: 2 }, aSave({}, [anEndpoint({ title: 'Sky' })]))
        expect(await lastUpdated()).toEqual([1_001])
        const [entry] = await store.scanEntries(0, 10)
        const dearer = anEndpoint({ accepts: [{ amount: '20000' }] })
        await store.saveProbe(entry?.endpoint.id as number, dearer, 1_000)
        expect(await lastUpdated()).toEqual([1_002])
      })

      it('moves when the agent is shown or no more, and no other check of it is a change', async () => {
        await save()
        await save({ revision: 2 }, { kind: 'link', agentId: '0' })
        const look = (agentId: string, passed: boolean, now: number) => {
          const check = { passed, detail: '', checkedAt: now }
          const checks = { control: check, pay: check, file: check, domain: check }
          return store.saveIdentity('weather', { agentId, registry: other, checks }, now)
        }
        await look('0', true, 1_700)
        expect(await lastUpdated()).toEqual([1_700])
        expect(await store.lastChange()).toBe(3)
        // Checked again, and one who was linked before and read too late.
        await look('0', true, 1_800)
        await look('7', true, 1_900)
        expect(await lastUpdated()).toEqual([1_700])
        expect(await store.lastChange()).toBe(3)
        const { identity } = (await store.findMerchant('weather')) ?? {}
        expect(identity).toMatchObject({ agentId: '0', checks: { pay: { checkedAt: 1_800 } } })
        await look('0', false, 2_000)
        expect(await lastUpdated()).toEqual([2_000])
        expect(await store.lastChange()).toBe(4)
      })

      it('stays when the operator lists the same again, and moves with his marks', async () => {
        const merchant = { ...aSave().merchant, id: 'arcus', owner: null, hiddenReason: null }
        const put = (isOfficial: boolean, now: number) => {
          const marks = { isOfficial, isPartner: false }
          return store.saveByOperator({ ...merchant, ...marks }, [hosted], now)
        }
        const hosted = { ...anEndpoint(), isHosted: true }
        await put(true, 1_000)
        await put(true, 1_500)
        expect(await lastUpdated()).toEqual([1_000])
        await put(false, 1_600)
        expect(await lastUpdated()).toEqual([1_600])
      })

      it('moves when an item says that it is live no more', async () => {
        await save()
        const [entry] = await store.scanEntries(0, 10)
        await store.saveProbe(
          entry?.endpoint.id as number,
          anEndpoint({ status: 'failing' }),
          1_900,
        )
        expect(await lastUpdated()).toEqual([1_900])
      })
    })

    describe('ownership', () => {
      it('passes in two steps, and takes agent and marks away', async () => {
        await save()
        await save({ revision: 2 }, { kind: 'link', agentId: '0' })
        await store.setFlags('weather', { isOfficial: true, isPartner: true }, 1_000)
        const offer = { kind: 'offer', to: other, until: 2_000 } as const
        expect(await save({ revision: 3 }, offer)).toMatchObject({
          merchant: { owner, offer: { to: other } },
        })
        const accept = { kind: 'accept' } as const
        expect(await save({ revision: 4 }, accept)).toEqual({ state: 'notOffered' })
        const late = { revision: 4, owner: other, acceptedAt: 2_000 }
        expect(await save(late, accept)).toEqual({ state: 'notOffered' })
        expect(await save({ ...late, acceptedAt: 1_999 }, accept)).toMatchObject({
          merchant: {
            owner: other,
            offer: null,
            agentId: null,
            isOfficial: false,
            isPartner: false,
          },
        })
        expect(await save({ revision: 5 })).toEqual({ state: 'notOwner' })
      })

      it('of a deleted id stays with its owner, and its revisions go on', async () => {
        await save()
        expect(await save({ revision: 2 }, { kind: 'delete' })).toMatchObject({ state: 'applied' })
        expect(await store.scanEntries(0, 10)).toEqual([])
        expect(await save({ revision: 3, owner: other })).toEqual({ state: 'notOwner' })
        expect(await save({ revision: 1 })).toEqual({ state: 'stale', revision: 2 })
        expect(await save({ revision: 3 })).toMatchObject({
          merchant: { revision: 3, deletedAt: null },
        })
        expect(await store.scanEntries(0, 10)).toHaveLength(1)
      })
    })

    describe('templates of a path', () => {
      const at = 'https://api.example.com'
      const urls = [
        '/purchase/:id',
        '/purchase/:id/lines/:line',
        '/:any/5',
        '/purchase/5',
        '/purchase/:',
      ]
      const formsOf = async (path: string, method?: 'GET' | 'POST') =>
        (await store.findTemplates({ url: `${at}${path}`, method }, 10)).map(({ endpoint }) =>
          endpoint.url.slice(at.length),
        )

      it('are found by any path of their form, live ones first, and by no other', async () => {
        const endpoints = urls.map((path) => anEndpoint({ url: `${at}${path}` }))
        const first = { ...(endpoints[0] as (typeof endpoints)[0]), status: 'failing' as const }
        const elsewhere = anEndpoint({ url: 'https://api.example.co/purchase/:id' })
        await save({}, aSave({}, [first, ...endpoints.slice(1), elsewhere]))
        expect(await formsOf('/purchase/5')).toEqual(['/:any/5', '/purchase/:id'])
        expect(await formsOf('/purchase/:id')).toEqual(['/purchase/:id'])
        expect(await formsOf('/purchase/7/lines/8')).toEqual(['/purchase/:id/lines/:line'])
        for (const path of ['/', '/purchase', '/purchase/', '/sale/6', '/purchase/5/6']) {
          expect(await formsOf(path), path).toEqual([])
        }
        expect(await formsOf('/purchase/6', 'POST')).toEqual([])
        expect(await formsOf(`/purchase${'/x'.repeat(900)}`)).toEqual([])
      })
    })

    describe('what is found in payments', () => {
      const found = { id: `payto-${payTo}`, name: '0x3333…3333', network, asset, payTo }
      const see = (over = {}, evicted?: number) =>
        store.saveUnclaimed(found, anEndpoint({ probe: null, ...over }), 1_000, evicted)
      const theId = async () => (await store.scanEntries(0, 10))[0]?.endpoint.id as number

      it('is listed without an owner, in the words of the first payment', async () => {
        expect(await see()).toEqual({ state: 'added', endpointId: 1 })
        expect(await see({ title: 'Forecast' })).toEqual({ state: 'known' })
        const [entry] = await store.scanEntries(0, 10)
        expect(entry).toMatchObject({ merchant: { owner: null }, endpoint: { title: 'Weather' } })
      })

      it('is put in place of one that failed, and keeps its number', async () => {
        await see()
        await store.saveProbe(await theId(), anEndpoint({ status: 'failing' }), 1_500)
        expect(await see({ title: 'Forecast', status: 'unverified' })).toEqual({
          state: 'renewed',
          endpointId: 1,
        })
        const [entry] = await store.scanEntries(0, 10)
        expect(entry?.endpoint).toMatchObject({ title: 'Forecast', status: 'unverified' })
      })

      it('has only what was looked at in vain give way', async () => {
        const other = (path: string) => ({ url: `https://api.example.com/${path}` })
        await see()
        await see(other('two'), 1)
        expect(await store.scanEntries(0, 10)).toHaveLength(2)
        await store.saveProbe(1, anEndpoint({ status: 'live' }), 1_500)
        await see(other('three'), 1)
        expect(await store.scanEntries(0, 10)).toHaveLength(3)
        await store.saveProbe(1, anEndpoint({ status: 'failing' }), 1_600)
        await see(other('four'), 1)
        const ids = (await store.scanEntries(0, 10)).map(({ endpoint }) => endpoint.id)
        expect(ids).toEqual([2, 3, 4])
      })

      it('stands beside the listing of an owner who is paid elsewhere and was never answered', async () => {
        const elsewhere = (status: 'live' | 'unverified') =>
          aSave({ payTo: other }, [anEndpoint({ status })])
        await save({ owner: other }, elsewhere('live'))
        expect(await see()).toEqual({ state: 'owned' })
        await save({ owner: other, revision: 2 }, elsewhere('unverified'))
        expect(await see()).toMatchObject({ state: 'added' })
      })

      it('stands beside the listing of a stranger, and gives way once the key that is paid confirms it', async () => {
        await save()
        expect(await see()).toMatchObject({ state: 'added' })
        const ids = async () => (await store.scanEntries(0, 10)).map(({ merchant }) => merchant.id)
        expect(await ids()).toEqual(['weather', found.id])
        await save({ revision: 2, owner: payTo }, { kind: 'confirm', owner })
        expect(await ids()).toEqual(['weather'])
        expect(await see()).toEqual({ state: 'owned' })
      })

      it('never goes over the listing of an owner', async () => {
        await save({ owner: payTo })
        expect(await see()).toEqual({ state: 'owned' })
        expect(await store.scanEntries(0, 10)).toHaveLength(1)
      })

      it('is claimed by the key that is paid, by nobody else', async () => {
        await see()
        const claim = { merchantId: found.id, revision: 1 }
        expect(await save({ ...claim, owner: other })).toEqual({ state: 'notOwner' })
        expect(await save({ ...claim, owner: payTo })).toMatchObject({ merchant: { owner: payTo } })
        expect(await see({ title: 'Mine now' })).toEqual({ state: 'owned' })
      })
    })

    describe('a name', () => {
      /** Saves a listing of an owner who is paid at their own address, unless said. */
      const list = (id: string, name: string, by: Address, over: Partial<Save['merchant']> = {}) =>
        save({ merchantId: id, owner: by }, aSave({ name, payTo: by, ...over }))
      const likeOf = async (id: string) => (await store.findMerchant(id))?.nameLike
      const flag = (id: string, flags: Parameters<ListingStore['setFlags']>[1]) =>
        store.setFlags(id, flags, 1_200)

      it('that shows the one of a proven merchant is marked, whichever way it shows it', async () => {
        await list('tides', 'Tide Tables', owner)
        for (const [i, name] of [
          'Tide tables',
          'Tidetables Pro',
          'Тide Таbles',
          'My T.ide Tables',
        ].entries()) {
          await list(`copy-${i}`, name, other)
          expect(await likeOf(`copy-${i}`)).toEqual({ merchantId: 'tides', path: 'name' })
        }
        for (const [i, name] of ['Tide and tables', 'Tables', 'Riptide Tables'].entries()) {
          await list(`honest-${i}`, name, other)
          expect(await likeOf(`honest-${i}`)).toBeNull()
        }
        await list('tides-2', 'Tide Tables 2', owner)
        expect(await likeOf('tides-2')).toBeNull()
        expect(await likeOf('tides')).toBeNull()
      })

      it('that the operator vouches for is protected from older ones too, until it is gone', async () => {
        await list('copy', 'Acme Pay', other)
        await list('acme', 'Acme', owner)
        expect(await likeOf('copy')).toBeNull()
        await flag('acme', { isPartner: true })
        expect(await likeOf('copy')).toEqual({ merchantId: 'acme', path: 'name' })
        await flag('acme', { hiddenReason: 'fraud' })
        expect(await likeOf('copy')).toBeNull()
        await flag('acme', { hiddenReason: null })
        expect(await likeOf('copy')).toMatchObject({ merchantId: 'acme' })
        await save({ merchantId: 'acme', owner, revision: 2 }, { kind: 'delete' })
        expect(await likeOf('copy')).toBeNull()
      })

      it('in a title, or of the service of a 402, is marked where it is one that the operator vouches for', async () => {
        await list('acme', 'Acme', owner)
        await flag('acme', { isOfficial: true })
        const titled = (title: string) =>
          save(
            { merchantId: `t-${title.length}`, owner: other },
            aSave({ name: 'Shop', payTo: other }, [anEndpoint({ title })]),
          )
        await titled('Quotes by Αcme')
        expect(await likeOf('t-14')).toEqual({ merchantId: 'acme', path: 'endpoints[0].title' })
        await titled('Pacmen')
        expect(await likeOf('t-6')).toBeNull()
        await titled('Quotes ✓')
        expect(await likeOf('t-8')).toEqual({ merchantId: 't-8', path: 'endpoints[0].title' })
        const [endpoint] = await store.endpointsOf('t-6')
        const health = anEndpoint({ extras: { serviceName: 'ACME' } })
        await store.saveProbe(endpoint?.id ?? 0, health, 1_300)
        expect(await likeOf('t-6')).toEqual({
          merchantId: 'acme',
          path: 'endpoints[0].serviceName',
        })
      })
    })

    describe('the operator', () => {
      it('loses his mark on an official merchant that is paid elsewhere from now on', async () => {
        await save()
        await store.setFlags('weather', { isOfficial: true }, 1_200)
        await save({ revision: 2 }, aSave({ payTo: other }))
        expect(await store.findMerchant('weather')).toMatchObject({ isOfficial: false })
      })

      it('carries over what owners signed elsewhere, and leaves what he does not speak of', async () => {
        const marks = { isOfficial: false, isPartner: false, hiddenReason: null }
        const listed = { ...aSave().merchant, id: 'weather', owner, ...marks }
        const put = (said: object) => store.saveByOperator({ ...listed, ...said }, [], 1_200)
        const confirmation = { owner, payTo }
        await put({ confirmation, agentId: '0' })
        expect(await store.findMerchant('weather')).toMatchObject({ confirmation, agentId: '0' })
        const check = { passed: true, detail: '', checkedAt: 1_100 }
        const checks = { control: check, pay: check, file: check, domain: check }
        const identity = { agentId: '0', registry: other, checks }
        await store.saveIdentity('weather', identity, 1_200)
        await put({})
        expect(await store.findMerchant('weather')).toMatchObject({ confirmation, identity })
        await put({ confirmation: null, agentId: '7' })
        const nothing = { confirmation: null, agentId: '7', identity: null }
        expect(await store.findMerchant('weather')).toMatchObject(nothing)
      })

      it('says who is hosted, over every save of the owner', async () => {
        await save()
        const [entry] = await store.scanEntries(0, 10)
        await store.setHosted(entry?.endpoint.id as number, true, 1_300)
        await save({ revision: 2, acceptedAt: 1_400 })
        const [after] = await store.scanEntries(0, 10)
        expect(after?.endpoint).toMatchObject({ isHosted: true, lastUpdated: 1_300 })
      })
    })

    describe('looks at endpoints', () => {
      it('are counted by hour, each once, and due ones come most overdue first', async () => {
        const second = anEndpoint({ url: 'https://api.example.com/two', nextProbeAt: 1_500 })
        await save({}, aSave({}, [anEndpoint(), second]))
        const due = await store.dueEndpoints(2_000, 10)
        expect(due.map(({ endpoint }) => endpoint.nextProbeAt)).toEqual([1_500, 2_000])
        expect(await store.dueEndpoints(1_999, 10)).toHaveLength(1)
        const id = due[0]?.endpoint.id as number
        for (let at = 1; at <= 100; at++) {
          const probe = {
            verdict: 'live',
            message: '',
            warnings: [],
            seen: { amount: String(20_000 + (at > 50 ? 1 : 0)) },
            checkedAt: 2_000 + at,
            ms: 7,
          }
          await store.saveProbe(id, { ...second, probe }, 2_000 + at)
          // With another time for the next one, it is the same probe.
          await store.saveProbe(id, { ...second, probe, nextProbeAt: 9_000 }, 2_000 + at)
        }
        expect(await history.probeHours(id, 0)).toEqual([
          { hour: 0, verdict: 'live', count: 101, ms: 700 },
        ])
        expect(await history.notedPrices(id)).toEqual([
          { source: 'listed', at: 1_000, amount: '10000', symbol: 'USDC' },
          { source: 'asked', at: 2_001, amount: '20000', symbol: 'USDC' },
          { source: 'asked', at: 2_051, amount: '20001', symbol: 'USDC' },
        ])
      })
    })
  })
}
