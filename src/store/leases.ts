import type { Address } from 'viem'

/** What this process holds after a beat. */
export interface HeldLeases {
  /** By name, the epoch under which it is held; a name that is gone went to another process. */
  epochs: ReadonlyMap<string, number>
  /** Processes that live, this one included. */
  replicas: number
}

/** Leases by name, each held by one process at a time. An epoch rises with every change of hands. */
export interface LeaseStore {
  /** How long a lease lasts that is not renewed, milliseconds; `undefined` where no other process can exist. */
  durationMs: number | undefined
  /** Says that this process lives and renews what it holds. Rejects when the store cannot be reached in time. */
  beat(): Promise<HeldLeases>
  /** Takes the named leases that are free; resolves with the epochs of those it got. */
  take(names: readonly string[]): Promise<ReadonlyMap<string, number>>
  release(name: string): Promise<void>
  /** Gives everything up, so that others need not wait; the last call. */
  leave(): Promise<void>
}

/** The lease on working for a wallet. */
export function laneLease(network: string, relayer: Address): string {
  return `lane/${network}/${relayer}`
}

/** The process has lost the lease under which it wanted to write: nothing was written. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

/** Other processes work on these jobs now: nothing was written. */
export class JobsTakenError extends Error {
  override readonly name = 'JobsTakenError'
  readonly jobIds: readonly string[]

  constructor(jobIds: readonly string[]) {
    super(`${jobIds.length} jobs belong to another process`)
    this.jobIds = jobIds
  }
}
