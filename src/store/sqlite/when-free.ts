import { setTimeout as delay } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { StoreUnavailableError } from '../store-unavailable.js'

/** Another process (an operator's command, a `VACUUM`) may hold the file this long. */
const PATIENCE_MS = 5_000
const FIRST_PAUSE_MS = 1
const LONGEST_PAUSE_MS = 25

/**
 * Runs `attempt` until no other process keeps it from writing. Beside the event loop: SQLite's own patience would hold
 * up every payment. Rejects with `StoreUnavailableError` when the file stays locked, else with what `attempt` throws.
 */
export async function whenFree<Result>(
  attempt: () => Result,
  patienceMs = PATIENCE_MS,
): Promise<Result> {
  const deadline = performance.now() + patienceMs
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error)) throw error
      if (performance.now() >= deadline) {
        const message = `another process has kept the database locked for ${patienceMs / 1_000} s: let it end, then try again`
        throw new StoreUnavailableError(message, { cause: error })
      }
    }
    await delay(pauseMs)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')
}
