import type { Database } from '../../../sql/sqlite/database.js'
import {
  dayOf,
  type GasBudget,
  type GasCharge,
  gasSums,
  RESERVED_MS,
  type ReservedBudget,
  requireBudget,
} from '../budgets.js'
import type { Attempt } from '../settlement-journal.js'

/** Books gas inside a transaction that is already open. */
export function createGasBooking(database: Database): (gasCharge: GasCharge, day: string) => void {
  const read = prepareRead(database)
  const write = database.prepare(
    `INSERT INTO gas_spending (network, day, payer, amount) VALUES (?, ?, ?, ?)
     ON CONFLICT (network, day, payer) DO UPDATE SET amount = excluded.amount`,
  )
  const budgetsOf = database.prepare('SELECT bearer, is_strict FROM gas_risks WHERE hash = ?')
  return (gasCharge, day) => {
    const { network, reserved } = gasCharge
    const budgets = reserved === undefined ? [] : budgetsOf.all(reserved.hash)
    for (const [payer, amount] of gasSums(gasCharge, budgets as ReservedBudget[])) {
      write.run(network, day, payer, (read(network, day, payer) + amount).toString())
    }
  }
}

/** Reserves what an attempt may burn, inside a transaction that is already open. Throws `GasBudgetError`. */
export function createGasReservation(
  database: Database,
): (attempt: Attempt, budgets: readonly GasBudget[]) => void {
  const read = prepareRead(database)
  const underWay = database.prepare(
    `SELECT a.relayer, a.relayer_nonce, r.amount FROM gas_risks r JOIN attempts a ON a.hash = r.hash
     WHERE r.bearer = ? AND a.network = ? AND a.is_open = 1 AND a.created_at > ?
       AND NOT (a.relayer = ? AND a.relayer_nonce = ?)`,
  )
  const insert = database.prepare(
    'INSERT INTO gas_risks (hash, bearer, amount, is_strict) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )

  /** Adds up the dearest attempt of each slot, of which only one can land. */
  function reservedFor(name: string, attempt: Attempt): bigint {
    const { network, relayer, relayerNonce, createdAt } = attempt
    const rows = underWay.all(name, network, createdAt - RESERVED_MS, relayer, relayerNonce)
    const slots = new Map<string, bigint>()
    for (const row of rows as { relayer: string; relayer_nonce: number; amount: string }[]) {
      const [slot, amount] = [`${row.relayer}/${row.relayer_nonce}`, BigInt(row.amount)]
      if (amount > (slots.get(slot) ?? 0n)) slots.set(slot, amount)
    }
    return [...slots.values()].reduce((sum, amount) => sum + amount, 0n)
  }

  return (attempt, budgets) => {
    const day = dayOf(attempt.createdAt)
    for (const budget of budgets) {
      const { name, amount, isStrict } = budget
      const reserved = amount === 0n ? 0n : reservedFor(name, attempt)
      requireBudget(budget, read(attempt.network, day, name), reserved)
      if (amount > 0n) insert.run(attempt.hash, name, amount.toString(), isStrict ? 1 : 0)
    }
  }
}

function prepareRead(database: Database) {
  const find = database.prepare(
    'SELECT amount FROM gas_spending WHERE network = ? AND day = ? AND payer = ?',
  )
  return (network: string, day: string, payer: string): bigint =>
    BigInt((find.get(network, day, payer) as { amount: string } | undefined)?.amount ?? 0)
}
