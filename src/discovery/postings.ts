import { addBits, type Bits, createBits, pageOfBits, setBit } from './bits.js'
import { createNumberList, type NumberList } from './number-list.js'
import type { Turns } from './turns.js'

/** For each key the members that have it, and in which of their fields. Does not change. */
export interface Postings {
  /**
   * Adds the members that have the key in a field to the set that stands in the place of the field, if there is one.
   * Answers about how many steps that took.
   */
  addTo(targets: readonly (Bits | undefined)[], key: number): number
  /** The members that have the key in field 0, ascending. */
  membersOf(key: number): number[]
}

export interface PostingsBuilder {
  /** Members must come in ascending order, each field after field; the same once more is nothing new. */
  add(key: number, member: number, field?: number): void
  /** To be called once, after the last `add`. */
  finish(memberCount: number, turns: Turns): Promise<Postings>
}

/** What more than one member in 32 has is cheaper as one bit for each member than as a list. */
const DENSE_SHARE = 32
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
      const { offsets, entries, dense, lastDense } = layout
      const next = offsets.slice()
      const fieldMask = (1 << fieldBits) - 1
      let steps = 0
      for (let member = 0; member < starts.length; member++) {
        const end = member + 1 < starts.length ? starts.at(member + 1) : slots.length
        for (let i = starts.at(member); i < end; i++) {
          const slot = slots.at(i)
          const key = slot >>> fieldBits
          const bits = key <= lastDense ? dense.get(slot) : undefined
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
      return createPostings(layout)
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
  lastDense: number
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
  let lastDense = -1
  let total = 0
  for (let key = 0; key < keyCount; key++) {
    offsets[key] = total
    for (let slot = key << fieldBits; slot < (key + 1) << fieldBits; slot++) {
      const count = counts.at(slot)
      if (count * DENSE_SHARE <= memberCount) {
        total += count
      } else {
        dense.set(slot, createBits(memberCount))
        lastDense = key
      }
    }
    if (key % STEPS_BETWEEN_LOOKS === 0 && turns.isOver()) await turns.next()
  }
  offsets[keyCount] = total
  return { fieldBits, offsets, entries: new Uint32Array(total), dense, lastDense }
}

function createPostings({ fieldBits, offsets, entries, dense, lastDense }: Layout): Postings {
  const fieldMask = (1 << fieldBits) - 1

  function addDense(targets: readonly (Bits | undefined)[], key: number): number {
    let steps = 0
    for (const [field, target] of targets.entries()) {
      const bits = target === undefined ? undefined : dense.get((key << fieldBits) | field)
      if (target === undefined || bits === undefined) continue
      addBits(target, bits)
      steps += bits.length
    }
    return steps
  }

  return {
    addTo(targets, key) {
      const steps = key <= lastDense ? addDense(targets, key) : 0
      const start = offsets[key] ?? 0
      const end = offsets[key + 1] ?? 0
      for (let i = start; i < end; i++) {
        const entry = entries[i] as number
        const target = targets[entry & fieldMask]
        if (target !== undefined) setBit(target, entry >>> fieldBits)
      }
      return steps + end - start
    },
    membersOf(key) {
      const bits = key <= lastDense ? dense.get(key << fieldBits) : undefined
      if (bits !== undefined) return pageOfBits(bits, 0, Number.POSITIVE_INFINITY)
      const list = entries.subarray(offsets[key] ?? 0, offsets[key + 1] ?? 0)
      return Array.from(list, (entry) => entry >>> fieldBits)
    },
  }
}
