import type { Hex } from 'viem'
import type { Receipt } from '../chain/receipts.js'
import type { Job } from '../store/settlement-journal.js'
import type { Rejection } from '../x402/reasons.js'

/** The truth about a job none of whose transactions can land any more, or whose time is over. */
export type Examination =
  | ({ state: 'confirmed'; receipt: Receipt } & Settled)
  /** For good: nothing that was ever signed for it can land any more. `transaction` is the one that proves it, if any. */
  | ({ state: 'failed'; transaction?: Hex } & Rejection)
  /** It would fail as the chain stands, which may change: as with a balance. */
  | ({ state: 'refused' } & Rejection)
  /** It could still land: a new transaction may be sent. */
  | { state: 'open' }

/** What of a mined transaction settles a job. */
export interface Settled {
  /** The index in its block of the transfer that backs the job; absent where no single transfer does. */
  transferLog?: number
}

/** Units of gas: what a transaction of its own is given at least, and what its simulation may take at most. */
export interface GasBounds {
  least: bigint
  most: bigint
}

/** How a job travels. */
export interface Ride {
  /** In a transaction of its own, because its payer runs code or its status decides it. */
  isAlone: boolean
  /** Who answers for gas that buys nothing. */
  payer: string
  payTo: string
  /** Of a kind whose gas says nothing about that of a payment; only for those that travel alone. */
  gas?: GasBounds
  /** The accounts whose code runs in it, if they have any. */
  runners: readonly string[]
  /** What it moves, 6-decimal units; `undefined` where it must move what its gas costs, and only a receipt tells. */
  value: bigint | undefined
}

/** What the relayer must know of a kind of job; `exact` is one. It never learns more. */
export interface JobKind {
  ride(job: Job): Ride
  /** Unix seconds before which the chain refuses it. */
  validAfter(job: Job): number
  /** Reads what of this mined transaction settles the job; `undefined` when it does not. */
  findSettled(job: Job, receipt: Receipt): Settled | undefined
  /** What a mined transaction that settled the job moved by it, 6-decimal units. */
  movedIn(job: Job, receipt: Receipt): bigint
  /** What it would move as the chain stands, where that must bear its gas. Throws `RpcUnavailableError`. */
  gain?(job: Job): Promise<bigint>
  /** Names the cause in a revert text. */
  rejectionOf(job: Job, revert: string): Rejection
  /** Reads the chain, at this block or later. Throws `RpcUnavailableError`. */
  examine(job: Job, atLeastBlock: number): Promise<Examination>
}
