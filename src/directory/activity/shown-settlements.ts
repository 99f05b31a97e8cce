import type { Settlement } from '@arcus/protocol/answers/activity'
import type { Address } from 'viem'
import type { SharedPorts } from '../ports.js'
import type { PublicSettlement } from '../store/activity.js'
import type { ListingReader } from '../store/listings.js'
import { findPayee } from '../store/published.js'
import { findRefunded } from './refunded.js'
import type { NamedToken } from './summary.js'

interface ShownSettlementsOptions extends Pick<SharedPorts, 'findRefunds' | 'checksum'> {
  listings: Pick<ListingReader, 'merchantsPaidTo'>
  tokens: readonly NamedToken[]
  /** The wallets in lower case that buy from listed APIs to check them. */
  checkers: ReadonlySet<Address>
}

export type ShowsSettlements = (payments: readonly PublicSettlement[]) => Promise<Settlement[]>

/** Creates the view of payments for everybody: what the chain and the directory show, and never which call a buyer made. */
export function createShownSettlements(options: ShownSettlementsOptions): ShowsSettlements {
  const { findRefunds, checksum, listings, tokens, checkers } = options
  return async (payments) => {
    const payees = new Map<Address, Settlement['merchant']>()
    for (const { state, payer, payTo } of payments) {
      const seller = state === 'refunded' ? payer : payTo
      if (!payees.has(seller)) payees.set(seller, await findPayee(listings, seller))
    }
    const sales = payments.filter(({ state }) => state === 'settled')
    const amounts = await findRefunded(findRefunds, sales)
    return payments.map(({ id, at, state, network, payer, payTo, nonce, amount, ...rest }) => {
      const { asset, transaction, isSelf } = rest
      const token = tokens.find(({ address }) => address === asset)
      return {
        id,
        at: new Date(at).toISOString(),
        state,
        network,
        payer: checksum(payer),
        payTo: checksum(payTo),
        nonce,
        amount: amount.toString(),
        refunded: amounts.get(id) ?? null,
        asset: checksum(asset),
        symbol: token?.symbol ?? null,
        currency: token?.currency ?? null,
        transaction,
        isSelf,
        isCheck: checkers.has(payer),
        merchant: payees.get(state === 'refunded' ? payer : payTo) ?? null,
      }
    })
  }
}
