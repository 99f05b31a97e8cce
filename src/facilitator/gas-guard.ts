import type { Address } from 'viem'
import { WALLET_GAS_CAP } from '../chain/contract-wallet.js'
import {
  type GasLimits,
  type GasModel,
  priceOf,
  quoteFees,
  RISKY_HEADROOM,
  spentBudget,
} from '../relayer/gas.js'
import {
  type BudgetStore,
  dayOf,
  type GasBearer,
  GasBudgetError,
  requireBudget,
  SUBSIDISED,
  WASTED,
} from '../store/budgets.js'
import { formatNative, formatUnits, toNative } from '../x402/amounts.js'
import type { Rejection } from '../x402/reasons.js'
import { reject } from './ladder.js'

/** What a settlement would spend gas on. */
export interface GasQuestion {
  /** Answers for gas that buys nothing. */
  account: Address
  /** Whether its code would run. */
  hasCode: boolean
  /** What it moves, 6-decimal units; left out where that must bear its gas anyway. */
  amount?: bigint
}

/** Says no to what the operator would not pay the gas of; verify asks it before settle does. */
export type GasGuard = (question: GasQuestion) => Promise<Rejection | undefined>

export interface GasGuardOptions {
  network: string
  budgets: BudgetStore
  /** 18-decimal units a day for what settles; `undefined` is no ceiling. */
  dailyGasLimit: bigint | undefined
  limits: GasLimits
  /** 18-decimal units a gas. */
  maxFeePerGas: bigint
  /** The newest block's; undefined before the first. */
  baseFeePerGas(): bigint | undefined
  gas: Pick<GasModel, 'perPayment' | 'aloneLimit'>
  /** Unix milliseconds. */
  now(): number
}

/**
 * Half of the day's ceiling may go into settlements that move less than their gas. The other half is kept for those that
 * bear their gas, so that a flood of tiny payments shuts nobody out but tiny payments.
 */
const SUBSIDISED_SHARE = 2n

/** What of the day's ceiling may go into settlements that move less than their gas. */
export function subsidisedLimit(dailyGasLimit: bigint | undefined): bigint | undefined {
  return dailyGasLimit === undefined ? undefined : dailyGasLimit / SUBSIDISED_SHARE
}

export function createGasGuard(options: GasGuardOptions): GasGuard {
  const { network, budgets, dailyGasLimit, limits, maxFeePerGas } = options

  return async ({ account, hasCode, amount }) => {
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
    const gas = options.gas.perPayment()
    const isStrict = hasCode
    const bearers = [{ name: account as string, limit: limits.perAccount, isStrict }]
    if (hasCode) bearers.push({ name: WASTED, limit: limits.wasted, isStrict })
    for (const bearer of bearers) {
      const burnt = await budgets.burntBy(network, day, bearer.name)
      // Once something is burnt there must be room for the most a wallet may take: then verify says what settle would.
      const gasAtWorst = burnt > 0n ? WALLET_GAS_CAP : gas
      const amount = hasCode ? gasAtWorst * fees.maxFeePerGas : 0n
      const refusal = judge({ ...bearer, amount }, burnt)
      if (refusal !== undefined) return refusal
    }
    const { subsidised: limit } = limits
    if (limit !== undefined && amount !== undefined && toNative(amount) < gas * priceOf(baseFee)) {
      const ceiling = quoteFees(baseFee, maxFeePerGas)?.maxFeePerGas ?? maxFeePerGas
      const most = options.gas.aloneLimit() * ceiling
      const bearer = { name: SUBSIDISED, amount: most, limit, isStrict: true }
      const refusal = judge(bearer, await budgets.burntBy(network, day, SUBSIDISED))
      if (refusal !== undefined) return refusal
    }
    if (dailyGasLimit === undefined) return undefined
    // What bought nothing has a limit of its own, else it would be spent at the cost of what settles.
    const wasted = await budgets.burntBy(network, day, WASTED)
    const spent = (await budgets.spentOn(network, day)) - wasted
    if (spent < dailyGasLimit) return undefined
    return reject(
      'gasBudgetExceeded',
      `This facilitator spent ${formatNative(spent)} dollars of gas on settlements today; its limit is ${formatNative(dailyGasLimit)}.`,
    )
  }
}

function judge(bearer: GasBearer, burnt: bigint): Rejection | undefined {
  try {
    requireBudget(bearer, burnt, 0n)
    return undefined
  } catch (error) {
    if (error instanceof GasBudgetError) return spentBudget(error)
    throw error
  }
}
