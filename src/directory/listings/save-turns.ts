import { setImmediate as nextTurn } from 'node:timers/promises'
import { createTurns } from '../../async/turns.js'
import { blockOf } from '../../http/rate-limit.js'
import { WriteFault } from '../refusals.js'

/**
 * Runs a piece of the work of a save when the turn of its block of addresses comes. Rejects with a `WriteFault` when too many
 * saves of the block, or of all, wait already.
 */
export type SaveTurns = <Value>(ip: string, work: () => Value) => Promise<Value>

/** Pieces that run at once, and saves that may wait for one, of a block and of all. */
const BOUNDS = { atOnce: 1, waitingOfParty: 50, waitingInAll: 1_000 }

/** Makes the queue of what saves compute: some milliseconds for each piece, and everything else goes before the next one. */
export function createSaveTurns(): SaveTurns {
  const turns = createTurns(BOUNDS)
  return async (ip, work) => {
    const turn = turns.run(blockOf(ip), async () => {
      await nextTurn()
      return work()
    })
    if (turn !== undefined) return turn
    const text = 'Too many saves of this network wait already; try again.'
    throw new WriteFault('too_many_saves', text, undefined, 1)
  }
}
