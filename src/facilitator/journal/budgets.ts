import { LRUCache } from 'lru-cache'
import type { Hex } from 'viem'
import { asJson, type SqlReader } from '../../sql/sql.js'

/** The payer of the row that sums the whole day. */
const EVERYBODY = ''
/** Sums that are remembered for questions which an older answer serves. */
const MAX_REMEMBERED = 10_000

type SumKey = Readonly<Record<'network' | 'day' | 'payer', string>>

/**
 * Reads gas booked by day (UTC, `2026-11-21`), 18-decimal units; it is written by the settlement journal, in its commits. With
 * `isRemote` an answer may be `maxAgeMs` old, 0 if that is left out.
 */
export function createBudgetStore(sql: SqlReader, { isRemote = false } = {}) {
  const remembered = new LRUCache<string, { sum: bigint; readAt: number }>({ max: MAX_REMEMBERED })
  const readTogether = sql.grouped((keys: readonly SumKey[]) => readSums(sql, keys))

  async function burntBy(network: string, day: string, payer: string, maxAgeMs = 0) {
    if (!isRemote) return readSum(sql, network, day, payer)
    const name = `${network}/${day}/${payer}`
    const known = remembered.get(name)
    if (known !== undefined && performance.now() - known.readAt < maxAgeMs) return known.sum
    const readAt = performance.now()
    const sum = await readTogether({ network, day, payer })
    remembered.set(name, { sum, readAt })
    return sum
  }

  return {
    /** Returns the cost of all transactions of the day. */
    spentOn: (network: string, day: string, maxAgeMs?: number) =>
      burntBy(network, day, EVERYBODY, maxAgeMs),
    /** Returns the gas that an account burnt that day without a settlement, or one of the sums over all accounts. */
    burntBy,
  }
}

export type BudgetStore = ReturnType<typeof createBudgetStore>

async function readSum(
  sql: SqlReader,
  ...key: [network: string, day: string, payer: string]
): Promise<bigint> {
  const text = 'SELECT amount FROM gas_spending WHERE network = $1 AND day = $2 AND payer = $3'
  return BigInt((await sql.get<{ amount: string }>(text, key))?.amount ?? 0)
}

async function readSums(sql: SqlReader, keys: readonly SumKey[]): Promise<bigint[]> {
  const columns = { network: 'text', day: 'text', payer: 'text', place: 'bigint' }
  const rows = await sql.all<{ place: number; amount: string }>(
    `SELECT a.place, g.amount FROM ${sql.records('a', 1, columns)}
       JOIN gas_spending g ON g.network = a.network AND g.day = a.day AND g.payer = a.payer`,
    [asJson(keys.map((key, place) => ({ ...key, place })))],
  )
  const found = new Map(rows.map(({ place, amount }) => [place, BigInt(amount)]))
  return keys.map((_, place) => found.get(place) ?? 0n)
}

/** The names of the sums of gas that was burnt without a settlement: by accounts with code, and by plain accounts. */
export const WASTED = { coded: 'wasted:coded', plain: 'wasted:plain' } as const
/** The kind of accounts whose sum a waste belongs to. A transaction has members of one kind only. */
export type WasteKind = keyof typeof WASTED
/** The name of the sum of all gas of settlements that moved less than their gas. */
export const SUBSIDISED = 'subsidised'
const sums = new Set<string>([...Object.values(WASTED), SUBSIDISED])

/** The cost of a mined transaction, 18-decimal units. */
export interface GasCharge {
  network: string
  total: bigint
  /** The part that bought no settlement, and the kind of accounts that wasted it. */
  wasted?: { kind: WasteKind; amount: bigint }
  /** The part that went into settlements which moved less than their gas. */
  subsidised?: bigint
  /** The accounts that are charged with it. */
  burnt: { payer: string; amount: bigint }[]
  /**
   * Also charges the accounts whose budgets were reserved for this attempt, each once: the strict ones, or all of them when
   * there is no strict one and `burnt` is empty.
   */
  reserved?: { hash: Hex; amount: bigint }
}

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

/** A budget that is reserved for a transaction, as it is kept. */
export interface ReservedBudget {
  budget: string
  is_strict: number
}

/**
 * Returns what a charge of gas adds to the sums of a day, by payer; sums that do not change are left out. `budgets` are those
 * that are reserved for the attempt which it names.
 */
export function gasSums(
  { total, wasted, subsidised = 0n, burnt, reserved }: GasCharge,
  budgets: readonly ReservedBudget[],
): ReadonlyMap<string, bigint> {
  const added = new Map([
    [EVERYBODY, total],
    [SUBSIDISED, subsidised],
  ])
  if (wasted !== undefined) added.set(WASTED[wasted.kind], wasted.amount)
  for (const { payer, amount } of burnt) added.set(payer, (added.get(payer) ?? 0n) + amount)
  if (reserved !== undefined) {
    for (const payer of chargedAccounts(budgets, burnt)) added.set(payer, reserved.amount)
  }
  return new Map([...added].filter(([, amount]) => amount > 0n))
}

/** Returns the accounts that are charged for an attempt with these budgets, apart from those in `burnt`. */
function chargedAccounts(
  budgets: readonly ReservedBudget[],
  burnt: readonly { payer: string }[],
): string[] {
  const accounts = budgets.filter(({ budget }) => !sums.has(budget))
  const strict = accounts.filter((it) => it.is_strict === 1)
  const answering = strict.length > 0 || burnt.length > 0 ? strict : accounts
  return answering
    .map(({ budget }) => budget)
    .filter((name) => burnt.every((it) => it.payer !== name))
}

/** An older transaction does not reserve any more: its wallet may have been taken out of the settings. */
export const RESERVED_MS = 86_400_000

/** Returns the day on which a time (Unix milliseconds) is booked. */
export function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10)
}
