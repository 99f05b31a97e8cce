import { setImmediate as nextTurn } from 'node:timers/promises'
import { createTurns } from '../../async/turns.js'
import { httpFault } from '../../http/errors.js'

/** Runs a check of channels when its turn comes. Rejects with a `RequestFault` (503) when too many wait. */
export type CheckTurns = <Value>(caller: string, check: () => Promise<Value>) => Promise<Value>

/** Checks that run at once, and those that may wait, of one caller and of all. */
const BOUNDS = { atOnce: 4, waitingOfParty: 200, waitingInAll: 2_000 }

/**
 * Makes the queue of all checks of channels. They take milliseconds where a plain payment takes a tenth of one, so they go
 * a few at a time, callers take turns, and plain payments go before each.
 */
export function createCheckTurns(): CheckTurns {
  const turns = createTurns(BOUNDS)
  return async (caller, check) => {
    const turn = turns.run(caller, async () => {
      await nextTurn()
      return check()
    })
    if (turn === undefined) throw httpFault('busy', 'Too many checks of channels wait.', 1)
    return turn
  }
}
