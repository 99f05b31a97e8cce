import { createArcusClient, createBuyer, type Item } from '@arcus/client'
import { ArcusError } from '@arcus/client/calls'
import { createMemoryLedger } from '@arcus/client/ledger'
import { listedCap } from '@arcus/client/terms'
import { x402 } from '@arcus/merchant'
import fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { devnetContracts, mintUsdc } from '../../../src/devnet/fixtures.js'
import { anAccount } from '../../support/an-account.js'
import { startWorld, type World } from '../../support/arcus.js'

const [owner, payer, other] = [anAccount(), anAccount(), anAccount()]
let world: World
let seller: FastifyInstance
let url: string
let item: Item

/** A seller who shows the probe of the catalog a fiftieth of the price. */
beforeAll(async () => {
  world = await startWorld({ env: { PROBE_ALLOW_PRIVATE_HOSTS: 'true' } })
  await mintUsdc(world.chainUrl, payer.address, 1_000_000n)
  seller = fastify({ rewriteUrl: ({ headers, url = '' }) => (isProbe(headers) ? '/cheap' : url) })
  await seller.register(x402, { facilitator: world.url, payTo: owner.address })
  seller.get('/data', { config: { x402: '$0.05' } }, () => ({ goods: true }))
  seller.get('/moved', { config: { x402: { price: '$0.05', payTo: other.address } } }, () => ({}))
  seller.get('/cheap', { config: { x402: '$0.001' } }, () => ({ goods: true }))
  url = `${await seller.listen({ port: 0, host: '127.0.0.1' })}/data`
  const audience = `http://localhost:${new URL(world.url).port}`
  const arcus = createArcusClient({ url: world.url })
  const endpoint = { url, method: 'GET', title: 'Cheap data', price: '1000' } as const
  const moved = { ...endpoint, url: url.replace('/data', '/moved') }
  await arcus
    .listings(owner, { audience })
    .save('cheap', { name: 'Cheap', payTo: owner.address, endpoints: [endpoint, moved] })
  item = (await arcus.findAt({ url })) as Item
})
afterAll(async () => {
  await seller.close()
  await world.stop()
})

const isProbe = ({ 'user-agent': agent = '' }: NodeJS.Dict<string | string[]>) =>
  String(agent).includes('Arcus-Probe')

const aBuyer = () =>
  createBuyer({
    url: world.url,
    signer: payer,
    ledger: createMemoryLedger(),
    limits: { perCall: '$0.05', perDay: '$1' },
  })

async function refusalOf(promise: Promise<unknown>) {
  const error = await promise.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ArcusError)
  return error as ArcusError & { details: Record<string, unknown> }
}

describe('a seller who asks for more than the catalog lists', () => {
  it.each(['the item', 'the address'])('is not paid by a buyer who has %s', async (what) => {
    const buyer = aBuyer()
    const target = what === 'the item' ? item : url
    const refused = await refusalOf(buyer.pay(target))
    expect(refused.code).toBe('too_dear')
    expect(refused.details).toMatchObject({ amount: '50000', listed: '1000', cap: '1000' })
    expect(refused.message).toBe(
      'The seller asks for 0.05 USDC, and the catalog lists 0.001 USDC. Give a higher limit for this call to pay it all the same.',
    )
    expect((await buyer.quote(target)).refusal).toMatchObject({ code: 'too_dear' })
    expect((await buyer.spent()).entries).toEqual([])
    // A limit of the call itself takes the place of the listing.
    expect((await buyer.pay(target, { maxAmount: '$0.05' })).cost).toBe(50_000n)
    expect((await refusalOf(buyer.pay(target, { maxAmount: '$0.04' }))).code).toBe('over_limit')
  })

  it('is not paid at another address than the catalog lists either', async () => {
    const buyer = aBuyer()
    const moved = url.replace('/data', '/moved')
    const refused = await refusalOf(buyer.pay(moved))
    expect(refused.details).toMatchObject({ amount: '50000', listed: '1000', payTo: other.address })
    expect((await buyer.spent()).entries).toEqual([])
    expect((await buyer.pay(moved, { maxAmount: '$0.05' })).cost).toBe(50_000n)
  })

  it('is not paid by the library either, where the call has no limit', async () => {
    const arcus = createArcusClient({ url: world.url })
    const refused = await refusalOf(arcus.pay(item, { signer: payer }))
    expect(refused).toMatchObject({ code: 'too_dear', details: { listed: '1000' } })
    const paid = await arcus.pay(item, { signer: payer, maxAmount: 50_000n })
    expect(paid.response.status).toBe(200)
    expect((await refusalOf(arcus.pay(url, { signer: payer }))).code).toBe('no_limit')
  })
})

it.each([
  ['fixed', 'exact', 1_000n],
  ['metered', 'upto', 1_000n],
  ['metered', 'exact', 2_000n],
])('a %s price bounds a call by %s', (pricing, scheme, cap) => {
  const { usdc: asset, eurc } = devnetContracts
  const terms = { scheme, network: 'eip155:5042' as const, asset }
  const listed = { accepts: [], metadata: { price: '1000', asset: asset.toUpperCase(), pricing } }
  expect(listedCap(listed, terms)).toEqual({ listed: 1_000n, cap })
  // In a token without a listed price, what the last probe was asked for.
  const quoted = { network: 'eip155:5042', asset: eurc, payTo: owner.address, amount: '900' }
  const known = { ...listed, accepts: [quoted] }
  expect(listedCap(known, { ...terms, asset: eurc }).listed).toBe(900n)
  expect(listedCap(listed, { ...terms, asset: eurc }).listed).toBe(0n)
})
