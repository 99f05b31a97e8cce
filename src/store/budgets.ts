/**
 * Gas booked by day (UTC, `2026-11-21`), 18-decimal units; written by the settlement journal, in its commits. An answer may
 * be `maxAgeMs` old, 0 if that is left out.
 */
export interface BudgetStore {
  /** Returns the cost of all transactions of the day. */
  spentOn(network: string, day: string, maxAgeMs?: number): Promise<bigint>
  /** Returns the gas that an account burnt that day without a settlement, or one of the sums over all accounts. */
  burntBy(network: string, day: string, payer: string, maxAgeMs?: number): Promise<bigint>
}

/** The name of the sum of all gas that was burnt without a settlement. */
export const WASTED = 'wasted'
/** The name of the sum of all gas of settlements that moved less than their gas. */
export const SUBSIDISED = 'subsidised'

/** A budget that must bear the gas which a transaction may burn. */
export interface GasBearer {
  /** An account in lower case, or `WASTED` or `SUBSIDISED`. */
  name: string
  /** The most that the transaction may burn of this budget, 18-decimal units; with 0 nothing is reserved. */
  amount: bigint
  /** The budget of a day, 18-decimal units. */
  limit: bigint
  /** True if it never exceeds its budget. Otherwise one transaction may be under way while anything is left. */
  isStrict: boolean
}

/** A transaction was not kept, because a budget of gas does not bear it. */
export class GasBudgetError extends Error {
  override name = 'GasBudgetError'
  readonly bearer: GasBearer
  /** Gas that is booked already, 18-decimal units. */
  readonly burnt: bigint
  /** Whether the budget would not bear it even with nothing else under way. */
  readonly isSpent: boolean

  constructor(bearer: GasBearer, burnt: bigint, isSpent: boolean) {
    super(`the gas budget of ${bearer.name} does not bear the transaction`)
    this.bearer = bearer
    this.burnt = burnt
    this.isSpent = isSpent
  }
}

/** Throws `GasBudgetError` when the budget does not bear the transaction beside what is burnt and what is reserved. */
export function requireBudget(bearer: GasBearer, burnt: bigint, reserved: bigint): void {
  const { amount, limit, isStrict } = bearer
  const isSpent = isStrict ? burnt + amount > limit : burnt >= limit
  if (isSpent) throw new GasBudgetError(bearer, burnt, true)
  if (amount === 0n || reserved === 0n || burnt + reserved + amount <= limit) return
  throw new GasBudgetError(bearer, burnt, false)
}

/** Returns the accounts that are charged for an attempt with these bearers, beside those in `burnt`. */
export function answerersOf(
  bearers: readonly { name: string; isStrict: boolean }[],
  burnt: readonly { payer: string }[],
): string[] {
  const accounts = bearers.filter(({ name }) => name !== WASTED && name !== SUBSIDISED)
  const strict = accounts.filter(({ isStrict }) => isStrict)
  const answering = strict.length > 0 || burnt.length > 0 ? strict : accounts
  return answering.map(({ name }) => name).filter((name) => burnt.every((it) => it.payer !== name))
}

/** An older transaction does not reserve any more: its wallet may have been taken out of the settings. */
export const RESERVED_MS = 86_400_000

/** Returns the day on which a time (Unix milliseconds) is booked. */
export function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10)
}
