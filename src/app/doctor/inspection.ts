import type { BudgetStore } from '../../facilitator/journal/budgets.js'
import type { ClockAhead, Half } from '../../sql/leases.js'

/** The facts about the server of a database on which its safety and its room depend. */
export interface ServerFacts {
  /** As the server writes it, such as `16.4`. */
  version: string
  majorVersion: number
  /** True if a commit is on disk when it is answered. */
  isDurable: boolean
  /** Connections that everybody together may have. */
  maxConnections: number
  /** How many of each half live on it. A process that serves both counts for both. */
  live: Record<Half, number>
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
