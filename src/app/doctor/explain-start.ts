import { RpcUnavailableError } from '../../chain/rpc-errors.js'
import { TokenMismatchError } from '../../chain/token.js'
import { FacilitatorSettingsError } from '../../facilitator/settings.js'
import { MigrationError, StoreUnavailableError } from '../../sql/errors.js'
import { DatabaseInUseError } from '../../sql/sqlite/service-lock.js'
import { ConfigError } from '../config/env.js'
import { DirectoryStartError } from '../directory/link.js'

/** The next step after any problem of the settings. */
export const settingsHelp =
  '.env.example explains every setting, and arcus init writes a first .env.'

/** Explains why the service did not start: one sentence for a fault that an operator can repair, the whole error for a bug. */
export function explainStart(error: unknown): string {
  if (error instanceof ConfigError) return `${error.message}\n${settingsHelp}`
  if (error instanceof FacilitatorSettingsError) {
    return `${new ConfigError([error.message]).message}\n${settingsHelp}`
  }
  if (error instanceof TokenMismatchError) {
    return `Arcus cannot serve this chain: ${error.message}. Correct MAINNET_RPC_URLS or MAINNET_ASSETS, or those of TESTNET.`
  }
  if (error instanceof RpcUnavailableError) {
    return `Arcus cannot start: ${error.message}. Check MAINNET_RPC_URLS and TESTNET_RPC_URLS.`
  }
  if (error instanceof StoreUnavailableError) {
    return `Arcus cannot start: ${error.message}. Check DATABASE_URL, and that PostgreSQL runs and takes connections from here.`
  }
  if (error instanceof DatabaseInUseError) {
    return `Arcus cannot start: ${error.message}. Stop that process, or set DATABASE_URL to another file; several services share a PostgreSQL.`
  }
  if (error instanceof DirectoryStartError) return `Arcus cannot start: ${error.message}.`
  if (error instanceof MigrationError) return `Arcus cannot start: ${error.message}.`
  if (!(error instanceof Error)) return String(error)
  const fix = fixOf(error)
  return fix === undefined
    ? (error.stack ?? error.message)
    : `Arcus cannot start: ${error.message}. ${fix}`
}

/** Returns the repair for an error of the operating system or of SQLite. */
function fixOf(error: NodeJS.ErrnoException): string | undefined {
  const { code = '', syscall } = error
  if (code === 'EADDRINUSE') return 'Stop the other process or set PORT.'
  if (syscall === 'listen' || syscall === 'getaddrinfo') {
    return 'Set HOST to an address of this machine and PORT to one this user may open.'
  }
  if (code.startsWith('SQLITE_') || syscall === 'mkdir') {
    return 'Check the path of DATABASE_URL: a file of Arcus or none yet, in a folder it may write to.'
  }
  return undefined
}
