import type { Activity } from './activity.js'

/** A payment that settled, as it is told to everybody. */
export type SettledPayment = Pick<
  Activity,
  'id' | 'at' | 'network' | 'merchantId' | 'asset' | 'amount'
> & { transaction: string }

/** Reads the payments that settled, in the order in which they were kept. */
export interface SettlementReader {
  /** The number of the newest row of activity; 0 before the first. */
  newestRow(): Promise<number>
  /** Looks through at most so many rows after this one. Payments of an owner to themselves are left out. */
  settledAfter(row: number, rows: number): Promise<{ last: number; settled: SettledPayment[] }>
}
