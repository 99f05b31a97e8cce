/**
 * Money on Arc has two scales that must never meet in one sum: the ERC-20 view of the stablecoin counts
 * millionths of a dollar (6 decimals), gas counts 10^-18 dollars. The brands let the compiler refuse a mix.
 */
export type AtomicAmount = bigint & { readonly scale?: 'atomic-6' }
export type NativeAmount = bigint & { readonly scale?: 'native-18' }

const NATIVE_PER_ATOMIC = 10n ** 12n

/** Converts an amount to the scale on which gas is counted. */
export function toNative(amount: AtomicAmount): NativeAmount {
  return amount * NATIVE_PER_ATOMIC
}

const UINT256_MAX = 2n ** 256n - 1n
/** 2^256 - 1 has 78 decimal digits. */
const UINT256_MAX_DIGITS = 78

/** Parses plain decimal digits (no sign, hex, padding, exponent or blank); `undefined` for anything else or past uint256. */
export function parseUint256(text: string): bigint | undefined {
  if (text.length === 0 || text.length > UINT256_MAX_DIGITS) return undefined
  if (!/^(0|[1-9][0-9]*)$/.test(text)) return undefined
  const value = BigInt(text)
  return value <= UINT256_MAX ? value : undefined
}

/** Renders a fixed-point integer exactly, without trailing zeros: `formatUnits(10000n, 6)` is `0.01`. */
export function formatUnits(value: bigint, decimals: number): string {
  const negative = value < 0n
  const digits = (negative ? -value : value).toString().padStart(decimals + 1, '0')
  const point = digits.length - decimals
  const whole = digits.slice(0, point)
  const fraction = digits.slice(point).replace(/0+$/, '')
  return `${negative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** Renders atomic stablecoin units (6 decimals) as dollars. */
export function formatAtomic(amount: AtomicAmount): string {
  return formatUnits(amount, 6)
}

/** Renders native gas units (18 decimals) as dollars. */
export function formatNative(amount: NativeAmount): string {
  return formatUnits(amount, 18)
}
