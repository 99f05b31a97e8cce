/** The database cannot be reached or does not answer in time; what was asked may or may not have happened. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError'
}
