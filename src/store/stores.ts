import type { ActivityStore } from './activity.js'
import type { BlockStore } from './blocks.js'
import type { BudgetStore } from './budgets.js'
import type { DeliveryStore } from './deliveries.js'
import type { HostedRecords } from './hosted-records.js'
import type { JobSharing } from './job-sharing.js'
import type { LeaseStore } from './leases.js'
import type { ListingStore } from './listings.js'
import type { MerchantRoster } from './merchant-roster.js'
import type { RequestCountStore } from './request-counts.js'
import type { SessionStore } from './sessions.js'
import type { SettlementJournal } from './settlement-journal.js'

/** Every store of the service, over one database. */
export interface Stores {
  journal: SettlementJournal
  sharing: JobSharing
  leases: LeaseStore
  deliveries: DeliveryStore
  budgets: BudgetStore
  blocks: BlockStore
  listings: ListingStore
  roster: MerchantRoster
  activity: ActivityStore
  sessions: SessionStore
  hostedRecords: HostedRecords
  /** Where callers are counted together; `undefined` where there is nobody to count with. */
  requestCounts: RequestCountStore | undefined
  /** What a thread may read over a connection of its own, a file or PostgreSQL's URL; `undefined` in memory. */
  threadSource: string | undefined
  /** Keeps the database in order beside the way of a payment, until it is stopped. */
  startUpkeep(onFault: (error: unknown) => void): { stop(): Promise<void> }
  /** Writes what waits and closes; the last call. */
  close(): Promise<void>
}
