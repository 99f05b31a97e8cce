import { createListingClient } from '@arcus/client/listing-client'
import Sqlite from 'better-sqlite3'
import { expect, it, vi } from 'vitest'
import { devnetMerchant } from '../../src/devnet/accounts.js'
import { startWorld } from '../support/arcus.js'

it('starts over what an older version published, and publishes all of it again', async () => {
  const world = await startWorld({ env: { PROBE_ALLOW_PRIVATE_HOSTS: 'true' } })
  try {
    const audience = `http://localhost:${new URL(world.url).port}`
    const { account: signer } = devnetMerchant
    const client = createListingClient({ directoryUrl: world.url, signer, audience })
    const list = (id: string) =>
      client.save(id, {
        name: id,
        payTo: devnetMerchant.address,
        endpoints: [{ url: `http://127.0.0.1:9/${id}`, method: 'PUT', title: 'T', price: '10000' }],
      })
    const ids = Array.from({ length: 23 }, (_, i) => `shop-${String(i).padStart(2, '0')}`)
    for (const id of ids) await list(id)
    const merchants = async () => (await world.get('/api/merchants?limit=100')).body.merchants
    const sound = await merchants()
    expect(sound).toHaveLength(ids.length)

    await world.stopService()
    const database = new Sqlite(world.databasePath)
    database.exec(
      `UPDATE published_merchants SET shape = 0, json = '{"id":"' || merchant_id || '","old":1}'`,
    )
    database.close()
    await world.startService()
    await vi.waitFor(async () => expect(await merchants()).toEqual(sound), 20_000)
  } finally {
    await world.stop()
  }
})
