import { setTimeout as sleep } from 'node:timers/promises'
import type { MayGoOn } from '../../async/background.js'
import { DAY_MS } from '../../async/time.js'
import type { Sql } from '../../sql/sql.js'
import { dayOf, EVERYBODY } from './budgets.js'

/** The books of gas by account, caller and recipient, and who paid whom: what is past its use goes. */
export interface OldBooks {
  /** Deletes up to `limit` sums of days before this one, but for those of everybody. Resolves with their number. */
  forgetSums(network: string, beforeDay: string, limit: number): Promise<number>
  /** Deletes up to `limit` pairs of a payer and a recipient of whom no payment came since a day. Resolves with their number. */
  forgetCustomers(network: string, beforeDay: string, limit: number): Promise<number>
}

/** Creates the store over the rows that both engines share. */
export function createOldBooks(sql: Sql): OldBooks {
  return {
    forgetSums: (network, beforeDay, limit) =>
      sql.run(
        `DELETE FROM gas_spending WHERE network = $1 AND (day, payer) IN (
           SELECT day, payer FROM gas_spending
           WHERE network = $1 AND day < $2 AND payer <> '${EVERYBODY}' LIMIT $3)`,
        [network, beforeDay, limit],
        { isDurable: false },
      ),
    forgetCustomers: (network, beforeDay, limit) =>
      sql.run(
        `DELETE FROM customers WHERE network = $1 AND (pay_to, payer) IN (
           SELECT pay_to, payer FROM customers
           WHERE network = $1 AND last_day < $2 ORDER BY last_day LIMIT $3)`,
        [network, beforeDay, limit],
        { isDurable: false },
      ),
  }
}

/** Budgets and shares are of a day; some more are kept for an operator who wants to know what happened. */
const SUMS_KEPT_DAYS = 8
/** A recipient keeps its standing for so long after the last payments of its customers. */
const CUSTOMERS_KEPT_DAYS = 180
const ROWS_AT_ONCE = 200
/** Time that everything else has between two steps. */
const PAUSE_MS = 20

/** Deletes what is past its use, a few rows at a time, so that a payment waits for one step at most. `now` is in Unix milliseconds. */
export async function forgetOldBooks(
  store: OldBooks,
  networks: readonly string[],
  now: number,
  mayGoOn: MayGoOn,
): Promise<void> {
  const daysAgo = (days: number) => dayOf(now - days * DAY_MS)
  const drain = async (step: () => Promise<number>) => {
    while (mayGoOn() && (await step()) === ROWS_AT_ONCE) await sleep(PAUSE_MS)
  }
  for (const network of networks) {
    await drain(() => store.forgetSums(network, daysAgo(SUMS_KEPT_DAYS), ROWS_AT_ONCE))
    await drain(() => store.forgetCustomers(network, daysAgo(CUSTOMERS_KEPT_DAYS), ROWS_AT_ONCE))
  }
}
