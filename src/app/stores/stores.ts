import type { DirectoryStores } from '../../directory/store/stores.js'
import { createRebuiltJobs } from '../../facilitator/journal/rebuilt-jobs.js'
import type { FacilitatorStores } from '../../facilitator/journal/stores.js'
import { createHostedRecords } from '../../hosted/records.js'
import type { LeaseStore } from '../../sql/leases.js'
import type { RequestCountStore } from '../../sql/postgres/request-counts.js'
import type { Sql } from '../../sql/sql.js'
import { createAuditStore } from './audit.js'
import { createIsListed } from './listed.js'
import { createOutbox } from './outbox.js'

/** Creates the stores that belong to the process and its commands. */
export function createProcessStores(sql: Sql) {
  return {
    rebuiltJobs: createRebuiltJobs(sql),
    audit: createAuditStore(sql),
    outbox: createOutbox(sql),
    hostedRecords: createHostedRecords(sql),
    isListed: createIsListed(sql),
  }
}

/** Every store of the service, over one database. */
export interface Stores
  extends FacilitatorStores,
    DirectoryStores,
    ReturnType<typeof createProcessStores> {
  leases: LeaseStore
  /** Counts the requests of callers for all processes; `undefined` where there is only one. */
  requestCounts: RequestCountStore | undefined
  /** The database that a thread can read over a connection of its own: a file or PostgreSQL's URL; `undefined` in memory. */
  threadSource: string | undefined
  /** Reads how large the database is. */
  sizeBytes(): Promise<number>
  /** Keeps the database in order in the background, until it is stopped. */
  startUpkeep(onFault: (error: unknown) => void): { stop(): Promise<void> }
  /** Writes what waits and closes; the last call. */
  close(): Promise<void>
}
