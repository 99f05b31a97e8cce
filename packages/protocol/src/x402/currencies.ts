import type { NetworkId } from './networks.js'

/** The currencies of the stablecoins that Arcus knows, by ISO 4217: the symbol of the token, and the sign before an amount. */
const currencies = {
  USD: { symbol: 'USDC', sign: '$' },
  EUR: { symbol: 'EURC', sign: '€' },
} as const

export type Currency = keyof typeof currencies
export type CurrencySign = (typeof currencies)[Currency]['sign']

export const currencyCodes = Object.keys(currencies) as readonly Currency[]
export const currencySigns = currencyCodes.map((code) => currencies[code].sign)

/** Returns the currency of a stablecoin, ISO 4217; `null` for a symbol that is not known. */
export function currencyOf(symbol: string): Currency | null {
  return currencyCodes.find((code) => currencies[code].symbol === symbol) ?? null
}

/** Returns the currency of a sign. */
export function currencyOfSign(sign: CurrencySign): Currency {
  return currencyCodes.find((code) => currencies[code].sign === sign) as Currency
}

/** Returns the sign before an amount in a currency; `undefined` for one that is not known. */
export function signOfCurrency(currency: string | null | undefined): CurrencySign | undefined {
  const code = currencyCodes.find((known) => known === currency)
  return code && currencies[code].sign
}

/** Returns the name of a token's money in sentences: its currency, or else its symbol. */
export function moneyOf(symbol: string): string {
  return currencyOf(symbol) ?? symbol
}

/** A token in which prices are quoted. All of them have 6 decimals. */
export interface Stablecoin {
  /** In lower case. */
  address: `0x${string}`
  symbol: string
  /** ISO 4217; `null` where the symbol is not known. */
  currency: string | null
  /** Members of its EIP-712 domain. */
  name: string
  version: string
}

const usdc = '0x3600000000000000000000000000000000000000'

/** Circle's stablecoins on each Arc network, the default one first. */
export const circleTokens: Readonly<Record<NetworkId, readonly [Stablecoin, ...Stablecoin[]]>> = {
  'eip155:5042': [
    circleToken('USDC', usdc),
    circleToken('EURC', '0xbef5f6d51cb62b58e6a8f77868681825c6fe21c1'),
  ],
  'eip155:5042002': [
    circleToken('USDC', usdc),
    circleToken('EURC', '0x89b50855aa3be2f677cd6303cec089b5f319d72a'),
  ],
}

function circleToken(symbol: string, address: Stablecoin['address']): Stablecoin {
  return { address, symbol, currency: currencyOf(symbol), name: symbol, version: '2' }
}

/** Finds a token by an address in any case. */
export function findToken<Token extends { address: string }>(
  tokens: readonly Token[],
  address: string,
): Token | undefined {
  return tokens.find((token) => token.address === address.toLowerCase())
}

/** Writes tokens for a sentence: `0x… (USDC) or 0x… (EURC)`. */
export function nameTokens(tokens: readonly Pick<Stablecoin, 'address' | 'symbol'>[]): string {
  return tokens.map(({ address, symbol }) => `${address} (${symbol})`).join(' or ')
}

/** The token of a price as somebody writes it: by address, by currency, or by both. */
interface TokenWish {
  asset?: string | null | undefined
  currency?: string | null | undefined
}

/**
 * Finds the token that a price names among those that are settled, or says which member is wrong, in words that follow its
 * name. A price that names none is in the first one.
 */
export function tokenOfPrice<Token extends Stablecoin>(
  { asset, currency }: TokenWish,
  tokens: readonly Token[],
): { token: Token } | { member: 'asset' | 'currency'; problem: string } {
  const named = asset == null ? undefined : findToken(tokens, asset)
  if (asset != null && named === undefined) {
    const elsewhere = Object.entries(circleTokens).find(([, known]) => findToken(known, asset))
    const where = elsewhere && `; ${asset} is a token of ${elsewhere[0]}`
    const problem = `must be a token that is settled here: ${nameTokens(tokens)}${where ?? ''}`
    return { member: 'asset', problem }
  }
  const token = named ?? tokens.find((it) => currency == null || it.currency === currency)
  if (token !== undefined && (currency == null || token.currency === currency)) return { token }
  const problem =
    token === undefined
      ? `must be ${tokens.map((it) => moneyOf(it.symbol)).join(' or ')}`
      : `must be ${token.currency ?? 'left out'}: the asset ${token.address} is ${token.symbol}`
  return { member: 'currency', problem }
}
