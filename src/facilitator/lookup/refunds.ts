import type { RefundPaid } from '@arcus/protocol/answers/payments'
import type { Address, Hex } from 'viem'
import type { SettlementJournal } from '../journal/settlement-journal.js'
import { EXACT, exactKey, refundNonceOf, transferOf } from '../methods/exact-job.js'

/** A payment whose refund is looked for; addresses in lower case. */
export interface RefundableSale {
  network: string
  asset: Address
  payer: Address
  payTo: Address
  nonce: Hex
  /** Atomic units. */
  amount: bigint
  /** Where it is not known, refunds of both are found. */
  method?: 'eip3009' | 'permit2' | undefined
}

interface RefundFinderOptions {
  journal: Pick<SettlementJournal, 'findJobs'>
  /** Wallets that pay refunds on behalf of another address, with that address; lower-case. */
  refundWallets?: ReadonlyMap<Address, Address> | undefined
  checksum: (address: Address) => Address
}

export type FindRefunds = ReturnType<typeof createRefundFinder>

/**
 * Creates the search for what sellers gave back. Nobody's word counts: a refund is a confirmed payment from the address
 * that was paid to the payer, and its nonce is the hash of the payment that it is about.
 */
export function createRefundFinder({ journal, refundWallets, checksum }: RefundFinderOptions) {
  function keysOf({ payTo, payer, nonce: paymentNonce, ...sale }: RefundableSale): string[] {
    const { network, asset } = sale
    const wallets = [...(refundWallets ?? [])].filter(([, seller]) => seller === payTo)
    const methods = sale.method === undefined ? (['eip3009', 'permit2'] as const) : [sale.method]
    const nonces = methods.map((method) =>
      refundNonceOf({ network, asset, payer, paymentNonce, method }),
    )
    return [payTo, ...wallets.map(([wallet]) => wallet)].flatMap((from) =>
      nonces.map((nonce) => exactKey(asset, from, nonce)),
    )
  }

  /** Returns one member for each payment, in their order: `null` where nothing was given back. */
  return async (sales: readonly RefundableSale[]): Promise<(RefundPaid | null)[]> => {
    const wanted = sales.map((sale) => ({ sale, keys: keysOf(sale) }))
    const found = new Map<string, RefundPaid & { payTo: Address }>()
    for (const network of new Set(sales.map((sale) => sale.network))) {
      const keys = wanted.filter(({ sale }) => sale.network === network).flatMap((it) => it.keys)
      for (const { key, state, details, transaction, updatedAt } of await journal.findJobs(
        EXACT,
        network,
        keys,
      )) {
        if (state !== 'confirmed' || transaction === null) continue
        const { payTo, payer, amount } = transferOf({ details })
        const nonce = key.slice(key.lastIndexOf('/') + 1) as Hex
        const confirmedAt = new Date(updatedAt).toISOString()
        const refund = { amount, from: checksum(payer), nonce, transaction, confirmedAt }
        found.set(`${network} ${key}`, { ...refund, payTo })
      }
    }
    return wanted.map(({ sale, keys }) => {
      for (const key of keys) {
        const { payTo, ...refund } = found.get(`${sale.network} ${key}`) ?? {}
        if (payTo !== sale.payer || !('amount' in refund)) continue
        const isWhole = BigInt(refund.amount) >= sale.amount
        return { ...refund, amount: isWhole ? sale.amount.toString() : refund.amount }
      }
      return null
    })
  }
}
