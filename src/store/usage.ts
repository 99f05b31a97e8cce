import type { CallsByDay } from './trends.js'

/** Figures of the payments for one endpoint, or for a merchant as a whole, net of refunds and without payments of the merchant to itself. */
export interface Usage {
  calls: Windows
  payers: Windows
  /** Share of the calls in 30 days that the busiest payer made, 0 to 1; `null` without a call. */
  topPayerShare: number | null
  settleP50Ms: number | null
  settleP95Ms: number | null
  /** Unix seconds, as are those of the last payment. */
  firstPaid: number
  lastPaid: number
}

type Windows = Readonly<Record<UsageWindow, number>>

export const usageWindows = ['24h', '7d', '30d'] as const
export type UsageWindow = (typeof usageWindows)[number]

/** An endpoint whose figures may have changed, or a merchant as a whole. */
export interface PaidPlace {
  merchantId: string
  /** `null` for the merchant. */
  endpointId: number | null
  /** Unix seconds of the first and the last payment that were found; `null` where none was. */
  first: number | null
  last: number | null
}

/** Keeps the figures, which one process refreshes for all of them. */
export interface UsageStore {
  /** Returns the row of activity to go on from; `undefined` where nothing has changed. */
  begin(nowSeconds: number): Promise<number | undefined>
  /** Places that the next rows of activity name; `undefined` after the last one. */
  paidAfter(row: number): Promise<{ last: number; paid: PaidPlace[] } | undefined>
  /** Places whose figures change because time passes, longest due first. */
  due(nowSeconds: number, limit: number): Promise<PaidPlace[]>
  find(place: PaidPlace): Promise<Usage | undefined>
  /** Leaves out places that are gone. `dueAt` is in Unix seconds. */
  save(
    rows: readonly { place: PaidPlace; usage: Usage; trend: CallsByDay; dueAt: number | null }[],
  ): Promise<void>
  /** Ends a refresh that looked at all rows up to this one. */
  finish(seen: number): Promise<void>
}
