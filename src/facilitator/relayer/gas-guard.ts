import { formatNative, formatUnits } from '@arcus/protocol/x402/amounts'
import { type Rejection, reject } from '@arcus/protocol/x402/reasons'
import type { Address } from 'viem'
import { WALLET_GAS_CAP } from '../../chain/contract-wallet.js'
import {
  type BudgetStore,
  dayOf,
  findLack,
  NEWCOMERS,
  spentBy,
  WASTED,
  wastedBy,
} from '../journal/budgets.js'
import { type GasModel, priceOf, quoteFees, RISKY_HEADROOM } from './gas.js'
import type { ExpectedGas, Standing } from './jobs.js'
import { shareOf, spentBudget, type WasteLimits } from './waste.js'

/** Who brings a settlement, and for whom. */
export interface Brought {
  /** Names the network address; '' within the process. */
  caller: string
  payTo: Address
  standing: Standing
}

/** The facts that decide whether the operator pays the gas of a settlement. */
interface GasQuestion extends Brought {
  /** The account that is charged for gas spent without a settlement, by its name in the books. */
  account: string
  /** Whether code of the account would run. */
  hasCode: boolean
  /** The gas it takes, where that is not the gas of a plain payment; units of gas. */
  gas?: bigint | undefined
  /** The age that what is read of the books may have, milliseconds; 0 if left out. */
  maxAgeMs?: number
}

/** Refuses a settlement whose gas the operator would not pay. Verify asks the same as settle. */
export type GasGuard = (question: GasQuestion) => Promise<Rejection | undefined>

interface GasGuardOptions {
  network: string
  budgets: Pick<BudgetStore, 'burntBy' | 'spentOn'>
  /** Gas for settlements a day, 18-decimal units; `undefined` is no ceiling. */
  dailyGasLimit: bigint | undefined
  limits: WasteLimits
  /** 18-decimal units for one gas. */
  maxFeePerGas: bigint
  /** The base fee of the newest block; undefined before the first. */
  baseFeePerGas(): bigint | undefined
  gas: Pick<GasModel, 'perPayment'>
  /** The gas of settlements that wait or are under way. */
  expectedGas(): ExpectedGas
  /** Unix milliseconds. */
  now(): number
}

/** Recipients without standing may spend one part in so many of the day's ceiling together. */
const NEWCOMERS_PART = 2n

/** Makes the guard that checks the gas price, the budgets of wasted gas, and the shares of the day's ceiling. */
export function createGasGuard(options: GasGuardOptions): GasGuard {
  const { network, budgets, limits, maxFeePerGas } = options

  return async (question) => {
    const baseFee = options.baseFeePerGas() ?? 0n
    const fees = quoteFees(baseFee, maxFeePerGas, RISKY_HEADROOM)
    if (fees === undefined) {
      const [fee, cap] = [formatUnits(baseFee, 9), formatUnits(maxFeePerGas, 9)]
      return reject(
        'gasPriceTooHigh',
        `The base fee is ${fee} gwei, above this facilitator's cap of ${cap} gwei.`,
      )
    }
    const read = (name: string) =>
      budgets.burntBy(network, dayOf(options.now()), name, question.maxAgeMs ?? 0)
    // Asked together: a database answers them in one statement.
    const [waste, ceiling] = await Promise.all([
      checkWaste(question, fees.maxFeePerGas, read),
      checkCeiling(question, priceOf(baseFee), read),
    ])
    return waste ?? ceiling
  }

  /** Checks what the account has burnt, and for one with code also what all of them have, and those of its caller. */
  async function checkWaste(
    { account, hasCode, caller, standing, gas: ownGas }: GasQuestion,
    feePerGas: bigint,
    read: (name: string) => Promise<bigint>,
  ): Promise<Rejection | undefined> {
    const byCaller = wastedBy('coded', caller)
    const names = hasCode ? [account, WASTED.coded, byCaller] : [account]
    const [ofAccount = 0n, ofCoded = 0n, ofCaller = 0n] = await Promise.all(names.map(read))
    const check = (name: string, burnt: bigint, limit: bigint) => {
      // Once gas was burnt there must be room for the most a wallet may use: then verify answers as settle would.
      const gas = burnt > 0n ? WALLET_GAS_CAP : (ownGas ?? options.gas.perPayment())
      const amount = hasCode ? gas * feePerGas : 1n
      const lack = findLack({ name, amount, limit }, burnt)
      return lack && spentBudget(lack)
    }
    const refusal = check(account, ofAccount, limits.perAccount)
    if (refusal !== undefined || !hasCode) return refusal
    const ofAll = check(WASTED.coded, ofCoded, limits.wasted)
    if (ofAll !== undefined || standing === 'own' || caller === '') return ofAll
    return check(byCaller, ofCaller, shareOf(limits.wasted, ofCoded - ofCaller))
  }

  /**
   * Checks the ceiling of the day. Recipients without standing have half of it together, and no caller and no recipient
   * takes more than all others leave, unless the operator named the recipient.
   */
  async function checkCeiling(
    { caller, payTo, standing }: GasQuestion,
    price: bigint,
    read: (name: string) => Promise<bigint>,
  ): Promise<Rejection | undefined> {
    const ceiling = options.dailyGasLimit
    if (ceiling === undefined) return undefined
    const names = ['', WASTED.coded, WASTED.plain, NEWCOMERS, spentBy(caller), spentBy(payTo)]
    const [total = 0n, coded = 0n, plain = 0n, newcomers = 0n, byCaller = 0n, byPayTo = 0n] =
      await Promise.all(names.map(read))
    const underWay = options.expectedGas()
    const more = (gas = 0n) => gas * price
    // Wasted gas has limits of its own, so that it cannot use up the ceiling of settlements.
    const spent = total - coded - plain + more(underWay.all)
    if (spent >= ceiling) return spentCeiling('today', spent, ceiling)
    if (standing === 'own') return undefined
    const isNew = standing === 'none'
    const limit = isNew ? ceiling / NEWCOMERS_PART : ceiling
    const taken = isNew ? newcomers + more(underWay.newcomers) : spent
    if (taken >= limit) return spentCeiling('for recipients without standing today', taken, limit)
    const parties = [
      ...(caller === '' ? [] : [{ who: 'for your address', name: caller, booked: byCaller }]),
      { who: `for ${payTo}`, name: payTo, booked: byPayTo },
    ]
    for (const { who, name, booked } of parties) {
      const own = booked + more(underWay.of.get(name))
      const share = shareOf(limit, taken - own)
      if (own >= share) return spentCeiling(`${who} today`, own, share)
    }
    return undefined
  }
}

function spentCeiling(which: string, spent: bigint, limit: bigint): Rejection {
  return reject(
    'gasBudgetExceeded',
    `This facilitator spent ${formatNative(spent)} dollars of gas on settlements ${which}; the limit is ${formatNative(limit)}.`,
  )
}
