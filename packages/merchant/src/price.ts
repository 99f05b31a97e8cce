import { addressProblem } from '@arcus/protocol/x402/address'
import {
  type Currency,
  type CurrencySign,
  circleTokens,
  currencyCodes,
  currencyOfSign,
  currencySigns,
  findToken,
  type Stablecoin,
} from '@arcus/protocol/x402/currencies'
import { defined } from '@arcus/protocol/x402/json'
import { isNetwork, type NetworkId } from '@arcus/protocol/x402/networks'
import { otherRailOf } from '@arcus/protocol/x402/rails'

/**
 * Price of one call, with at most six decimals: dollars such as `"$0.01"` or `"0.01 USD"`, euros such as `"€0.05"` or
 * `"0.05 EUR"`, or atomic units of a token. A token that is neither USDC nor EURC needs the EIP-712 domain that its
 * contract uses. With a `verifyingContract` other than the token, the price is paid through that contract.
 */
export type Price = Money | { amount: string; asset: string; extra?: SignedDomain }

/** The EIP-712 domain that a buyer signs for. */
interface SignedDomain {
  name: string
  version: string
  verifyingContract?: string
}

type Money = `${CurrencySign}${string}` | `${string} ${Currency}`

/** A price as a payment requirement states it. */
interface PriceTerms {
  /** Atomic units of the token. */
  amount: string
  asset: string
  extra: SignedDomain
}

/**
 * The dollars of networks beside which Arc is added, as the official packages know them. A price on any other network
 * names its token.
 */
export const dollarsBesideArc: Readonly<Record<string, Stablecoin>> = {
  'eip155:8453': dollars('0x833589fcd6edb6e08f4c7c32d4f71b54bda02913', 'USD Coin'),
  'eip155:84532': dollars('0x036cbd53842c5426634e7929541ec2318f3dcf7e', 'USDC'),
}

function dollars(address: Stablecoin['address'], name: string): Stablecoin {
  return { address, symbol: 'USDC', currency: 'USD', name, version: '2' }
}

/** Returns the tokens of a network by whose currency a price may name them. */
function tokensOn(network: string): readonly Stablecoin[] {
  if (isNetwork(network)) return circleTokens[network]
  const token = dollarsBesideArc[network]
  return token === undefined ? [] : [token]
}

/** Returns a price that stands in for those that are not known yet. */
export function samplePrice(network: string): Price {
  if (tokensOn(network).length > 0) return '$1'
  return { amount: '1', asset: `0x${'01'.repeat(20)}`, extra: { name: 'sample', version: '1' } }
}

const DECIMALS = 6
/** An amount after a sign, or before a code: a sign, the amount, the amount, a code. */
const moneyForm = new RegExp(
  `^(?:([${currencySigns.join('')}])(\\d{1,12}(?:\\.\\d+)?)|(\\d{1,12}(?:\\.\\d+)?) (${currencyCodes.join('|')}))$`,
)

/** Returns the token of dollars. */
export function stablecoinOf(network: NetworkId): Stablecoin {
  return circleTokens[network][0]
}

/** Finds the known token of an address in any case. */
export function findStablecoin(asset: string, network: string): Stablecoin | undefined {
  return findToken(tokensOn(network), asset)
}

/** Reads a price without rounding. Throws with the problem in the price. */
export function parsePrice(price: Price, network: string): PriceTerms {
  if (typeof price === 'string') {
    const { currency, amount } = parseMoney(price)
    if (amount === 0n) {
      throw new Error(`a price is above zero, got "${price}"; leave a free route out`)
    }
    const token = tokensOn(network).find((it) => it.currency === currency)
    if (token === undefined) {
      throw new Error(`a price in ${currency} on ${network} is { amount, asset, extra }`)
    }
    return { amount: amount.toString(), asset: token.address, extra: domainOf(token) }
  }
  const { amount, asset, extra } = price ?? {}
  if (!/^[1-9]\d{0,77}$/.test(amount)) {
    throw new Error(`amount must be a positive integer of atomic units, got "${amount}"`)
  }
  const problem = addressProblem(asset)
  if (problem !== undefined) throw new Error(`asset ${problem}, got "${asset}"`)
  return { amount, asset, extra: readDomain(asset, network, extra) }
}

function domainOf({ name, version }: Stablecoin): SignedDomain {
  return { name, version }
}

/** Returns the EIP-712 domain of a price. Throws where it is not the one of the token, or the token is of another network. */
function readDomain(
  asset: string,
  network: string,
  extra: Partial<SignedDomain> | undefined,
): SignedDomain {
  const known = findStablecoin(asset, network)
  for (const [other, tokens] of Object.entries(circleTokens)) {
    const foreign = known === undefined ? findToken(tokens, asset) : undefined
    if (foreign === undefined) continue
    throw new Error(`asset "${asset}" is ${foreign.symbol} on ${other}, not on ${network}`)
  }
  if (extra === undefined && known !== undefined) return domainOf(known)
  if (!extra?.name || !extra.version) {
    throw new Error('extra must give name and version of the EIP-712 domain of the asset')
  }
  const { name, version, verifyingContract } = extra
  if (otherRailOf(asset, extra) !== undefined) {
    return { name, version, ...defined({ verifyingContract }) }
  }
  if (known !== undefined && (name !== known.name || version !== known.version)) {
    throw new Error(
      `asset "${asset}" is ${known.symbol}, so extra must be name "${known.name}" and version "${known.version}", got "${name}" and "${version}"`,
    )
  }
  return { name, version }
}

/** Reads money as a person writes it, zero as well. Throws for anything else. */
export function parseMoney(text: string): { currency: Currency; amount: bigint } {
  const [, sign, signed, plain, code] = moneyForm.exec(text) ?? []
  const decimal = signed ?? plain
  if (decimal === undefined) {
    throw new Error(`a price reads "$0.01", "€0.05" or "0.05 EUR", got "${text}"`)
  }
  const [whole = '', fraction = ''] = decimal.split('.')
  if (fraction.length > DECIMALS) {
    throw new Error(`a price has at most ${DECIMALS} decimals, got "${text}"`)
  }
  const currency = sign === undefined ? (code as Currency) : currencyOfSign(sign as CurrencySign)
  return { currency, amount: BigInt(whole + fraction.padEnd(DECIMALS, '0')) }
}

/** Reads money as in a price, or atomic units. Unlike a price it may be zero. Throws for other money than was asked for. */
export function parseAmount(
  text: string,
  { asset, network }: { asset: string; network: string },
): bigint {
  if (/^\d{1,78}$/.test(text)) return BigInt(text)
  const { currency, amount } = parseMoney(text)
  const token = findStablecoin(asset, network)
  if (token?.currency === currency) return amount
  throw new Error(
    `x402: ${text} is other money than the price, which is in ${token?.symbol ?? asset}`,
  )
}
