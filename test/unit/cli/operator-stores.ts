import type { Address, Hex } from 'viem'
import { readConfig } from '../../../src/app/config/config.js'
import { createAuditStore } from '../../../src/app/stores/audit.js'
import type { OperatorStores } from '../../../src/cli/merchants/operator-stores.js'
import type { ListingChange, ListingStore } from '../../../src/directory/store/listings.js'
import { createRatingStore } from '../../../src/directory/store/ratings.js'
import { createMerchantRoster } from '../../../src/directory/store/sql/listing-reader.js'
import { createListingStore } from '../../../src/directory/store/sql/listings.js'
import { createBlockStore } from '../../../src/facilitator/journal/blocks.js'
import { openDatabase } from '../../../src/sql/sqlite/database.js'
import { createGroupCommit } from '../../../src/sql/sqlite/group-commit.js'
import { createSql } from '../../../src/sql/sqlite/sql.js'
import { anEndpoint, asset, owner, payTo } from '../directory/listed-merchants.js'

export const buyback: Address = '0x5555555555555555555555555555555555555555'
export const settings = {
  MAINNET_RPC_URLS: 'http://127.0.0.1:1',
  MAINNET_ASSETS: asset,
  BUYBACK_ADDRESS: buyback,
}

/** Opens the operator's stores in memory, with a fixed clock. */
export function openStores(env: NodeJS.ProcessEnv = settings): OperatorStores {
  const database = openDatabase(':memory:')
  const commit = createGroupCommit(database)
  return {
    config: readConfig(env),
    listings: createListingStore(createSql(database, commit)),
    roster: createMerchantRoster(createSql(database, commit)),
    blocks: createBlockStore(createSql(database, commit)),
    ratings: createRatingStore(createSql(database, commit)),
    audit: createAuditStore(createSql(database, commit)),
    now: () => 2_000,
    async close() {
      await commit.close()
      database.close()
    },
  }
}

let nonces = 0

/** Lists a merchant by an owner's message that passed every check. */
export async function list(
  store: ListingStore,
  id: string,
  { endpoints = [anEndpoint()], paidTo = payTo, name = `Merchant ${id}` } = {},
) {
  const merchant = { name, description: '', network: 'eip155:5042', asset, payTo: paidTo }
  await write(store, id, { kind: 'save', merchant, endpoints })
}

/** Applies any change, by a message that passed every check. */
export async function write(
  store: ListingStore,
  merchantId: string,
  change: ListingChange,
  { by = owner, revision = 1 } = {},
) {
  const nonce: Hex = `0x${(++nonces).toString(16).padStart(64, '0')}`
  const signed = { action: change.kind, message: '{}', body: '{}', signature: '0x' as const }
  await store.applyWrite(
    { merchantId, revision, owner: by, nonce, ...signed, acceptedAt: 1_000 },
    change,
  )
}

/** Adds an entry of the operator, which nobody signed. */
export async function enter(store: ListingStore, id: string) {
  const merchant = {
    id,
    owner: null,
    name: id,
    description: '',
    network: 'eip155:5042',
    asset,
    payTo,
  }
  const marks = { isOfficial: false, isPartner: true, hiddenReason: null }
  await store.saveByOperator(
    { ...merchant, ...marks },
    [{ ...anEndpoint(), isHosted: true }],
    1_000,
  )
}
