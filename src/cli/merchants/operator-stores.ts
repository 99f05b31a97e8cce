import { existsSync } from 'node:fs'
import { type Config, readConfig } from '../../app/config/config.js'
import type { AuditStore } from '../../app/stores/audit.js'
import { openStores } from '../../app/stores/open-stores.js'
import { toSeconds } from '../../async/time.js'
import type { ListingStore, Merchant, MerchantRoster } from '../../directory/store/listings.js'
import type { BlockStore } from '../../facilitator/journal/blocks.js'
import { CommandError } from '../command-line.js'
import { operatorName } from '../operator-command.js'

/** The stores that the operator's commands use: the same database as a running service. */
export interface OperatorStores {
  config: Config
  listings: ListingStore
  roster: MerchantRoster
  blocks: BlockStore
  audit: AuditStore
  /** Unix seconds. */
  now: () => number
  close(): Promise<void>
}

/**
 * Notes a decision in the audit trail, before it is carried out: none is carried out without a record. Where carrying it
 * out fails, the record says what was asked for.
 */
export function record(
  { audit, now }: Pick<OperatorStores, 'audit' | 'now'>,
  action: string,
  subject: string,
  details = '',
): Promise<void> {
  return audit.append({ at: now() * 1000, actor: operatorName(), action, subject, details })
}

/** Opens the database of the settings. Rejects with a `CommandError` where there is none, instead of making an empty one. */
async function openOperatorStores(env: NodeJS.ProcessEnv): Promise<OperatorStores> {
  const config = readConfig(env)
  const { database } = config
  requireDatabase(database)
  const { listings, roster, blocks, audit, close } = await openStores(database)
  return {
    config,
    listings,
    roster,
    blocks,
    audit,
    now: () => toSeconds(Date.now()),
    close,
  }
}

/** Opens the stores of the settings for as long as they are used. */
export async function withStores<Value>(
  use: (stores: OperatorStores) => Promise<Value>,
): Promise<Value> {
  const stores = await openOperatorStores(process.env)
  try {
    return await use(stores)
  } finally {
    await stores.close()
  }
}

/** Throws a `CommandError` where the settings name a SQLite file that is not there. */
export function requireDatabase(database: Config['database']): void {
  if (database.kind !== 'sqlite' || existsSync(database.path)) return
  throw new CommandError(
    `There is no database at ${database.path}: start the service once, or set DATABASE_URL to its file.`,
  )
}

/** Returns a merchant. Throws a `CommandError` when there is none with that id, or when it is deleted. */
export async function getMerchant({ listings }: OperatorStores, id: string): Promise<Merchant> {
  const merchant = await listings.findMerchant(id)
  if (merchant === undefined) {
    throw new CommandError(
      `There is no merchant ${JSON.stringify(id)}; the command list shows the existing ones.`,
    )
  }
  if (merchant.deletedAt !== null) {
    throw new CommandError(`Merchant ${JSON.stringify(id)} was deleted by its owner.`)
  }
  return merchant
}

const PAGE = 500

/** Yields every merchant, hidden and deleted ones too. */
export async function* everyMerchant({ roster }: Pick<OperatorStores, 'roster'>) {
  for (let after = ''; ; ) {
    const page = await roster.scan(after, PAGE)
    yield* page
    const last = page.at(-1)
    if (last === undefined) return
    after = last.merchant.id
  }
}

/** Returns the reason why a merchant with this payTo cannot be official, or `undefined`. */
export function officialProblem(payTo: string, buyback: string | undefined): string | undefined {
  if (buyback === undefined) return 'BUYBACK_ADDRESS is not set, and official merchants pay to it'
  if (payTo.toLowerCase() === buyback.toLowerCase()) return undefined
  return `its payTo is ${payTo}, and BUYBACK_ADDRESS is ${buyback}`
}
