/** The currencies of the stablecoins that Arcus knows by their symbol, ISO 4217. */
const currencies: Readonly<Record<string, string>> = { USDC: 'USD', EURC: 'EUR' }

/** Returns the currency of a stablecoin, ISO 4217; `null` for a symbol that is not known. */
export function currencyOf(symbol: string): string | null {
  return Object.hasOwn(currencies, symbol) ? (currencies[symbol] as string) : null
}
