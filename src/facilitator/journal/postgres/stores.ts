import type { Database } from '../../../sql/postgres/database.js'
import type { Sql } from '../../../sql/sql.js'
import { createBlockStore } from '../blocks.js'
import { createBudgetStore } from '../budgets.js'
import { createDeliveryStore } from '../deliveries.js'
import { createShrinker } from '../shrinking.js'
import type { FacilitatorStores } from '../stores.js'
import { createJobSharing, createSettlementJournal } from './settlement-journal.js'

/** Creates the stores of the facilitator for the process `worker`, over a database that others use too. */
export function createFacilitatorStores(
  database: Database,
  sql: Sql,
  worker: string,
): FacilitatorStores {
  return {
    journal: createSettlementJournal(database, worker),
    sharing: createJobSharing(database, worker),
    deliveries: createDeliveryStore(sql),
    budgets: createBudgetStore(sql, { isRemote: true }),
    blocks: createBlockStore(sql),
    shrinker: createShrinker(sql),
  }
}
