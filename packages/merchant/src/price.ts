import { addressProblem } from '../../../src/x402/address.js'
import type { Network } from '../../../src/x402/networks.js'

/**
 * Price of one call: dollars of Arc's stablecoin such as `"$0.01"`, with at most six decimals, or atomic units of a
 * token with the EIP-712 domain that its contract uses.
 */
export type Price =
  | `$${string}`
  | { amount: string; asset: string; extra: { name: string; version: string } }

/** A price as a payment requirement states it. */
interface PriceTerms {
  /** Atomic units of the token. */
  amount: string
  asset: string
  extra: { name: string; version: string }
}

/** The stablecoin of each Arc network, with the EIP-712 domain of its contract. It has six decimals on both. */
const stablecoins: Record<Network, Omit<PriceTerms, 'amount'>> = {
  'eip155:5042': {
    asset: '0x3600000000000000000000000000000000000000',
    extra: { name: 'USDC', version: '2' },
  },
  'eip155:5042002': {
    asset: '0x3600000000000000000000000000000000000000',
    extra: { name: 'USDC', version: '2' },
  },
}

const STABLECOIN_DECIMALS = 6

export function stablecoinOf(network: Network): Omit<PriceTerms, 'amount'> {
  return stablecoins[network]
}

/** Reads a price without rounding. Throws with the problem in the price. */
export function parsePrice(price: Price, network: Network): PriceTerms {
  if (typeof price === 'string') {
    return { ...stablecoins[network], amount: parseDollars(price) }
  }
  const { amount, asset, extra } = price ?? {}
  if (!/^[1-9]\d{0,77}$/.test(amount)) {
    throw new Error(`amount must be a positive integer of atomic units, got "${amount}"`)
  }
  const problem = addressProblem(asset)
  if (problem !== undefined) throw new Error(`asset ${problem}, got "${asset}"`)
  if (!extra?.name || !extra.version) {
    throw new Error('extra must give name and version of the EIP-712 domain of the asset')
  }
  return { amount, asset, extra: { name: extra.name, version: extra.version } }
}

function parseDollars(price: string): string {
  const [, whole, fraction = ''] = /^\$(\d{1,12})(?:\.(\d+))?$/.exec(price) ?? []
  if (whole === undefined) throw new Error(`a price in dollars reads "$0.01", got "${price}"`)
  if (fraction.length > STABLECOIN_DECIMALS) {
    throw new Error(`a price has at most ${STABLECOIN_DECIMALS} decimals, got "${price}"`)
  }
  const units = BigInt(whole + fraction.padEnd(STABLECOIN_DECIMALS, '0'))
  if (units === 0n) throw new Error(`a price is above zero, got "${price}"; leave a free route out`)
  return units.toString()
}

/** Tells whether atomic units of this asset are millionths of a dollar. */
export function isStablecoin(asset: string, network: string): boolean {
  return stablecoins[network as Network]?.asset === asset.toLowerCase()
}
