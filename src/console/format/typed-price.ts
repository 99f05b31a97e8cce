import { signOf } from './amounts.js'

/**
 * Parses dollars or euros as a person types them into atomic units; `undefined` for what is not a price. A comma is a
 * decimal mark like a point. One that may separate thousands (`1,000`) is refused rather than guessed.
 */
export function usdToAtomic(usd: string): string | undefined {
  const typed = usd.trim()
  const plain = GROUPED.test(typed) ? typed.replaceAll(',', '') : typed
  if (isAmbiguous(plain)) return undefined
  const match = /^[$€]?(\d{0,12})(?:[.,](\d{0,6}))?$/.exec(plain)
  if (match === null || `${match[1]}${match[2] ?? ''}` === '') return undefined
  const atomic = `${match[1]}${(match[2] ?? '').padEnd(6, '0')}`.replace(/^0+/, '')
  return atomic === '' ? '0' : atomic
}

/** Says what is wrong with a typed price in this currency; `undefined` for one above zero. */
export function priceProblem(usd: string, currency: string | null = 'USD'): string | undefined {
  const [sign] = /^[$€]/.exec(usd.trim()) ?? []
  if (sign !== undefined && (currency === null || signOf(currency) !== sign)) {
    return `The price is in ${currency ?? 'another token'}, and ${sign} is the sign of other money. Choose another token, or leave the sign out.`
  }
  const atomic = usdToAtomic(usd)
  if (atomic !== undefined && atomic !== '0') return undefined
  if (isAmbiguous(usd.trim())) {
    return 'The comma may separate thousands or decimals. Write 1000 for a thousand, 1.00 for one.'
  }
  return usd.includes(',')
    ? 'Use one comma or one point before the decimals, and nothing between thousands: 0.01, 1200.50.'
    : 'Give a price above zero with at most six decimals, such as 0.01.'
}

/** `1,200.50`: commas that can only separate thousands, because a point follows them. */
const GROUPED = /^[$€]?[1-9]\d{0,2}(,\d{3})+\.\d*$/

/** Some people read `1,000` as a thousand, others as one. */
function isAmbiguous(usd: string): boolean {
  return /^[$€]?[1-9]\d{0,2},\d{3}$/.test(usd)
}
