import { ConfigError } from '../config/env.js'
import { CopyError } from '../store/copy/copy-error.js'
import { MigrationError } from '../store/migration-error.js'
import { StoreUnavailableError } from '../store/store-unavailable.js'
import { UsageError } from './arguments.js'

/** One sentence for what the operator can mend; the whole error for a bug. */
export function explainStore(error: unknown): string {
  const isWritten = [UsageError, ConfigError, CopyError].some((type) => error instanceof type)
  if (isWritten) return (error as Error).message
  if (error instanceof MigrationError || error instanceof StoreUnavailableError) {
    return `The database cannot be used: ${error.message}.`
  }
  if (error instanceof Error && 'code' in error && /^(SQLITE_|E[A-Z]+$)/.test(String(error.code))) {
    return `${error.message}.`
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
