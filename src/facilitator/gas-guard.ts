import type { Address } from 'viem'
import { type BudgetStore, dayOf } from '../store/budgets.js'
import { formatNative, formatUnits } from '../x402/amounts.js'
import type { Rejection } from '../x402/reasons.js'
import { reject } from './ladder.js'

/**
 * Says no to payments whose gas the operator would not pay; verify asks it before settle does. `unbooked` is what the
 * payer has burnt beside the store's sum, 18-decimal units.
 */
export type GasGuard = (payer: Address, unbooked?: bigint) => Promise<Rejection | undefined>

export interface GasGuardOptions {
  network: string
  budgets: BudgetStore
  /** 18-decimal units a day; `undefined` is no ceiling. */
  dailyGasLimit: bigint | undefined
  /** 18-decimal units a payer and day that may be burnt without a settlement. */
  failedGasBudget: bigint
  /** 18-decimal units a gas. */
  maxFeePerGas: bigint
  /** The newest block's; undefined before the first. */
  baseFeePerGas(): bigint | undefined
  /** Unix milliseconds. */
  now(): number
}

export function createGasGuard(options: GasGuardOptions): GasGuard {
  const { network, budgets, dailyGasLimit, failedGasBudget, maxFeePerGas } = options
  return async (payer, unbooked = 0n) => {
    const baseFee = options.baseFeePerGas() ?? 0n
    if (baseFee >= maxFeePerGas) {
      const [fee, cap] = [formatUnits(baseFee, 9), formatUnits(maxFeePerGas, 9)]
      return reject(
        'gasPriceTooHigh',
        `The base fee is ${fee} gwei, above this facilitator's cap of ${cap} gwei.`,
      )
    }
    const day = dayOf(options.now())
    const burnt = (await budgets.burntBy(network, day, payer)) + unbooked
    if (burnt >= failedGasBudget) {
      return reject(
        'gasBudgetExceeded',
        `Failed payments of ${payer} burnt ${formatNative(burnt)} dollars of gas today; the limit is ${formatNative(failedGasBudget)}.`,
      )
    }
    if (dailyGasLimit === undefined) return undefined
    const spent = await budgets.spentOn(network, day)
    if (spent < dailyGasLimit) return undefined
    return reject(
      'gasBudgetExceeded',
      `This facilitator spent ${formatNative(spent)} dollars of gas today; its limit is ${formatNative(dailyGasLimit)}.`,
    )
  }
}
