import { createHash } from 'node:crypto'
import type { Delivery } from '@arcus/protocol/answers/paid-checks'
import { expect, it } from 'vitest'
import { openSqliteStores } from '../../../../src/app/stores/sqlite.js'
import type { Merchant } from '../../../../src/directory/store/listings.js'
import { merchantJson, PUBLISHED_SHAPE } from '../../../../src/directory/store/published.js'
import { anEndpoint, openListings, owner } from '../../../support/directory/listed-merchants.js'
import { aFile } from '../../app/stores/a-sqlite-engine.js'
import { describePublished } from './published-contract.js'

describePublished('SQLite', async () => {
  const stores = openSqliteStores(aFile())
  return {
    one: stores,
    other: stores,
    execute: async (sql) => stores.database.exec(sql),
    close: () => stores.close(),
  }
})

/** What the public is shown of an endpoint and of an agent, at its fullest. */
const delivery: Delivery = {
  last: {
    at: 1,
    delivered: false,
    reason: 'bad_status',
    ms: 2,
    transaction: `0x${'ab'.repeat(32)}`,
  },
  share: 0.5,
  p50Ms: 3,
  outdated: true,
}
const passed = { passed: true, detail: 'yes', checkedAt: 1 }

it('make the same JSON as when their version was set', async () => {
  const { store, list, close } = openListings()
  await list('shop', [anEndpoint(), anEndpoint({ method: 'MCP', toolName: 'forecast' })])
  const merchant = (await store.findMerchant('shop')) as Merchant
  const endpoints = await store.endpointsOf('shop')
  await close()
  const checks = { control: passed, pay: passed, file: passed, domain: passed }
  const json = merchantJson(
    { ...merchant, agentId: '7', identity: { agentId: '7', registry: owner, checks } },
    endpoints.map((endpoint, i) => (i === 0 ? { ...endpoint, delivery } : endpoint)),
  )
  const digest = createHash('sha256')
    .update(json ?? '')
    .digest('hex')
  // Another digest means that all stored merchants are out of date: raise PUBLISHED_SHAPE.
  expect([PUBLISHED_SHAPE, digest.slice(0, 16)]).toEqual([1, '429f03d9e3392cae'])
})
