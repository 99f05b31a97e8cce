/** What the store says to somebody who wants to answer a payment with success. */
export type DeliveryLease =
  | { state: 'granted' }
  /** Success was given before; `key` is the `Idempotency-Key` it was given to. */
  | { state: 'delivered'; key: string | null }
  /** Another answer is being written; the lease lapses at `until` (Unix milliseconds). */
  | { state: 'leased'; until: number }

/** Who may say "paid": once per job, by compare-and-set. Times are Unix milliseconds. */
export interface DeliveryStore {
  leaseDelivery(jobId: string, token: string, now: number, until: number): Promise<DeliveryLease>
  completeDelivery(jobId: string, token: string, key: string | null, now: number): Promise<void>
  releaseDelivery(jobId: string, token: string): Promise<void>
  /** Lets every lease lapse: at the start of the only process, whoever held one is dead. */
  dropLeases(): Promise<void>
  /** Binds the key to the job on first use and returns the job the key is bound to. */
  bindIdempotencyKey(key: string, jobId: string, now: number): Promise<string>
  findIdempotencyKey(key: string): Promise<string | undefined>
}
