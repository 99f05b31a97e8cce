import { randomUUID } from 'node:crypto'
import type { Stores } from '../stores.js'
import { createActivityStore } from './activity.js'
import { createBlockStore } from './blocks.js'
import { createBudgetStore } from './budgets.js'
import { openDatabase } from './database.js'
import { createDeliveryStore } from './deliveries.js'
import { createHostedRecords } from './hosted-records.js'
import { createJobSharing } from './job-sharing.js'
import { createLeaseStore } from './leases.js'
import { createListingStore } from './listings.js'
import { createMerchantRoster } from './merchant-roster.js'
import { migrate } from './migrations.js'
import { createRequestCountStore } from './request-counts.js'
import { createSessionStore } from './sessions.js'
import { createSettlementJournal } from './settlement-journal.js'

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
  // One name a start: what an earlier process of this machine left is taken over like anybody's.
  const worker = randomUUID()
  const leases = createLeaseStore({ url, owner: worker, onIdleError })
  return {
    journal: createSettlementJournal(database, worker),
    sharing: createJobSharing(database, worker),
    leases,
    deliveries: createDeliveryStore(database),
    budgets: createBudgetStore(database),
    blocks: createBlockStore(database),
    listings: createListingStore(database),
    roster: createMerchantRoster(database),
    activity: createActivityStore(database),
    sessions: createSessionStore(database),
    hostedRecords: createHostedRecords(database),
    requestCounts: createRequestCountStore(database),
    threadSource: url,
    startUpkeep: () => ({ stop: async () => {} }),
    async close() {
      await leases.close()
      await database.close()
    },
  }
}
