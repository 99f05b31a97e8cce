import type { Hex } from 'viem'
import type { Attempt } from '../store/settlement-journal.js'
import type { Slot } from './slot.js'

/** The nonces of one lane: which are in use, and what was signed for them. */
export interface LaneSlots {
  /** Worked on, lowest nonce first. */
  open(): Slot[]
  isOpen(slot: Slot): boolean
  /** Whether a transaction of ours has this nonce, or is being signed for it. */
  isTaken(nonce: number): boolean
  /** Keeps a nonce to one signature at a time. Throws when it is taken. */
  reserve(nonce: number): () => void
  /** Opens a slot; what was set aside under its nonce goes on in it, for any of them may land. */
  add(slot: Slot): void
  /** Nothing more is sent for it, but what was sent may still land. */
  setAside(slot: Slot): void
  aside(): Slot[]
  /** What a mined transaction belongs to. */
  find(hash: Hex): { slot: Slot; attempt: Attempt } | undefined
  remove(slot: Slot): void
  clear(): void
}

export function createLaneSlots(): LaneSlots {
  const opened = new Map<number, Slot>()
  const asides = new Map<number, Slot>()
  const reserved = new Set<number>()

  const isTaken = (nonce: number) => opened.has(nonce) || reserved.has(nonce)

  return {
    open: () => [...opened.values()].sort((a, b) => a.nonce - b.nonce),
    isOpen: (slot) => opened.get(slot.nonce) === slot,
    isTaken,
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
    clear() {
      opened.clear()
      asides.clear()
    },
  }
}
