import { StoreUnavailableError } from '../store-unavailable.js'

/** SQLSTATE classes of a server that is gone, going, coming, full or not the one that writes. */
const UNAVAILABLE = /^(08...|53...|57P..|57014|58...|25006|XX000)$/

/**
 * A `StoreUnavailableError` for whatever may pass by itself: a connection that broke, a server that restarts, a timeout.
 * Anything else (a statement the server refuses) stays as it is.
 */
export function toStoreError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const code = 'code' in error ? String(error.code) : ''
  const isServersWord = 'severity' in error
  if (isServersWord && !UNAVAILABLE.test(code)) return error
  return new StoreUnavailableError(`the database does not answer: ${error.message}`, {
    cause: error,
  })
}
