/** The answer of the store to a request that wants to answer a payment with success. */
export type DeliveryLease =
  | { state: 'granted' }
  /** Success was answered before; `key` is the `Idempotency-Key` of that request. */
  | { state: 'delivered'; key: string | null }
  /** Another answer is being written; its lease lapses in this many milliseconds. */
  | { state: 'leased'; leftMs: number }

/**
 * The `key` of a payment that was open, or not answered with success, when the database was copied: it may have been
 * answered since. It is shorter than any `Idempotency-Key` may be.
 */
export const RESTORED_KEY = 'restored'

/** Leases the right to answer a payment with success, once per job, by compare-and-set. */
export interface DeliveryStore {
  /** Leases the right for so many milliseconds of the store's own clock. With the token of a lease, it renews it. */
  leaseDelivery(jobId: string, token: string, leaseMs: number): Promise<DeliveryLease>
  /** `now` is in Unix milliseconds. */
  completeDelivery(jobId: string, token: string, key: string | null, now: number): Promise<void>
  releaseDelivery(jobId: string, token: string): Promise<void>
  /** Lets every lease lapse. The only process does so at its start: the holders of older leases have ended. */
  dropLeases(): Promise<void>
  /**
   * Binds the key to the job on first use and returns the job that the key is bound to. A job with `MAX_KEYS_OF_JOB` keys
   * takes no further key: then the result is the job itself, as for a key that was never used.
   */
  bindIdempotencyKey(key: string, jobId: string, now: number): Promise<string>
  findIdempotencyKey(key: string): Promise<string | undefined>
  /** Forgets up to `limit` keys that were bound before `before` (Unix milliseconds); resolves with their number. */
  forgetIdempotencyKeys(before: number, limit: number): Promise<number>
}

/** Keys of one job: a repeated settle sends the same key. Calls at the same moment may add a few more. */
export const MAX_KEYS_OF_JOB = 4
