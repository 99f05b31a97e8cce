import type { Job, Outcome } from '../store/settlement-journal.js'

/** What the relayer tells those who count; called synchronously, must not throw. */
export interface RelayerEvents {
  batched(members: number): void
  decided(job: Job, outcome: Outcome): void
  /** A transaction was mined and cost this much, and this much of it settled nothing; 18-decimal units. */
  spent(cost: bigint, wasted: bigint): void
}

export const noRelayerEvents: RelayerEvents = { batched() {}, decided() {}, spent() {} }
