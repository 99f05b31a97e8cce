import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ArcusError } from '@arcus/client/calls'
import { createListingClient } from '@arcus/client/listing-client'
import type { Listing } from '@arcus/protocol/listing/listing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { devnetContracts } from '../../src/devnet/fixtures.js'
import { anAccount } from '../support/an-account.js'
import { startWorld, type World } from '../support/arcus.js'

let world: World
let shop: Server
let shopUrl: string
let isOpen = true

beforeAll(async () => {
  const env = { RATE_LIMIT_MAX: '0', TRUST_PROXY: 'true', PROBE_ALLOW_PRIVATE_HOSTS: 'true' }
  world = await startWorld({ env })
  shop = createServer((request, response) => {
    if (!isOpen) return response.writeHead(503).end()
    const payTo = new URL(request.url ?? '/', 'http://x').searchParams.get('payTo')
    const accepts = [
      {
        scheme: 'exact',
        network: 'eip155:5042',
        amount: '10000',
        asset: devnetContracts.usdc,
        payTo,
        maxTimeoutSeconds: 60,
        extra: { name: 'USDC', version: '2' },
      },
    ]
    const required = { x402Version: 2, resource: { url: request.url }, accepts }
    const header = Buffer.from(JSON.stringify(required)).toString('base64')
    return response.writeHead(402, { 'payment-required': header }).end('{}')
  })
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve))
  shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`
})

afterAll(async () => {
  shop.close()
  await world.stop()
})

let named = 0
const freshId = () => `shop-${++named}`

function aListing(account = anAccount(), wish: { url?: string } = {}): Listing {
  const { url = 'http://127.0.0.1:1/dead' } = wish
  return {
    name: 'Shop',
    description: '',
    payTo: account.address,
    endpoints: [
      {
        url: `${url}?payTo=${account.address}`,
        method: 'GET',
        title: 'Goods',
        price: '10000',
        example: { queryParams: {} },
      },
    ],
  }
}

/** A client at an address, with a key made for it. */
function anOwner(from: string, account = anAccount(), { url } = world) {
  const client = createListingClient({
    directoryUrl: url,
    audience: `http://localhost:${new URL(url).port}`,
    signer: account,
    fetch: (input, init) => {
      const headers = new Headers(init?.headers)
      headers.set('x-forwarded-for', from)
      return fetch(input, { ...init, headers })
    },
  })
  return { account, client }
}

type Outcome = 'saved' | ArcusError
const save = async (
  { client, account }: ReturnType<typeof anOwner>,
  wish: Parameters<typeof aListing>[1] = {},
  id = freshId(),
): Promise<Outcome> => {
  try {
    await client.save(id, aListing(account, wish))
    return 'saved'
  } catch (error) {
    if (error instanceof ArcusError) return error
    throw error
  }
}
const saved = (outcomes: Outcome[]) => outcomes.filter((outcome) => outcome === 'saved')

it('may be as many as the operator says', async () => {
  const other = await startWorld({
    env: { NEW_OWNERS_PER_HOUR: '2', PROBE_ALLOW_PRIVATE_HOSTS: 'true' },
    chainUrl: world.chainUrl,
  })
  const outcomes: Outcome[] = []
  for (let i = 0; i < 3; i++) outcomes.push(await save(anOwner('192.0.2.1', anAccount(), other)))
  await other.stop()
  expect(saved(outcomes)).toHaveLength(2)
  expect(outcomes[2]).toMatchObject({ code: 'too_many_new_owners' })
})

describe('what was never seen live', () => {
  const items = async (query: string) => {
    const { body } = await world.get(`/discovery/resources?limit=100${query}`)
    const urls = body.items.map(({ resource }: { resource: string }) => resource)
    return { urls: urls as string[], total: body.pagination.total as number }
  }

  it('is out of the default order, and in the catalog and under its merchant', async () => {
    const dead = anOwner('192.0.2.1')
    const live = anOwner('192.0.2.2')
    const [deadId, liveId] = [freshId(), freshId()]
    const before = await items('')
    expect(await save(dead, {}, deadId)).toBe('saved')
    expect(await save(live, { url: `${shopUrl}/live` }, liveId)).toBe('saved')
    const after = await items('')
    expect(after.total - before.total).toBe(1)
    expect(after.urls.filter((url) => url.includes(dead.account.address))).toEqual([])
    expect(after.urls.filter((url) => url.includes(live.account.address))).toHaveLength(1)
    expect(await items(`&merchant=${deadId}`)).toMatchObject({ total: 1 })
    expect(await items(`&payTo=${dead.account.address}`)).toMatchObject({ total: 1 })
    const { merchants } = (await world.get('/api/merchants')).body
    const listed = merchants.find(({ id }: { id: string }) => id === deadId)
    expect(listed.endpoints).toHaveLength(1)
    const rows = async (query: string) => {
      const { body } = await world.get(`/api/endpoints?limit=100${query}`)
      return (body.endpoints ?? body.items).map(
        ({ merchant }: { merchant: { id: string } }) => merchant.id,
      )
    }
    expect(await rows('')).not.toContain(deadId)
    expect(await rows('')).toContain(liveId)
    expect(await rows(`&merchant=${deadId}`)).toEqual([deadId])
    const found = (await world.get('/discovery/search?query=goods&limit=100')).body
    expect(JSON.stringify(found)).not.toContain(dead.account.address)
    expect(JSON.stringify(found)).toContain(live.account.address)
  })

  it('comes in as soon as a look finds it live, and stays when it is saved in a bad moment', async () => {
    const owner = anOwner('192.0.2.3')
    const id = freshId()
    isOpen = false
    expect(await save(owner, { url: `${shopUrl}/late` }, id)).toBe('saved')
    const isIn = async () =>
      (await items('')).urls.some((url) => url.includes(owner.account.address))
    expect(await isIn()).toBe(false)
    isOpen = true
    await world.post(`/api/merchants/${id}/probe`, {})
    await vi.waitUntil(isIn, { timeout: 20_000, interval: 200 })
    isOpen = false
    expect(await save(owner, { url: `${shopUrl}/late` }, id)).toBe('saved')
    expect(await isIn()).toBe(true)
    isOpen = true
  })
})
