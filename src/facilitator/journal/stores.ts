import type { BlockStore } from './blocks.js'
import type { BudgetStore } from './budgets.js'
import type { CustomerStore } from './customers.js'
import type { DeliveryStore } from './deliveries.js'
import type { FailedJobs } from './failed-jobs.js'
import type { OldBooks } from './old-books.js'
import type { JobSharing, SettlementJournal } from './settlement-journal.js'
import type { Shrinker } from './shrinking.js'

/** Everything that the facilitator keeps. One database holds all of it. */
export interface FacilitatorStores {
  journal: SettlementJournal
  sharing: JobSharing
  deliveries: DeliveryStore
  budgets: BudgetStore
  customers: CustomerStore
  blocks: BlockStore
  shrinker: Shrinker
  failedJobs: FailedJobs
  oldBooks: OldBooks
}
