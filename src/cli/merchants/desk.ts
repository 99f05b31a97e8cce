import { existsSync } from 'node:fs'
import { type Config, readConfig } from '../../config/config.js'
import type { BlockStore } from '../../store/blocks.js'
import type { ListingStore, Merchant } from '../../store/listings.js'
import type { MerchantRoster } from '../../store/merchant-roster.js'
import { createBlockStore } from '../../store/sqlite/blocks.js'
import { openDatabase } from '../../store/sqlite/database.js'
import { createGroupCommit } from '../../store/sqlite/group-commit.js'
import { createListingStore } from '../../store/sqlite/listings.js'
import { createMerchantRoster } from '../../store/sqlite/merchant-roster.js'
import { Refusal } from './refusal.js'

/** What the operator's commands work on: the same file as a running service. */
export interface Desk {
  config: Config
  store: ListingStore
  roster: MerchantRoster
  blocks: BlockStore
  /** Unix seconds. */
  now: () => number
  close(): Promise<void>
}

/** Opens the database the settings name. Throws a `Refusal` where there is none, rather than make an empty one. */
export function openDesk(env: NodeJS.ProcessEnv): Desk {
  const config = readConfig(env)
  const { path } = config.database
  if (!existsSync(path)) {
    throw new Refusal(
      `There is no database at ${path}: start the service once, or set DATABASE_URL to its file.`,
    )
  }
  const database = openDatabase(path)
  const commit = createGroupCommit(database)
  return {
    config,
    store: createListingStore(database, commit),
    roster: createMerchantRoster(database),
    blocks: createBlockStore(database, commit),
    now: () => Math.floor(Date.now() / 1000),
    async close() {
      await commit.close()
      database.close()
    },
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
