import type { Hex } from 'viem'

/** The first time an authorization was seen valid and unused. */
export interface Sighting {
  network: string
  digest: Hex
  blockNumber: number
  /** Unix seconds after which it may be forgotten. */
  expiresAt: number
}

/** Kept off the hot path: `note` returns at once and the row is written with the next group. */
export interface SightingStore {
  note(sighting: Sighting): void
  findSighting(network: string, digest: Hex): Promise<Sighting | undefined>
  forgetSightings(expiredBefore: number): Promise<number>
}
