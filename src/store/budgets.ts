/** Gas booked by day (UTC, `2026-11-21`), 18-decimal units; written by the settlement journal, in its commits. */
export interface BudgetStore {
  /** What all transactions of the day cost. */
  spentOn(network: string, day: string): Promise<bigint>
  /** What was burnt that day on payments of this payer that failed. */
  burntBy(network: string, day: string, payer: string): Promise<bigint>
}

/** The day a time in Unix milliseconds is booked on. */
export function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10)
}
