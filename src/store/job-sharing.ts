import type { Address } from 'viem'
import type { Job, Outcome } from './settlement-journal.js'

/**
 * How processes on one database share jobs: each open job is worked on by one of them, or offered to all. Where there
 * is one process, everything is its own.
 */
export interface JobSharing {
  /** Whether this process is the only one there can be. */
  isSole: boolean
  /** Lets another process take jobs of this one that are not decided. */
  offer(jobIds: readonly string[]): Promise<void>
  /** Takes offered jobs, oldest first. */
  takeOffered(network: string, limit: number): Promise<Job[]>
  /** Takes the open jobs of a lane's open attempts, whoever worked on them; after its lease was got. */
  takeOfLane(network: string, relayer: Address): Promise<Job[]>
  /**
   * Takes open jobs nobody works on: of processes that died, and of this one when it does not know them. Those that
   * ride in an open attempt of a lane somebody else works for, or is about to, stay with that lane.
   */
  takeOrphans(network: string, known: readonly string[], limit: number): Promise<Job[]>
  /** Fails a job that was never signed, whoever works on it; `undefined` when it was, or is decided. */
  withdraw(job: Job, outcome: Outcome, now: number): Promise<Job | undefined>
  /** Which of these jobs have an outcome. */
  decidedAmong(jobIds: readonly string[]): Promise<string[]>
}
