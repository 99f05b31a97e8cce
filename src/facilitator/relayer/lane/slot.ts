import { type Address, type Hex, parseTransaction } from 'viem'
import type { Attempt } from '../../journal/settlement-journal.js'

/** Milliseconds of a clock that only goes on: if waits followed a clock that is set back, repairs would stop for as long. */
export function steadyMs(): number {
  return performance.now()
}

export interface SlotCall {
  to: Address
  data: Hex
  gasLimit: bigint
}

/** One relayer nonce and every transaction signed for it; the chain takes one of them. */
export interface Slot extends SlotCall {
  nonce: number
  /** The epoch of the lease under which it is worked on. */
  epoch: number
  /** In the order they were signed; the newest pays the highest fee. */
  attempts: Attempt[]
  jobIds: Set<string>
  /** It only fills its nonce now, but what was signed for its jobs before may land. */
  isGivenUp: boolean
  /** By `steadyMs`, as all times of a slot. */
  touchedAt: number
  /** The number of refusals in a row without a cause. */
  refusals: number
  bumpedAt: number
  /** The newest block when its fee was raised: a transaction that no block could take is not underpaid. */
  bumpedBlock: number
  /** When the chain was first seen to have used the nonce without a receipt of ours. */
  consumedAt: number | undefined
}

/** Makes the slot that a first transaction opens. */
export function newSlot(attempt: Attempt, { to, data, gasLimit }: SlotCall, epoch: number): Slot {
  const now = steadyMs()
  return {
    nonce: attempt.relayerNonce,
    epoch,
    to,
    data,
    gasLimit,
    attempts: [attempt],
    jobIds: new Set(attempt.jobIds),
    isGivenUp: false,
    touchedAt: now,
    refusals: 0,
    bumpedAt: now,
    bumpedBlock: 0,
    consumedAt: undefined,
  }
}

/** Rebuilds a slot from the attempts that the journal kept of it. */
export function restoreSlot(attempts: readonly Attempt[], epoch: number): Slot {
  const newest = attempts[attempts.length - 1] as Attempt
  const { to, data } = parseTransaction(newest.rawTransaction)
  const call = { to: to as Address, data: data ?? '0x', gasLimit: newest.gasLimit }
  return {
    ...newSlot(newest, call, epoch),
    attempts: [...attempts],
    jobIds: new Set(attempts.flatMap((attempt) => attempt.jobIds)),
    isGivenUp: newest.jobIds.length === 0,
  }
}

/** Returns when its first transaction was signed, Unix milliseconds. */
export function openedAt({ attempts: [first] }: Slot): number {
  return (first as Attempt).createdAt
}

export function newestAttempt(slot: Slot): Attempt {
  return slot.attempts[slot.attempts.length - 1] as Attempt
}

/** A slot, and that transaction of it which has the hash. */
export interface FoundSlot {
  slot: Slot
  attempt: Attempt
}

/** The nonces of one lane: which are in use, and what was signed for them. */
export interface Slots {
  /** The nonce of the next new transaction. */
  nextNonce: number
  /** Returns the slots that are worked on, lowest nonce first. */
  open(): Slot[]
  isOpen(slot: Slot): boolean
  /** Returns the nonce of the next transaction with payments: a gap, which is its own no longer, or else the next one. */
  takeNonce(): number
  /**
   * Notes which nonces from the first to below the second are gaps, and returns those that were gaps at the last call too:
   * no payment has taken them since.
   */
  noteGaps(first: number, below: number): number[]
  /** Keeps a nonce to one signature at a time; returns what frees it. Throws when it is taken. */
  reserve(nonce: number): () => void
  /** Opens a slot. Attempts that were set aside under its nonce go on in it, for any of them may land. */
  add(slot: Slot): void
  /** Closes a slot for sending; what was sent for it may still land. */
  setAside(slot: Slot): void
  aside(): Slot[]
  /** Returns the slot and the attempt of a mined transaction. */
  find(hash: Hex): FoundSlot | undefined
  remove(slot: Slot): void
  /** Removes the slot of a mined transaction, and returns it with the attempt that was mined. */
  land(hash: Hex): FoundSlot | undefined
  clear(): void
}

export function createSlots(): Slots {
  const opened = new Map<number, Slot>()
  const asides = new Map<number, Slot>()
  const reserved = new Set<number>()
  /** Nonces below an open slot that no transaction of ours has; they block every later nonce. */
  let gaps: number[] = []

  /** Returns whether a transaction of ours has this nonce, or is being signed for it. */
  const isTaken = (nonce: number) => opened.has(nonce) || reserved.has(nonce)

  const slots: Slots = {
    nextNonce: 0,
    open: () => [...opened.values()].sort((a, b) => a.nonce - b.nonce),
    isOpen: (slot) => opened.get(slot.nonce) === slot,
    takeNonce() {
      gaps = gaps.filter((nonce) => !isTaken(nonce))
      return gaps.shift() ?? slots.nextNonce
    },
    noteGaps(first, below) {
      const between = Array.from({ length: Math.max(0, below - first) }, (_, i) => first + i)
      const missing = between.filter((nonce) => !isTaken(nonce))
      const waited = missing.filter((nonce) => gaps.includes(nonce))
      gaps = missing.filter((nonce) => !waited.includes(nonce))
      return waited
    },
    reserve(nonce) {
      if (isTaken(nonce)) throw new Error(`relayer nonce ${nonce} is in use`)
      reserved.add(nonce)
      return () => reserved.delete(nonce)
    },
    add(slot) {
      const before = asides.get(slot.nonce)
      if (before !== undefined) slot.attempts.unshift(...before.attempts)
      asides.delete(slot.nonce)
      opened.set(slot.nonce, slot)
    },
    setAside(slot) {
      opened.delete(slot.nonce)
      asides.set(slot.nonce, slot)
    },
    aside: () => [...asides.values()],
    find(hash) {
      for (const slot of [...opened.values(), ...asides.values()]) {
        const attempt = slot.attempts.find((it) => it.hash === hash)
        if (attempt !== undefined) return { slot, attempt }
      }
      return undefined
    },
    remove(slot) {
      if (opened.get(slot.nonce) === slot) opened.delete(slot.nonce)
      if (asides.get(slot.nonce) === slot) asides.delete(slot.nonce)
    },
    land(hash) {
      const landed = slots.find(hash)
      if (landed === undefined) return undefined
      slots.remove(landed.slot)
      slots.nextNonce = Math.max(slots.nextNonce, landed.slot.nonce + 1)
      return landed
    },
    clear() {
      opened.clear()
      asides.clear()
    },
  }
  return slots
}
