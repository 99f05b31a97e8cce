import { parsePrice } from './price.js'
import type { Offer } from './terms.js'

/** What of a metered price is kept. */
export interface Meter {
  /** Throws for more than the price, or when it is too late. */
  charge(amount: string): void
  /** What is kept, in units of the asset. */
  read(): bigint
  /** Reads it for good: nothing else can be charged from here on. */
  close(): bigint
}

/** The whole price is kept until a handler says otherwise. */
export function createMeter({ requirements, terms: { isMetered } }: Offer): Meter {
  const price = BigInt(requirements.amount)
  let kept = price
  let isClosed = false
  return {
    charge(amount) {
      if (!isMetered) throw new Error('x402: only a route with pricing "metered" may charge less')
      if (isClosed) throw new Error('x402: the payment is settled already; charge before')
      const charged = parseAmount(amount, requirements.network)
      if (charged > price) throw new Error(`x402: ${amount} is more than the buyer agreed to`)
      kept = charged
    },
    read: () => kept,
    close() {
      isClosed = true
      return kept
    },
  }
}

/** Dollars as in a price, or units of the asset; nothing at all is an amount here. */
function parseAmount(amount: string, network: string): bigint {
  if (/^\d{1,78}$/.test(amount)) return BigInt(amount)
  if (/^\$0+(\.0{1,6})?$/.test(amount)) return 0n
  return BigInt(parsePrice(amount as `$${string}`, network as 'eip155:5042').amount)
}
