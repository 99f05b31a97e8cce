import type { Address } from 'viem'
import { readConfig } from '../../src/app/config/config.js'
import { createAuditStore } from '../../src/app/stores/audit.js'
import type { OperatorStores } from '../../src/cli/merchants/operator-stores.js'
import type { ListingStore } from '../../src/directory/store/listings.js'
import { createMerchantRoster } from '../../src/directory/store/sql/listing-reader.js'
import { createBlockStore } from '../../src/facilitator/journal/blocks.js'
import { save } from './directory/a-catalog.js'
import {
  anEndpoint,
  asset,
  createListingWriter,
  openListings,
  payTo,
} from './directory/listed-merchants.js'

export const buyback: Address = '0x5555555555555555555555555555555555555555'
export const settings = {
  MAINNET_RPC_URLS: 'http://127.0.0.1:1',
  MAINNET_ASSETS: asset,
  BUYBACK_ADDRESS: buyback,
}

/** Opens the operator's stores in memory, with a fixed clock. */
export function openStores(env: NodeJS.ProcessEnv = settings): OperatorStores {
  const { sql, store, close } = openListings()
  return {
    config: readConfig(env),
    listings: store,
    roster: createMerchantRoster(sql),
    blocks: createBlockStore(sql),
    audit: createAuditStore(sql),
    now: () => 2_000,
    close,
  }
}

/** Lists a merchant by an owner's message that passed every check. */
export async function list(
  store: ListingStore,
  id: string,
  { endpoints = [anEndpoint()], paidTo = payTo } = {},
) {
  const place = { network: 'eip155:5042', asset, payTo: paidTo }
  const merchant = { ...place, name: `Merchant ${id}`, description: '' }
  await createListingWriter(store).write(id, { kind: 'save', merchant, endpoints })
}

/** Adds an entry of the operator, which nobody signed. */
export const enter = (store: ListingStore, id: string) =>
  save(store, { id, owner: null, name: id, payTo, isPartner: true }, [
    { ...anEndpoint(), isHosted: true },
  ])
