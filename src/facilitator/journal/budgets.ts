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

/** The names of the sums of gas that was burnt without a settlement: by accounts with code, and by plain accounts. */
export const WASTED = { coded: 'wasted:coded', plain: 'wasted:plain' } as const
/** The kind of accounts whose sum a waste belongs to. A transaction has members of one kind only. */
export type WasteKind = keyof typeof WASTED
/** The name of the sum of all gas of settlements that moved less than their gas. */
export const SUBSIDISED = 'subsidised'
const sums = new Set<string>([...Object.values(WASTED), SUBSIDISED])

/** A budget that must cover the gas which a transaction may burn. */
export interface GasBudget {
  /** An account in lower case, or the name of a sum. */
  name: string
  /** The most that the transaction may burn of this budget, 18-decimal units; with 0 nothing is reserved. */
  amount: bigint
  /** The budget of a day, 18-decimal units. */
  limit: bigint
  /** True if it never exceeds its budget. Otherwise the last job may, which goes while anything is left. */
  isStrict: boolean
  /** The part of `amount` that may exceed a budget which is not strict; all of it if left out. */
  last?: bigint
}

/** A transaction was not kept, because a budget of gas has no room for it. */
export class GasBudgetError extends Error {
  override name = 'GasBudgetError'
  readonly budget: GasBudget
  /** Gas that is booked already, 18-decimal units. */
  readonly burnt: bigint
  /** Whether there is no room for it even with nothing else under way. */
  readonly isSpent: boolean

  constructor(budget: GasBudget, burnt: bigint, isSpent: boolean) {
    super(`the gas budget of ${budget.name} has no room for the transaction`)
    this.budget = budget
    this.burnt = burnt
    this.isSpent = isSpent
  }
}

/** Throws `GasBudgetError` when the budget has no room for the transaction next to what is burnt and what is reserved. */
export function requireBudget(budget: GasBudget, burnt: bigint, reserved: bigint): void {
  const { amount, limit, isStrict, last = amount } = budget
  const isSpent = isStrict ? burnt + amount > limit : burnt >= limit
  if (isSpent) throw new GasBudgetError(budget, burnt, true)
  const needed = burnt + reserved + amount
  const isFull = isStrict ? needed > limit : needed - last >= limit
  if (amount > 0n && isFull) throw new GasBudgetError(budget, burnt, false)
}

/** Returns the accounts that are charged for an attempt with these budgets, apart from those in `burnt`. */
export function chargedAccounts(
  budgets: readonly { name: string; isStrict: boolean }[],
  burnt: readonly { payer: string }[],
): string[] {
  const accounts = budgets.filter(({ name }) => !sums.has(name))
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
