/** The database is of a newer version, or a migration could not be applied; the message says which. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}
