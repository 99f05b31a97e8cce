import type { PaymentStatus, RefundPaid } from '@arcus/protocol/answers/payments'
import type { Address, Hex } from 'viem'

/** A payment as the journal knows it, with its scheme, and the URL and the tool that its payload named. */
interface KnownPayment {
  status: PaymentStatus
  scheme: 'exact' | 'upto'
  /** `undefined` where the payload named none. */
  resourceUrl: string | undefined
  toolName: string | undefined
}

/** The service around the directory provides these. Each part of the directory takes those that it needs. */
export interface SharedPorts {
  /** CAIP-2; listings are about it. */
  network: string
  /** Whether other processes may use the same database. */
  isShared: boolean
  /** Returns whether this process does the work that one process does for all. */
  isKeeper: () => boolean
  /** Whether the disk is nearly full, so that everything but payments is left out. */
  isDiskLow: () => boolean
  checksum: (address: Address) => Address
  /** Takes addresses in lower case, as the next two do. */
  isRelayer: (address: Address) => boolean
  isPayToBlocked: (payTo: Address) => boolean
  isPayerBlocked: (payer: Address) => boolean
  /** Wallets that pay refunds on behalf of another address, with that address; lower-case. */
  refundWallets: ReadonlyMap<Address, Address>
  /** Looks a payment up. Several with the nonce are no answer. */
  findPayment: (
    network: string,
    payer: Address,
    nonce: Hex,
    which: { asset: Address; method?: 'eip3009' | 'permit2' | undefined },
  ) => Promise<KnownPayment | { queries: string[] } | undefined>
  /** Finds what sellers gave back, one member for each payment; `null` where they gave nothing. Addresses in lower case. */
  findRefunds: (
    sales: readonly {
      network: string
      asset: Address
      payer: Address
      payTo: Address
      nonce: Hex
      amount: bigint
    }[],
  ) => Promise<(RefundPaid | null)[]>
  /** Milliseconds between two looks of a part for payments, news and deliveries; a second or two unless given. */
  lookMs?: number
  /** Unix milliseconds, the same for all processes. */
  now: () => number
}
