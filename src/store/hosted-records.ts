/** `channel`: a payment channel with its last voucher. `refund`: money that goes back; `refunded`: that went. */
export type HostedKind = 'channel' | 'refund' | 'refunded'

/** What hosted endpoints keep: JSON texts by kind and id, for their writers to understand. */
export interface HostedRecords {
  find(kind: HostedKind, id: string): Promise<string | undefined>
  /** All of a kind, in order of id. */
  list(kind: HostedKind): Promise<string[]>
  /**
   * Reads and writes one record with nobody in between; on disk when it resolves, with what stands then. `update` may
   * be called more than once, gives the text as it was to change nothing, and `undefined` to remove it.
   */
  change(
    kind: HostedKind,
    id: string,
    update: (current: string | undefined) => string | undefined,
  ): Promise<string | undefined>
}
