import type { Address } from 'viem'

/** The two halves of the service. */
export type Half = 'facilitator' | 'directory'

/** The leases that this process holds after a beat. */
export interface HeldLeases {
  /** By name, the epoch under which it is held; a name that is gone belongs to another process. */
  epochs: ReadonlyMap<string, number>
  /** Names that other processes hold at this moment. */
  elsewhere: ReadonlySet<string>
  /** Number of processes that live, this one included. */
  replicas: number
  clockAhead: ClockAhead
}

/** Bounds of how far the clock of this process is ahead of the store's, milliseconds; negative if it is behind. */
export interface ClockAhead {
  least: number
  most: number
}

/** Leases by name, each held by one process at a time. An epoch rises with every change of the holder. */
export interface LeaseStore {
  /** Duration of a lease that is not renewed, milliseconds; `undefined` where no other process can exist. */
  durationMs: number | undefined
  /** Reports that this process lives and renews its leases. Rejects when the store cannot be reached in time. */
  beat(): Promise<HeldLeases>
  /**
   * Takes the named leases that are free; resolves with the epochs of those it got. It waits for nobody: a lease under
   * which its last owner still writes is left alone.
   */
  take(names: readonly string[]): Promise<ReadonlyMap<string, number>>
  release(name: string): Promise<void>
  /** Gives everything up, so that others need not wait; the last call. */
  leave(): Promise<void>
}

/** The leases on the work that one process of a half does for all, such as sweeps and probes that are due. */
export const UPKEEP = { facilitator: 'upkeep/facilitator', directory: 'upkeep/directory' } as const

/** Returns the name of the lease on sending transactions of a wallet. */
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

/** Leases where no other process can exist: this process gets every lease that it asks for, and keeps it. */
export function createSoleLeases(): LeaseStore {
  const epochs = new Map<string, number>()
  return {
    durationMs: undefined,
    beat: async () => ({
      epochs,
      elsewhere: new Set(),
      replicas: 1,
      clockAhead: { least: 0, most: 0 },
    }),
    async take(names) {
      for (const name of names) epochs.set(name, 0)
      return epochs
    },
    async release(name) {
      epochs.delete(name)
    },
    leave: async () => epochs.clear(),
  }
}
