import { existsSync } from 'node:fs'
import { type Config, readConfig } from '../../config/config.js'
import type { ListingStore, Merchant, MerchantRoster } from '../../store/listings.js'
import { openStores } from '../../store/open-stores.js'
import type { BlockStore } from '../../store/sql/blocks.js'
import { Refusal } from './refusal.js'

/** What the operator's commands work on: the same database as a running service. */
export interface Desk {
  config: Config
  store: ListingStore
  roster: MerchantRoster
  blocks: BlockStore
  /** Unix seconds. */
  now: () => number
  close(): Promise<void>
}

/** Opens the database the settings name. Rejects with a `Refusal` where there is none, rather than make an empty one. */
export async function openDesk(env: NodeJS.ProcessEnv): Promise<Desk> {
  const config = readConfig(env)
  const { database } = config
  if (database.kind === 'sqlite' && !existsSync(database.path)) {
    throw new Refusal(
      `There is no database at ${database.path}: start the service once, or set DATABASE_URL to its file.`,
    )
  }
  const { listings, roster, blocks, close } = await openStores(database)
  return {
    config,
    store: listings,
    roster,
    blocks,
    now: () => Math.floor(Date.now() / 1000),
    close,
  }
}

/** A merchant that stands. Throws a `Refusal` when there is none of that id, or it was deleted. */
export async function getMerchant({ store }: Desk, id: string): Promise<Merchant> {
  const merchant = await store.findMerchant(id)
  if (merchant === undefined) {
    throw new Refusal(`There is no merchant ${JSON.stringify(id)}; list shows those there are.`)
  }
  if (merchant.deletedAt !== null) {
    throw new Refusal(`Merchant ${JSON.stringify(id)} was deleted by its owner.`)
  }
  return merchant
}

const PAGE = 500

/** Every merchant, one after the other: hidden and deleted ones too. */
export async function* everyMerchant({ roster }: Pick<Desk, 'roster'>) {
  for (let after = ''; ; ) {
    const page = await roster.scan(after, PAGE)
    yield* page
    const last = page.at(-1)
    if (last === undefined) return
    after = last.merchant.id
  }
}
