import { type Address, type Hex, parseTransaction } from 'viem'
import type { Attempt } from '../store/settlement-journal.js'

/** One relayer nonce and every transaction signed for it; the chain takes one of them. */
export interface Slot {
  nonce: number
  /** Of the lease under which it is worked on. */
  epoch: number
  to: Address
  data: Hex
  gasLimit: bigint
  /** In the order they were signed; the newest is the dearest. */
  attempts: Attempt[]
  jobIds: Set<string>
  /** It only fills its nonce by now, but what was signed for its jobs before may land. */
  isGivenUp: boolean
  openedAt: number
  touchedAt: number
  /** How often in a row nodes refused it in words that name no cause. */
  refusals: number
  bumpedAt: number
  /** The newest block when its fee was raised: one that no block could take is not underpaid. */
  bumpedBlock: number
  /** When the chain was first seen to have used the nonce without a receipt of ours. */
  consumedAt: number | undefined
}

/** The slot that a first transaction opens. */
export function newSlot(
  attempt: Attempt,
  { to, data, gasLimit }: Pick<Slot, 'to' | 'data' | 'gasLimit'>,
  epoch: number,
  now: number,
): Slot {
  return {
    nonce: attempt.relayerNonce,
    epoch,
    to,
    data,
    gasLimit,
    attempts: [attempt],
    jobIds: new Set(attempt.jobIds),
    isGivenUp: false,
    openedAt: now,
    touchedAt: now,
    refusals: 0,
    bumpedAt: now,
    bumpedBlock: 0,
    consumedAt: undefined,
  }
}

/** Rebuilds a slot from what the journal kept of it. */
export function restoreSlot(attempts: readonly Attempt[], epoch: number, now: number): Slot {
  const newest = attempts[attempts.length - 1] as Attempt
  const { to, data } = parseTransaction(newest.rawTransaction)
  return {
    nonce: newest.relayerNonce,
    epoch,
    to: to as Address,
    data: data ?? '0x',
    gasLimit: newest.gasLimit,
    attempts: [...attempts],
    jobIds: new Set(attempts.flatMap((attempt) => attempt.jobIds)),
    isGivenUp: newest.jobIds.length === 0,
    openedAt: (attempts[0] as Attempt).createdAt,
    touchedAt: now,
    refusals: 0,
    bumpedAt: now,
    bumpedBlock: 0,
    consumedAt: undefined,
  }
}

export function newestAttempt(slot: Slot): Attempt {
  return slot.attempts[slot.attempts.length - 1] as Attempt
}
