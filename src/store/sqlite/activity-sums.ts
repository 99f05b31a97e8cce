import { type CountedActivity, MAX_SUM, tally } from '../rows/activity-tally.js'
import type { Database } from './database.js'

/** Adds rows to the sums, inside a transaction that is already open; equal keys of one call are added up first. */
export function createSumWriter(database: Database): (rows: readonly CountedActivity[]) => void {
  const addSum = database.prepare(
    `INSERT INTO activity_sums VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count,
       amount = MIN(${MAX_SUM}, amount + excluded.amount), gas = MIN(${MAX_SUM}, gas + excluded.gas)`,
  )
  const addLatency = database.prepare(
    `INSERT INTO activity_latencies VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count`,
  )
  const addPayer = database.prepare(
    `INSERT INTO activity_payers VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + excluded.count,
       amount = MIN(${MAX_SUM}, amount + excluded.amount)`,
  )

  return (rows) => {
    const { sums, latencies, payers } = tally(rows)
    for (const { key, count, amount, gas } of sums) addSum.run(...key, count, amount, gas)
    for (const { key, count } of latencies) addLatency.run(...key, count)
    for (const { key, count, amount } of payers) addPayer.run(...key, count, amount)
  }
}
