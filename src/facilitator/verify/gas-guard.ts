import { formatNative, formatUnits, toNative } from '@arcus/protocol/x402/amounts'
import type { Rejection } from '@arcus/protocol/x402/reasons'
import type { Address } from 'viem'
import { WALLET_GAS_CAP } from '../../chain/contract-wallet.js'
import {
  type BudgetStore,
  dayOf,
  type GasBudget,
  GasBudgetError,
  requireBudget,
  SUBSIDISED,
  WASTED,
} from '../journal/budgets.js'
import {
  type GasLimits,
  type GasModel,
  priceOf,
  quoteFees,
  RISKY_HEADROOM,
  spentBudget,
} from '../relayer/gas.js'
import { reject } from './checks.js'

/** The facts that decide whether the operator pays the gas of a settlement. */
interface GasQuestion {
  /** The account that is charged for gas spent without a settlement. */
  account: Address
  /** Whether code of the account would run. */
  hasCode: boolean
  /** The amount that moves, 6-decimal units; left out where it is compared with its gas elsewhere. */
  amount?: bigint
  /** The gas it takes, where that is not the gas of a plain payment; units of gas. */
  gas?: bigint | undefined
  /** The age that the sums of the budgets may have, milliseconds; 0 if left out. */
  maxAgeMs?: number
}

/** Refuses a settlement whose gas the operator would not pay. Verify asks the same as settle. */
export type GasGuard = (question: GasQuestion) => Promise<Rejection | undefined>

/**
 * Half of the day's ceiling may be spent on settlements that move less than their gas. The other half is kept for larger
 * ones, so that a flood of tiny payments shuts out only tiny payments.
 */
const SUBSIDISED_SHARE = 2n

/** Returns how much of the day's ceiling may be spent on settlements that move less than their gas. */
export function subsidisedLimit(dailyGasLimit: bigint | undefined): bigint | undefined {
  return dailyGasLimit === undefined ? undefined : dailyGasLimit / SUBSIDISED_SHARE
}

/** Makes the guard that checks the gas price, the budgets of wasted and subsidised gas, and the day's ceiling. */
export function createGasGuard(options: {
  network: string
  budgets: BudgetStore
  /** Gas for settlements a day, 18-decimal units; `undefined` is no ceiling. */
  dailyGasLimit: bigint | undefined
  limits: GasLimits
  /** 18-decimal units for one gas. */
  maxFeePerGas: bigint
  /** The base fee of the newest block; undefined before the first. */
  baseFeePerGas(): bigint | undefined
  gas: Pick<GasModel, 'perPayment' | 'aloneLimit'>
  /** Unix milliseconds. */
  now(): number
}): GasGuard {
  const { network, budgets, dailyGasLimit, limits, maxFeePerGas } = options

  return async ({ account, hasCode, amount, gas: ownGas, maxAgeMs = 0 }) => {
    const baseFee = options.baseFeePerGas() ?? 0n
    const fees = quoteFees(baseFee, maxFeePerGas, RISKY_HEADROOM)
    if (fees === undefined) {
      const [fee, cap] = [formatUnits(baseFee, 9), formatUnits(maxFeePerGas, 9)]
      return reject(
        'gasPriceTooHigh',
        `The base fee is ${fee} gwei, above this facilitator's cap of ${cap} gwei.`,
      )
    }
    const day = dayOf(options.now())
    const gas = ownGas ?? options.gas.perPayment()
    const isStrict = hasCode
    const { subsidised: limit } = limits
    const isCeilingSet = dailyGasLimit !== undefined
    const read = (name: string) => budgets.burntBy(network, day, name, maxAgeMs)
    // Asked together: a database answers them in one statement.
    const [ofAccount, ofCoded, ofPlain, subsidised, spentToday] = await Promise.all([
      read(account),
      hasCode || isCeilingSet ? read(WASTED.coded) : 0n,
      isCeilingSet ? read(WASTED.plain) : 0n,
      limit === undefined ? 0n : read(SUBSIDISED),
      isCeilingSet ? budgets.spentOn(network, day, maxAgeMs) : 0n,
    ])
    const needed = [
      { name: account as string, limit: limits.perAccount, isStrict, burnt: ofAccount },
    ]
    if (hasCode) needed.push({ name: WASTED.coded, limit: limits.wasted, isStrict, burnt: ofCoded })
    for (const { burnt, ...budget } of needed) {
      // Once gas was burnt there must be room for the most a wallet may use: then verify answers as settle would.
      const gasAtWorst = burnt > 0n ? WALLET_GAS_CAP : gas
      const amount = hasCode ? gasAtWorst * fees.maxFeePerGas : 0n
      const refusal = checkBudget({ ...budget, amount }, burnt)
      if (refusal !== undefined) return refusal
    }
    if (limit !== undefined && amount !== undefined && toNative(amount) < gas * priceOf(baseFee)) {
      const ceiling = quoteFees(baseFee, maxFeePerGas)?.maxFeePerGas ?? maxFeePerGas
      const most = options.gas.aloneLimit() * ceiling
      const budget = { name: SUBSIDISED, amount: most, limit, isStrict: true }
      const refusal = checkBudget(budget, subsidised)
      if (refusal !== undefined) return refusal
    }
    if (dailyGasLimit === undefined) return undefined
    // Wasted gas has a limit of its own and is not counted here, so that it cannot use up the ceiling of settlements.
    const spent = spentToday - ofCoded - ofPlain
    if (spent < dailyGasLimit) return undefined
    return reject(
      'gasBudgetExceeded',
      `This facilitator spent ${formatNative(spent)} dollars of gas on settlements today; its limit is ${formatNative(dailyGasLimit)}.`,
    )
  }
}

function checkBudget(budget: GasBudget, burnt: bigint): Rejection | undefined {
  try {
    requireBudget(budget, burnt, 0n)
    return undefined
  } catch (error) {
    if (error instanceof GasBudgetError) return spentBudget(error)
    throw error
  }
}
