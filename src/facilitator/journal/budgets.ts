import { LRUCache } from 'lru-cache'
import { DAY_MS } from '../../async/time.js'
import { asJson, type SqlReader } from '../../sql/sql.js'

/*
 * The books of gas. A row has a network, a day (UTC, `2026-11-21`), a name (its column is `payer`) and an amount in 18-decimal
 * units. The names are: '' for all transactions; an account for what it burnt without a settlement; `wasted:` with the kind of
 * accounts for all of that, and with a caller behind it for what that caller brought; `wasted:payouts:` with a caller for
 * payouts; `spent:` with a caller or a recipient for settlements.
 */

/** The name of the cost of all transactions of a day. */
export const EVERYBODY = ''
/** The names of gas that was burnt without a settlement: by accounts with code, and by plain accounts. */
export const WASTED = { coded: 'wasted:coded', plain: 'wasted:plain' } as const
export type WasteKind = keyof typeof WASTED
/** The name of gas of settlements for all recipients without standing. */
export const NEWCOMERS = 'spent:newcomers'

/** Begins the names of payouts. Anybody may bring one, so its caller is charged as an account is, and not the receiver. */
export const PAYOUTS = 'wasted:payouts:'

/** Returns the name of gas that was burnt by what a caller brought. */
export function wastedBy(kind: WasteKind, caller: string): string {
  return `${WASTED[kind]}:${caller}`
}

/** Returns the name of gas of the settlements that a caller brought, or that paid a recipient. */
export function spentBy(callerOrPayTo: string): string {
  return `spent:${callerOrPayTo}`
}

/** Sums that are remembered for questions which an older answer serves. */
const MAX_REMEMBERED = 10_000

type SumKey = Readonly<Record<'network' | 'day' | 'payer', string>>

/**
 * Reads the books, which the settlement journal writes in its commits. With `isRemote` an answer may be `maxAgeMs` old, 0 if
 * that is left out.
 */
export function createBudgetStore(sql: SqlReader, { isRemote = false } = {}) {
  const remembered = new LRUCache<string, { sum: bigint; readAt: number }>({ max: MAX_REMEMBERED })
  const readTogether = sql.grouped((keys: readonly SumKey[]) => readSums(sql, keys))

  async function burntBy(network: string, day: string, payer: string, maxAgeMs = 0) {
    if (!isRemote) return readSum(sql, network, day, payer)
    const key = `${network}/${day}/${payer}`
    const known = remembered.get(key)
    if (known !== undefined && performance.now() - known.readAt < maxAgeMs) return known.sum
    const readAt = performance.now()
    const sum = await readTogether({ network, day, payer })
    remembered.set(key, { sum, readAt })
    return sum
  }

  return {
    /** Returns the cost of all transactions of the day. */
    spentOn: (network: string, day: string, maxAgeMs?: number) =>
      burntBy(network, day, EVERYBODY, maxAgeMs),
    /** Returns what is booked under a name of a day. */
    burntBy,
    /** Returns everything that was burnt on a day without a settlement, by name. */
    async wastedOn(network: string, day: string): Promise<Map<string, bigint>> {
      const rows = await sql.all<{ payer: string; amount: string }>(
        `SELECT payer, amount FROM gas_spending
         WHERE network = $1 AND day = $2
           AND (payer >= '0x' AND payer < '0y' OR payer >= 'wasted:' AND payer < 'wasted;')`,
        [network, day],
      )
      return new Map(rows.map(({ payer, amount }) => [payer, BigInt(amount)]))
    },
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

/** What a mined transaction adds to the books, by name. */
export interface GasCharge {
  network: string
  sums: ReadonlyMap<string, bigint>
}

/** A budget from which a transaction reserves what it may burn, until its slot closes. */
export interface GasBudget {
  /** The name under which that is booked if it burns. */
  name: string
  /** The most that the transaction may burn of it, 18-decimal units. */
  amount: bigint
  /** The part of the amount for which there must be room; all of it unless said. */
  least?: bigint
  /** The limit of a day, 18-decimal units; absent where the amount is only reserved. */
  limit?: bigint
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

/** Returns an error when the budget has no room for the transaction next to what is burnt and what is reserved. */
export function findLack(
  budget: GasBudget,
  burnt: bigint,
  reserved = 0n,
): GasBudgetError | undefined {
  const { amount, limit, least = amount } = budget
  if (limit === undefined || burnt + reserved + least <= limit) return undefined
  return new GasBudgetError(budget, burnt, burnt + least > limit)
}

/** An older transaction does not reserve any more: its wallet may have been taken out of the settings. */
export const RESERVED_MS = DAY_MS

/** Returns the day on which a time (Unix milliseconds) is booked. */
export function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10)
}
