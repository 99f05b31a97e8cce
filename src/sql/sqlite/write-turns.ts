import { setTimeout as sleep } from 'node:timers/promises'

/** The right to write next, among two threads of one process that share a file. */
export interface WriteTurns {
  /** Resolves when this thread may write; `undefined` if it may at once. */
  take(): Promise<void> | undefined
  /** Lets the other thread write. */
  give(): void
}

/** The index of the flag that says whether a thread writes. */
const IS_WRITING = 0
/** The index of the flag that says whether payments wait to be written. */
const IS_AWAITED = 1
/** A turn that lasts longer belongs to a thread that ended in it. SQLite's own lock still keeps the file whole. */
const MAX_TURN_MS = 250
/** The directory looks again after this long while payments are written. */
const YIELD_MS = 1

/** Makes the memory that both threads look at. */
export function createTurnFlags(): SharedArrayBuffer {
  return new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
}

/**
 * Creates the turns of the thread that writes payments. It waits for the transaction that the other thread is in, and for
 * no further one: SQLite wakes nobody when its lock is free, so that a writer who only tries again may find it taken each
 * time.
 */
export function createFirstTurns(shared: SharedArrayBuffer): WriteTurns {
  const flags = new Int32Array(shared)

  async function wait(): Promise<void> {
    Atomics.store(flags, IS_AWAITED, 1)
    for (let isOver = false; !isOver && !begin(flags); ) {
      const waiting = Atomics.waitAsync(flags, IS_WRITING, 1, MAX_TURN_MS)
      isOver = (await waiting.value) === 'timed-out'
    }
    Atomics.store(flags, IS_WRITING, 1)
    Atomics.store(flags, IS_AWAITED, 0)
  }

  return {
    take: () => (begin(flags) ? undefined : wait()),
    give: () => end(flags),
  }
}

/** Creates the turns of the other thread: it begins no transaction while payments wait. */
export function createSecondTurns(shared: SharedArrayBuffer): WriteTurns {
  const flags = new Int32Array(shared)
  const isFree = () => Atomics.load(flags, IS_AWAITED) === 0 && begin(flags)

  async function wait(): Promise<void> {
    const deadline = performance.now() + MAX_TURN_MS
    while (!isFree()) {
      if (performance.now() > deadline) return
      await sleep(YIELD_MS)
    }
  }

  return {
    take: () => (isFree() ? undefined : wait()),
    give: () => end(flags),
  }
}

/** Turns where no other thread writes. */
export const soleTurns: WriteTurns = { take: () => undefined, give() {} }

function begin(flags: Int32Array): boolean {
  return Atomics.compareExchange(flags, IS_WRITING, 0, 1) === 0
}

function end(flags: Int32Array): void {
  Atomics.store(flags, IS_WRITING, 0)
  Atomics.notify(flags, IS_WRITING)
}
