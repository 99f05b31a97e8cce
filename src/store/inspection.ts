import type { BudgetStore } from './budgets.js'

/** What can be seen of a database without starting on it, and without changing it. */
export interface DatabaseInspection {
  /** `absent`: the first start will make it. */
  state: 'absent' | 'writable' | 'unusable'
  /** Of the schema: what is there, and what this version of Arcus wants. */
  version: number
  wantedVersion: number
  /** What stands in the way of its use. */
  problem?: string
  /** Of the disk it lies on; `undefined` where that is another machine's. */
  freeBytes?: number
  sizeBytes?: number
  /** Gas of the last days, where the schema has it. */
  budgets?: BudgetStore
  close(): Promise<void>
}
