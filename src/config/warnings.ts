import type { Config } from './config.js'

/** What a settle alone costs at Arc's floor of 20 gwei, 6-decimal units. */
export const SETTLE_COST = 2_300n
const ARC_BASE_FEE_FLOOR_WEI = 20n * 10n ** 9n

/** What is set and valid, and will not do what its operator wants. */
export function settingWarnings(
  maxFeePerGasWei: bigint,
  trustProxy: Config['trustProxy'],
): string[] {
  const warnings: string[] = []
  if (maxFeePerGasWei < ARC_BASE_FEE_FLOOR_WEI) {
    warnings.push(
      "MAX_FEE_PER_GAS_GWEI is below Arc's base fee of 20 gwei: nothing will be settled.",
    )
  }
  if (trustProxy === true) {
    warnings.push(
      'TRUST_PROXY=true believes any caller about its address, which voids the rate limit unless a proxy ' +
        'overwrites X-Forwarded-For: name the proxies or their number instead.',
    )
  }
  return warnings
}

/** What leaves the gas unguarded where it is real money: said at every start, and by the doctor in its own form. */
export function gasWarnings({ networks, devnet, dailyGasLimit, minAmount }: Config): string[] {
  if (devnet || !networks.some(({ network }) => network === 'eip155:5042')) return []
  const warnings: string[] = []
  if (dailyGasLimit === undefined) {
    warnings.push(
      'DAILY_GAS_LIMIT_USD is unset: nothing bounds what gas costs in a day; set it, such as to 25.',
    )
  }
  if (minAmount < SETTLE_COST) {
    warnings.push(
      `MIN_AMOUNT is ${minAmount}: payments below ${SETTLE_COST} cost more gas than they move; raise it, ` +
        'unless you mean to subsidise them.',
    )
  }
  return warnings
}
