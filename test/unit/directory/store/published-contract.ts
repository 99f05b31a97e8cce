import type { Address, Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Stores } from '../../../../src/app/stores/stores.js'
import { merchantJson, withUsage } from '../../../../src/directory/store/published.js'
import { anEndpoint, asset, owner } from '../../../support/directory/listed-merchants.js'

/** Two processes over one database, and a way to write to it as an older version would. */
export interface PublishedWorld {
  one: Stores
  other: Stores
  execute(sql: string): Promise<unknown>
  close(): Promise<void>
}

/** What every engine must do with merchants that another version has published. */
export function describePublished(name: string, open: () => Promise<PublishedWorld>): void {
  let world: PublishedWorld
  beforeAll(async () => {
    world = await open()
  })
  afterAll(() => world?.close())

  let nonces = 0
  const list = (merchantId: string, payTo: Address = owner) =>
    world.one.listings.applyWrite(
      {
        merchantId,
        revision: 1,
        owner,
        action: 'listing.create',
        acceptedAt: 1_000,
        message: '{}',
        body: '{}',
        signature: '0x',
        nonce: `0x${(++nonces).toString(16).padStart(64, '0')}` as Hex,
      },
      {
        kind: 'save',
        merchant: { name: merchantId, description: '', network: 'eip155:5042', asset, payTo },
        endpoints: [anEndpoint({ url: `https://${merchantId}.example/` })],
      },
    )

  describe(`published merchants in ${name}`, () => {
    it('are made again where another version made them, each once, however many processes do it', async () => {
      const ids = Array.from({ length: 9 }, (_, i) => `shop-${i}`)
      for (const id of ids) await list(id)
      const published = async () =>
        (await world.other.listings.publishedAfter(undefined, 99)).map(({ json }) => json)
      const sound = await published()
      expect(await world.one.listings.publishAnew(99, 2_000)).toBe(0)

      // An older and a newer version, and one that the public did not see then.
      await world.execute(
        `UPDATE published_merchants SET shape = 0, json = '{"old":1}' WHERE merchant_id < 'shop-3'`,
      )
      await world.execute(
        `UPDATE published_merchants SET shape = 99, is_last = 1, json = '{"new":1}' WHERE merchant_id >= 'shop-6'`,
      )
      await world.execute(`UPDATE published_merchants SET json = NULL WHERE merchant_id = 'shop-1'`)
      expect(await published()).not.toEqual(sound)
      const before = await world.one.listings.lastChange()
      const steps = [world.one, world.other, world.one, world.other].map((stores) =>
        stores.listings.publishAnew(2, 2_000),
      )
      const made = await Promise.all(steps)
      // Whoever comes last finds nothing.
      expect(made.toSorted()).toEqual([0, 2, 2, 2])
      expect(await published()).toEqual(sound)
      // The indexes of all processes follow.
      const changes = await world.other.listings.changesAfter(before, 99)
      expect(changes.map(({ merchantId }) => merchantId).sort()).toEqual(
        ids.filter((_, i) => i < 3 || i >= 6),
      )
      const merchant = await world.one.listings.findMerchant('shop-0')
      const endpoints = await world.one.listings.endpointsOf('shop-0')
      expect(sound[0]).toBe(withUsage(merchantJson(merchant as never, endpoints) as string, null))
    })
  })
}
