import type { DirectoryStores } from '../../directory/store/stores.js'
import type { BudgetStore } from '../../facilitator/journal/budgets.js'
import { createRebuiltJobs } from '../../facilitator/journal/rebuilt-jobs.js'
import type { FacilitatorStores } from '../../facilitator/journal/stores.js'
import { createHostedRecords } from '../../hosted/store.js'
import type { ClockAhead, LeaseStore } from '../../sql/leases.js'
import type { RequestCountStore } from '../../sql/postgres/request-counts.js'
import type { Sql } from '../../sql/sql.js'
import { createAuditStore } from './audit.js'

/** Creates the stores that belong to the process and its commands. */
export function createProcessStores(sql: Sql) {
  return {
    rebuiltJobs: createRebuiltJobs(sql),
    audit: createAuditStore(sql),
    hostedRecords: createHostedRecords(sql),
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
  /** The place that a thread can read over a connection of its own: a file or PostgreSQL's URL; `undefined` in memory. */
  threadSource: string | undefined
  /** Reads how large the database is. */
  sizeBytes(): Promise<number>
  /** Keeps the database in order in the background, until it is stopped. */
  startUpkeep(onFault: (error: unknown) => void): { stop(): Promise<void> }
  /** Writes what waits and closes; the last call. */
  close(): Promise<void>
}

/** The facts about the server of a database on which its safety and its room depend. */
export interface ServerFacts {
  /** As the server writes it, such as `16.4`. */
  version: string
  majorVersion: number
  /** True if a commit is on disk when it is answered. */
  isDurable: boolean
  /** Connections that everybody together may have. */
  maxConnections: number
  /** Processes of Arcus that live on it. */
  replicas: number
  isEncrypted: boolean
  /** True if a pooler such as PgBouncer stands between. */
  isPooled: boolean
  /** The longest a session may stand still within a transaction or run a statement, milliseconds; 0 is no limit. */
  timeouts: { idleInTransactionMs: number; statementMs: number }
  clockAhead: ClockAhead
}

/** The facts that can be read of a database without starting the service on it, and without changing it. */
export interface DatabaseInspection {
  /** `absent`: the first start makes it. */
  state: 'absent' | 'writable' | 'unusable'
  /** Versions of the schema: the present one, and the one that this version of Arcus needs. */
  version: number
  wantedVersion: number
  /** Why it cannot be used. */
  problem?: string
  /** The free bytes of its disk; `undefined` if the disk belongs to another machine. */
  freeBytes?: number
  sizeBytes?: number
  /** Present if the database is on a server. */
  server?: ServerFacts
  /** Gas of the last days, where the schema has it. */
  budgets?: BudgetStore
  close(): Promise<void>
}
