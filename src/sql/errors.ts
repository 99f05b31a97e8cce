/** The database cannot be reached or does not answer in time; the statement may or may not have run. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError'
}

/** The database is of a newer version, or a migration could not be applied; the message says which. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

/** The reason why a copy, a backup or a restore was not made, in a sentence for the operator. Nothing was changed. */
export class CopyError extends Error {
  override readonly name = 'CopyError'
}
