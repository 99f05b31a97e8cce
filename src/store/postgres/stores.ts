import { randomUUID } from 'node:crypto'
import { createActivityStore } from '../sql/activity.js'
import { createBlockStore } from '../sql/blocks.js'
import { createHostedRecords } from '../sql/hosted-records.js'
import { createMerchantRoster } from '../sql/listing-reader.js'
import { createListingStore } from '../sql/listings.js'
import type { Stores } from '../stores.js'
import { createBudgetStore } from './budgets.js'
import { openDatabase } from './database.js'
import { createDeliveryStore } from './deliveries.js'

import { createLeaseStore } from './leases.js'
import { migrate } from './migrations.js'
import { createRequestCountStore } from './request-counts.js'
import { createSessionStore } from './sessions.js'
import { createJobSharing, createSettlementJournal } from './settlement-journal.js'
import { createSql } from './sql.js'

export interface PostgresOptions {
  url: string
  /** Connections, besides the one that renews leases. */
  poolSize: number
  /** How long a call waits out a database that cannot be reached, milliseconds; 4,000 unless given. */
  patienceMs?: number
  /** Told of connections that broke while nobody used them. */
  onIdleError?: (error: unknown) => void
}

/** Stores over a database that other processes use too. Rejects with `MigrationError` or `StoreUnavailableError`. */
export async function openPostgresStores(options: PostgresOptions): Promise<Stores> {
  const { url, onIdleError = () => {} } = options
  await migrate(url)
  const database = openDatabase({ ...options, onIdleError })
  const sql = createSql(database)
  // One name a start: what an earlier process of this machine left is taken over like anybody's.
  const worker = randomUUID()
  const leases = createLeaseStore({ url, owner: worker, onIdleError })
  return {
    journal: createSettlementJournal(database, worker),
    sharing: createJobSharing(database, worker),
    leases,
    deliveries: createDeliveryStore(database),
    budgets: createBudgetStore(database),
    blocks: createBlockStore(sql),
    listings: createListingStore(sql),
    roster: createMerchantRoster(sql),
    activity: createActivityStore(sql),
    sessions: createSessionStore(database),
    hostedRecords: createHostedRecords(sql),
    requestCounts: createRequestCountStore(database),
    threadSource: url,
    startUpkeep: () => ({ stop: async () => {} }),
    async close() {
      await leases.close()
      await database.close()
    },
  }
}
