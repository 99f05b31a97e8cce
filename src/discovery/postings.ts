import {
  addBits,
  type Bits,
  countBits,
  createBits,
  hasAll,
  hasBit,
  pageOfBits,
  setBit,
} from './bits.js'
import { createNumberList, type NumberList } from './number-list.js'
import type { Turns } from './turns.js'

/** For each key the members that have it, and in which of their fields. Does not change. */
export interface Postings {
  /** Adds the members that have the key in a field to the set that stands in the place of the field, if there is one. */
  addTo(targets: Targets, key: number): void
  /** The same for many keys, in turns; ends early when nothing more can come. */
  addAll(targets: Targets, keys: readonly number[]): Promise<void>
  /** The members that have the key in field 0, ascending. */
  membersOf(key: number): number[]
  /** How many members have the key, each as often as it has fields with it. */
  countOf(key: number): number
}

/** A set for each field, or none for a field that is not asked for. */
export type Targets = readonly (Bits | undefined)[]

export interface PostingsBuilder {
  /** Members must come in ascending order, each field after field; the same once more is nothing new. */
  add(key: number, member: number, field?: number): void
  /** To be called once, after the last `add`. */
  finish(memberCount: number, turns: Turns): Promise<Postings>
}

/** What more than one member in 128 has is one bit for each member instead of a list: larger, but quicker to add. */
const DENSE_SHARE = 128
const STEPS_BETWEEN_LOOKS = 4_096

/** `fieldBits` make room for the numbers of fields; members times fields must stay below 2^32. */
export function createPostingsBuilder(fieldBits: number): PostingsBuilder {
  /** Keys of all members in a row, each with its field in the lowest bits; and where in it each member starts. */
  const slots = createNumberList()
  const starts = createNumberList()
  const counts = createNumberList()
  /** The last member and field of each key, plus one. */
  const lastOf = createNumberList()
  let keyCount = 0

  return {
    add(key, member, field = 0) {
      const entry = ((member << fieldBits) | field) >>> 0
      if (lastOf.at(key) === entry + 1) return
      lastOf.set(key, entry + 1)
      const slot = ((key << fieldBits) | field) >>> 0
      counts.set(slot, counts.at(slot) + 1)
      while (starts.length <= member) starts.push(slots.length)
      slots.push(slot)
      if (key >= keyCount) keyCount = key + 1
    },
    async finish(memberCount, turns) {
      const layout = await layOut({ counts, keyCount, fieldBits, memberCount }, turns)
      const { offsets, entries, dense, denseKeys } = layout
      const next = offsets.slice()
      const fieldMask = (1 << fieldBits) - 1
      let steps = 0
      for (let member = 0; member < starts.length; member++) {
        const end = member + 1 < starts.length ? starts.at(member + 1) : slots.length
        for (let i = starts.at(member); i < end; i++) {
          const slot = slots.at(i)
          const key = slot >>> fieldBits
          const bits = hasBit(denseKeys, key) ? dense.get(slot) : undefined
          steps++
          if (bits !== undefined) {
            setBit(bits, member)
            continue
          }
          const place = next[key] as number
          entries[place] = (member << fieldBits) | (slot & fieldMask)
          next[key] = place + 1
        }
        if (steps < STEPS_BETWEEN_LOOKS) continue
        steps = 0
        if (turns.isOver()) await turns.next()
      }
      return createPostings(layout, memberCount, turns)
    },
  }
}

interface Layout {
  fieldBits: number
  /** Where in `entries` the list of each key starts. */
  offsets: Uint32Array
  /** Members with the field in the lowest bits. */
  entries: Uint32Array
  /** By key, with the field in the lowest bits. */
  dense: Map<number, Bits>
  /** Keys that are dense in some field. */
  denseKeys: Bits
}

interface Counted {
  /** By key, with the field in the lowest bits. */
  counts: NumberList
  keyCount: number
  fieldBits: number
  memberCount: number
}

async function layOut(counted: Counted, turns: Turns): Promise<Layout> {
  const { counts, keyCount, fieldBits, memberCount } = counted
  const offsets = new Uint32Array(keyCount + 1)
  const dense = new Map<number, Bits>()
  const denseKeys = createBits(keyCount)
  let total = 0
  for (let key = 0; key < keyCount; key++) {
    offsets[key] = total
    for (let slot = key << fieldBits; slot < (key + 1) << fieldBits; slot++) {
      const count = counts.at(slot)
      if (count * DENSE_SHARE <= memberCount) {
        total += count
      } else {
        dense.set(slot, createBits(memberCount))
        setBit(denseKeys, key)
      }
    }
    if (key % STEPS_BETWEEN_LOOKS === 0 && turns.isOver()) await turns.next()
  }
  offsets[keyCount] = total
  return { fieldBits, offsets, entries: new Uint32Array(total), dense, denseKeys }
}

function createPostings(layout: Layout, memberCount: number, turns: Turns): Postings {
  const { fieldBits, offsets, entries, dense, denseKeys } = layout
  const fieldMask = (1 << fieldBits) - 1

  function addDense(targets: Targets, key: number): number {
    let steps = 0
    for (const [field, target] of targets.entries()) {
      const bits = target === undefined ? undefined : dense.get((key << fieldBits) | field)
      if (target === undefined || bits === undefined) continue
      addBits(target, bits)
      steps += bits.length
    }
    return steps
  }

  /** Answers about how many steps it took. */
  function add(targets: Targets, key: number): number {
    const steps = hasBit(denseKeys, key) ? addDense(targets, key) : 0
    const start = offsets[key] ?? 0
    const end = offsets[key + 1] ?? 0
    for (let i = start; i < end; i++) {
      const entry = entries[i] as number
      const target = targets[entry & fieldMask]
      if (target !== undefined) setBit(target, entry >>> fieldBits)
    }
    return steps + end - start
  }

  const isFull = (bits: Bits | undefined) => bits === undefined || hasAll(bits, memberCount)

  return {
    addTo: add,
    async addAll(targets, keys) {
      let steps = 0
      for (const key of keys) {
        steps += 4 + add(targets, key)
        if (steps < STEPS_BETWEEN_LOOKS) continue
        steps = 0
        if (targets.every(isFull)) return
        if (turns.isOver()) await turns.next()
      }
    },
    membersOf(key) {
      const bits = dense.get(key << fieldBits)
      if (bits !== undefined) return pageOfBits(bits, 0, Number.POSITIVE_INFINITY)
      const list = entries.subarray(offsets[key] ?? 0, offsets[key + 1] ?? 0)
      return Array.from(list, (entry) => entry >>> fieldBits)
    },
    countOf(key) {
      let count = Math.max(0, (offsets[key + 1] ?? 0) - (offsets[key] ?? 0))
      if (!hasBit(denseKeys, key)) return count
      for (let field = 0; field <= fieldMask; field++) {
        const bits = dense.get((key << fieldBits) | field)
        if (bits !== undefined) count += countBits(bits)
      }
      return count
    },
  }
}
