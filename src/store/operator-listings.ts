import type { DescribedEndpoint, EndpointHealth, Merchant } from './listings.js'

/** What owners signed elsewhere and the operator carries over; what is left out stays as it is. */
export interface OperatorSays {
  confirmation?: Merchant['confirmation'] | undefined
  /** Another one than stands has to be checked anew. */
  agentId?: Merchant['agentId'] | undefined
}

/** What the operator alone may do to listings, without a signature. */
export interface OperatorListings {
  /** What only the operator may say; `false` when there is no such merchant. */
  setFlags(
    merchantId: string,
    flags: Partial<Pick<Merchant, 'isOfficial' | 'isPartner' | 'hiddenReason'>>,
    now: number,
  ): Promise<boolean>
  /** The operator's own entry, without a signature: made, or put in place of what stands. */
  saveByOperator(
    merchant: Pick<
      Merchant,
      | 'id'
      | 'owner'
      | 'name'
      | 'description'
      | 'network'
      | 'asset'
      | 'payTo'
      | 'isOfficial'
      | 'isPartner'
      | 'hiddenReason'
    > &
      OperatorSays,
    endpoints: (DescribedEndpoint & EndpointHealth & { isHosted: boolean })[],
    now: number,
  ): Promise<void>
  setHosted(endpointId: number, isHosted: boolean, now: number): Promise<boolean>
}
