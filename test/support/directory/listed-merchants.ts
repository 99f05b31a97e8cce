import type { Address, Hex } from 'viem'
import type {
  EndpointDraft,
  ListingChange,
  ListingStore,
  SignedWrite,
} from '../../../src/directory/store/listings.js'
import { createListingStore } from '../../../src/directory/store/sql/listings.js'
import { openDatabase } from '../../../src/sql/sqlite/database.js'
import { createGroupCommit } from '../../../src/sql/sqlite/group-commit.js'
import { createSql } from '../../../src/sql/sqlite/sql.js'

export const owner: Address = '0x1111111111111111111111111111111111111111'
export const payTo: Address = '0xabcdefabcdefabcdefabcdefabcdefabcdefabcd'
export const asset: Address = '0x3600000000000000000000000000000000000000'

/** A listing store over memory or a file, and a way to write to it. */
export function openListings(path = ':memory:') {
  const database = openDatabase(path)
  const commit = createGroupCommit(database)
  const sql = createSql(database, commit)
  const store = createListingStore(sql)
  return {
    database,
    commit,
    sql,
    store,
    ...createListingWriter(store),
    async close() {
      await commit.close()
      database.close()
    },
  }
}

let nonces = 0

/** A way to write as an owner whose message passed every check. */
export function createListingWriter(
  store: Pick<ListingStore, 'findMerchant' | 'applyWrite'>,
  acceptedAt = 1_000,
) {
  async function write(merchantId: string, change: ListingChange, by: Address = owner) {
    const merchant = await store.findMerchant(merchantId)
    const signed: SignedWrite = {
      merchantId,
      revision: (merchant?.revision ?? 0) + 1,
      owner: by,
      nonce: `0x${(++nonces).toString(16).padStart(64, '0')}` as Hex,
      action: change.kind,
      message: '{}',
      body: '{}',
      signature: '0x',
      acceptedAt,
    }
    const result = await store.applyWrite(signed, change)
    if (result.state !== 'applied') throw new Error(`the write was ${result.state}`)
    return result.merchant
  }

  return {
    write,
    list: (id: string, endpoints: EndpointDraft[] = [anEndpoint()], name = `Merchant ${id}`) =>
      write(id, {
        kind: 'save',
        merchant: { name, description: `About ${id}`, network: 'eip155:5042', asset, payTo },
        endpoints,
      }),
  }
}

export function anEndpoint(wish: Partial<EndpointDraft> = {}): EndpointDraft {
  return {
    url: 'https://api.example.com/v1/weather',
    method: 'GET',
    title: 'Weather',
    description: 'The weather of a city.',
    pricing: 'fixed',
    price: 10_000n,
    asset,
    symbol: 'USDC',
    tags: ['weather'],
    example: { queryParams: { city: 'Lisbon' } },
    inputSchema: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
      required: ['city'],
    },
    output: { type: 'json' },
    extras: {},
    accepts: [],
    status: 'live',
    probe: null,
    failures: 0,
    nextProbeAt: null,
    ...wish,
  }
}
