/** Shortens a decimal number of dollars: cents from a dollar up, more digits below. Never rounds up. */
export function shortUsd(usd: string): string {
  const { sign, whole, fraction } = parts(usd)
  const grouped = group(whole)
  if (whole.length > 1 || whole !== '0')
    return `${sign}$${grouped}.${fraction.slice(0, 2).padEnd(2, '0')}`
  const significant = fraction.search(/[1-9]/)
  if (significant === -1) return `${sign}$0.00`
  const digits = Math.max(2, Math.min(significant + 3, 6))
  const shown = fraction.slice(0, digits).replace(/0+$/, '').padEnd(2, '0')
  return /[1-9]/.test(shown) ? `${sign}$0.${shown}` : `< $0.${'0'.repeat(digits - 1)}1`
}

/** Shortens a decimal amount as `shortUsd` does, with the sign of its currency, or else the symbol of its token. */
export function shortMoney(
  decimal: string,
  { currency, symbol }: { currency: string | null; symbol: string | null },
): string {
  const dollars = shortUsd(decimal)
  if (currency === null) {
    const amount = dollars.replace('$', '')
    return symbol === null ? `${amount} of an unknown token` : `${amount} ${symbol}`
  }
  return dollars.replace('$', signOf(currency))
}

/** Returns the sign of a currency, such as `€`, or its code where it has none. */
export function signOf(currency: string): string {
  const parts = new Intl.NumberFormat('en', { style: 'currency', currency }).formatToParts(0)
  return parts.find(({ type }) => type === 'currency')?.value ?? currency
}

/** Writes every digit of a dollar amount: `1,234.5 USDC`. */
export function exactUsdc(usd: string): string {
  return exactAmount(usd, 'USDC')
}

/** Writes every digit of an amount of a token: `1,234.5 EURC`. */
export function exactAmount(decimal: string, symbol: string): string {
  const { sign, whole, fraction } = parts(decimal)
  const rest = fraction.replace(/0+$/, '')
  return `${sign}${group(whole)}${rest === '' ? '' : `.${rest}`} ${symbol}`
}

/** Converts atomic units (six decimals) to dollars, or to euros: `10000` is `0.01`. Keeps every digit that is not a trailing zero. */
export function atomicToUsd(atomic: string): string {
  const digits = atomic.padStart(7, '0')
  const fraction = digits.slice(-6).replace(/0+$/, '')
  const whole = digits.slice(0, -6)
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** Writes a count as `1,204`, and a large one as `12.4k` or `3.1M`. */
export function shortCount(count: number): string {
  if (count < 10_000) return group(String(count))
  const [size, unit] = count < 1_000_000 ? [1_000, 'k'] : [1_000_000, 'M']
  return `${(Math.floor((count / size) * 10) / 10).toFixed(1).replace(/\.0$/, '')}${unit}`
}

export function exactCount(count: number): string {
  return group(String(count))
}

/** Writes a share from 0 to 1 as `99.2%`. Only 1 is 100%, only 0 is 0%. */
export function percent(share: number | null): string {
  if (share === null) return '–'
  if (share === 0 || share === 1) return `${share * 100}%`
  const shown = Math.min(99.9, Math.max(0.1, Math.round(share * 1_000) / 10))
  return `${shown}%`
}

/** Writes milliseconds as `750 ms` or `1.5 s`. */
export function duration(ms: number | null): string {
  if (ms === null) return '–'
  return ms < 1_000 ? `${ms} ms` : `${Math.round(ms / 100) / 10} s`
}

function parts(usd: string) {
  const [whole = '0', fraction = ''] = usd.replace(/^-/, '').split('.')
  return { sign: usd.startsWith('-') ? '-' : '', whole: whole.replace(/^0+(?=\d)/, ''), fraction }
}

function group(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ',')
}

const rules = new Intl.PluralRules('en')

/** The forms of a text by the plural categories of its language. English has `one` and `other`. */
type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }

/** Chooses the form of a text that fits a count. */
function plural(count: number, forms: Forms): string {
  return forms[rules.select(count)] ?? forms.other
}

/** Chooses the form that fits a count, and puts the count in place of its `#`. */
export function counted(
  count: number,
  forms: Forms,
  write: (count: number) => string = shortCount,
): string {
  return plural(count, forms).replace('#', () => write(count))
}
