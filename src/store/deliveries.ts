/** What the store says to somebody who wants to answer a payment with success. */
export type DeliveryLease =
  | { state: 'granted' }
  /** Success was given before; `key` is the `Idempotency-Key` it was given to. */
  | { state: 'delivered'; key: string | null }
  /** Another answer is being written; its lease lapses in this many milliseconds. */
  | { state: 'leased'; leftMs: number }

/**
 * The `key` of a payment that was open or untold when the database was copied: nobody can say whether it was told since.
 * Shorter than any `Idempotency-Key` may be.
 */
export const RESTORED_KEY = 'restored'

/** Who may say "paid": once per job, by compare-and-set. */
export interface DeliveryStore {
  /** Leases the right for so many milliseconds of the store's own clock; with the token of a lease, renews it. */
  leaseDelivery(jobId: string, token: string, leaseMs: number): Promise<DeliveryLease>
  /** `now` is in Unix milliseconds. */
  completeDelivery(jobId: string, token: string, key: string | null, now: number): Promise<void>
  releaseDelivery(jobId: string, token: string): Promise<void>
  /** Lets every lease lapse: at the start of the only process, whoever held one is dead. */
  dropLeases(): Promise<void>
  /**
   * Binds the key to the job on first use and returns the job the key is bound to. A job that has its fill of keys keeps
   * none further: then it is the job itself, as if nobody had used the key.
   */
  bindIdempotencyKey(key: string, jobId: string, now: number): Promise<string>
  findIdempotencyKey(key: string): Promise<string | undefined>
  /** Forgets keys bound before, so many at once; resolves with how many. */
  forgetIdempotencyKeys(before: number, limit: number): Promise<number>
}

/** Keys of one job: whoever settles again sends the one they have. Those of calls at the same moment may come on top. */
export const MAX_KEYS_OF_JOB = 4
