/** A write that was not accepted: by the directory, or before it was sent. */
export class ListingError extends Error {
  override readonly name = 'ListingError'
  /** As the directory names it, or `unreachable`, `unexpected_answer`, `wrong_audience`. */
  readonly code: string
  /** HTTP status; 0 when there was no answer. */
  readonly status: number
  /** What the answer says beyond its sentence, such as the endpoints that were refused. */
  readonly details: unknown

  constructor(code: string, message: string, status = 0, details?: unknown) {
    super(message)
    this.code = code
    this.status = status
    this.details = details
  }
}
