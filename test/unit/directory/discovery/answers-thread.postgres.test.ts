import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openPostgresStores } from '../../../../src/app/stores/postgres.js'
import type { Stores } from '../../../../src/app/stores/stores.js'
import type { CatalogQuestion } from '../../../../src/directory/discovery/answers.js'
import { createDiscovery, parseListQuery } from '../../../../src/directory/discovery/discovery.js'
import { StoreUnavailableError } from '../../../../src/sql/errors.js'
import { anEndpoint, asset, payTo } from '../../../support/directory/listed-merchants.js'
import { type PostgresServer, startPostgres } from '../../../support/postgres.js'

const ask = (query: Record<string, string>): CatalogQuestion => ({
  kind: 'resources',
  query: parseListQuery(query),
})

const until = (isSo: () => boolean) => vi.waitFor(() => expect(isSo()).toBe(true), 20_000)

describe('discovery over PostgreSQL', () => {
  let server: PostgresServer
  let stores: Stores
  let discovery: ReturnType<typeof createDiscovery>
  const faults: unknown[] = []
  const merchant = {
    id: 'first',
    owner: null,
    name: 'First',
    description: 'About the first',
    network: 'eip155:5042',
    asset,
    payTo,
    isOfficial: true,
    isPartner: false,
    hiddenReason: null,
  }
  beforeAll(async () => {
    server = await startPostgres()
    stores = await openPostgresStores({ url: await server.createDatabase(), poolSize: 2 })
    expect(stores.threadSource).toBeDefined()
    await save('Tides of Lisbon')
    discovery = createDiscovery({
      source: stores.threadSource,
      store: stores.listings,
      onFault: (fault) => faults.push(fault),
    })
    discovery.start()
    await until(() => discovery.figures().endpoints === 1)
  }, 60_000)
  afterAll(async () => {
    await discovery.stop()
    await stores.close()
    await server.close()
  })

  const save = (title: string) =>
    stores.listings.saveByOperator(merchant, [{ ...anEndpoint({ title }), isHosted: false }], 1_000)
  const total = async (q: string) => {
    const answer = await discovery.answer(ask({ q }))
    if (answer.state !== 'made') throw new Error(answer.state)
    return JSON.parse(Buffer.from(answer.body.bytes).toString()).pagination.total
  }

  it('is answered on another thread too, with every change that was committed before', async () => {
    expect(await total('tides')).toBe(1)
    for (let i = 0; i < 5; i++) {
      await save(`Winds ${i}`)
      expect(await total(`winds ${i}`)).toBe(1)
      expect(await total('tides')).toBe(0)
    }
    expect(faults).toEqual([])
  })

  it('says that the database is away, and goes on when it is back', async () => {
    const bringBack = await server.takeDown()
    await expect(total('winds')).rejects.toThrow(StoreUnavailableError)
    await bringBack()
    expect(await total('winds')).toBe(1)
  })
})
